#!/bin/bash
# locked.sh AGENT LOCKED LOOK: mlockall in a program that may lock little memory. It succeeds where it does without gpuprof, and
# all is recorded; where it cannot, health says why.
agent=$1 locked=$2 look=$3
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
unset LD_PRELOAD CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH GPUPROF_WINDOW
# shellcheck source=tests/agent/traced.sh
. "$(dirname "$0")/traced.sh"
bad=0

fail() {
    echo "FAIL $1: $(tr '\n' ',' <"$place/out") $(tr '\n' ',' <"$place/seen"), without: $(tr '\n' ',' <"$place/plain")"
    bad=$((bad + 1))
}

"$locked" 8192 >/dev/null
[ $? != 77 ] || { echo "skipped: no such limit here"; exit 77; }
for flags in 1 2 3 5 7; do # MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT
    "$locked" 8192 $flags >"$place/plain"
    traced "$locked" -- 8192 $flags
    cmp -s "$place/plain" "$place/out" && grep -q "mlockall 0" "$place/out" || fail "8 MiB, flags $flags"
    awk '/^(ranges|full) / { sum += $2 } /^rings left / { left = $3 } END { exit !(sum == 240000 && left > 0) }' "$place/seen" ||
        fail "8 MiB, flags $flags: ranges"
    ! grep -q "health mlockall" "$place/seen" || fail "8 MiB, flags $flags: a complaint"
done
"$locked" 100 >"$place/plain"
traced "$locked" -- 100
cmp -s "$place/plain" "$place/out" && grep -qx "health mlockall" "$place/seen" && grep -q "240000 ranges" "$place/out" || fail "100 KiB"

echo "locked: $bad failed"
[ $bad = 0 ]
