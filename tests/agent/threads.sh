#!/bin/bash
# threads.sh AGENT THREADS LOOK VGPU_DIR PEER LIBRARY SECOND: many threads beside the agent's own. Under ThreadSanitizer no report; in any
# build nothing is lost.
agent=$1 threads=$2 look=$3 vgpu=$4 peer=$5 library=$6 second=$7
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset LD_PRELOAD CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH GPUPROF_WINDOW
# names of libraries: ld.so allocates and shows them under a lock of its own, which ThreadSanitizer does not see
echo 'race:dl_iterate_phdr_cb' >"$work/suppressed"
export TSAN_OPTIONS="exitcode=66 report_signal_unsafe=0 die_after_fork=0 suppressions=$work/suppressed ${TSAN_OPTIONS:-}"
rounds=4 bad=0 n=0 end=

run() { # run WHAT VARIABLE=VALUE...
    what=$1
    shift
    rm -rf "$work/spool"
    mkdir "$work/spool"
    env LD_LIBRARY_PATH="$vgpu" GPUPROF_VGPU=h200,own_work=0 "$@" GPUPROF_DIR="$work/spool" LD_PRELOAD="$agent" \
        "$threads" $rounds "$library" $end >"$work/out" 2>"$work/err"
    status=$?
    "$look" "$work/spool" >"$work/seen" 2>>"$work/err"
    n=$((n + 1))
    if [ $status != 0 ] || [ "$(tail -1 "$work/out")" != done ] || grep -q ThreadSanitizer "$work/err"; then
        echo "FAIL $what: status $status"
        grep -A12 "WARNING: Thread" "$work/err" | head -60
        grep "^SUMMARY" "$work/err" | sort | uniq -c
        grep -v ThreadSanitizer "$work/err" | tail -3
        bad=$((bad + 1))
    fi
}
seen() { # unless the machine was too slow to hand out buffers in time, which is counted
    n=$((n + 1))
    grep -qx "dropped 0" "$work/seen" || [ "${1%% *}" = ranges ] || return
    grep -qx "$1" "$work/seen" || { echo "FAIL $what: no \"$1\" in $(tr '\n' ',' <"$work/seen")"; bad=$((bad + 1)); }
}

told() { # as many records, recorded or counted as dropped, in whatever way
    n=$((n + 1))
    grep -qx "told $told" "$work/seen" || { echo "FAIL $what: $(grep told "$work/seen"), not $told"; bad=$((bad + 1)); }
}

all=$((rounds * 6 * 40)) # loops in all; in each four ranges, one of them a collective, and a step
ranges=$((5 * all + 12 * rounds)) # one of a child, ten and a mark of the library in each round
run plain
seen "copies $all"
seen "calls $all"
seen "ranges $ranges"
seen "spools $((1 + rounds))"
told=$(sed -n 's/^told //p' "$work/seen")
run peer GPUPROF_TEST_PEER="$peer" GPUPROF_TEST_PEER_DOES=subscribe,clock
seen "copies $all"
seen "ranges $ranges"
seen "spools $((1 + rounds))"
told
# By CUPTI's second interface: alone, beside a client of the first one and beside another subscriber.
newer=GPUPROF_VGPU=h200,own_work=0,cupti=13.4
for beside in "" "GPUPROF_TEST_PEER=$peer GPUPROF_TEST_PEER_DOES=subscribe,clock" "GPUPROF_TEST_PEER=$second GPUPROF_TEST_PEER_DOES=own,dlsym"; do
    # shellcheck disable=SC2086
    run "second interface $beside" $newer $beside
    seen "cupti_interface 2"
    seen "copies $all"
    seen "ranges $ranges"
    seen "spools $((1 + rounds))"
    told
done
more=1500 # 60,000 of each thread: nearly three rings, which nobody reads. 24 rings hold all of it; on a busy machine, where the
# agent's thread makes fewer, the rest is counted
run "full rings" GPUPROF_TEST_MORE=$more
n=$((n + 1))
awk -v wanted=$((ranges + all + more * all)) '/^(ranges|calls|full) / { sum += $2 } /^rings left / { left = $3 }
    END { exit !(sum >= wanted && left >= 1) }' "$work/seen" ||
    { echo "FAIL $what: $(tr '\n' ',' <"$work/seen")"; bad=$((bad + 1)); }
rounds=1
run "alone, once"
told=$(sed -n 's/^told //p' "$work/seen")
# CUPTI's own thread does not come to handing back the client's last buffer before the process ends.
run "peer, a buffer on its way" GPUPROF_TEST_PEER="$peer" GPUPROF_TEST_PEER_DOES=subscribe GPUPROF_VGPU=h200,slow_return=3000,own_work=0
told
rounds=4
run "window by steps" GPUPROF_WINDOW=every=10,window=3
end=exit
run "exit from a thread"
seen "spools $((1 + rounds))"
seen "sealed $((1 + rounds))"

echo "threads: $n checked, $bad failed"
[ $bad = 0 ]
