#!/bin/bash
# peer.sh AGENT GPU LOOK VGPU_DIR PEER: another CUPTI client in the program. It must get what it gets without the agent, and
# the agent all that can be had beside it, or say who keeps it from that.
agent=$1 gpu=$2 look=$3 peer=$5
export LD_LIBRARY_PATH=$4 GPUPROF_VGPU=h200
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset GPUPROF_DIR LD_PRELOAD CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH GPUPROF_CHAIN_INJECTION
bad=0 n=0
place=$work
# shellcheck source=tests/agent/traced.sh
. "$(dirname "$0")/traced.sh"

fail() {
    echo "FAIL $1"
    sed 's/^/    /' "$work/out" "$work/seen"
    bad=$((bad + 1))
}
seen() { # seen WHAT LINE...: each line stands in what was recorded
    local what=$1 line
    shift
    n=$((n + 1))
    for line in "$@"; do
        grep -qx "$line" "$work/seen" || fail "$what: not recorded: $line"
    done
}
said() { # said WHAT LINE: the program printed it
    n=$((n + 1))
    grep -qx "$2" "$work/out" || fail "$1: not printed: $2"
}

# We are first, the client comes and goes: both get everything.
all=("kernels 600" "named 600" "copies 30" "memsets 30" "ranges 30" "untimed 0" "dropped 0" "health cupti-shared")
for does in plain subscribe clock finalize,subscribe kineto; do
    for cupti in 12.4 13.0; do
        export GPUPROF_VGPU=h200,cupti=$cupti
        GPUPROF_TEST_PEER=$peer GPUPROF_TEST_PEER_DOES=$does "$gpu" 30 >"$work/plain"
        traced "$gpu" GPUPROF_TEST_PEER="$peer" GPUPROF_TEST_PEER_DOES=$does -- 30
        n=$((n + 1))
        cmp -s "$work/plain" "$work/out" || fail "$does, CUPTI $cupti: the client sees us: $(cat "$work/plain")"
        grep -q "kernels 200 copies 10 calls [0-9]* others 0 unknown 0 bad times 0 failed 0" "$work/out" ||
            fail "$does, CUPTI $cupti: the client misses records"
        seen "$does, CUPTI $cupti" "${all[@]}"
    done
done
export GPUPROF_VGPU=h200

# It begins while the host is ahead of the GPU: what is in flight keeps its times.
traced "$gpu" GPUPROF_TEST_PEER="$peer" GPUPROF_TEST_PEER_DOES=plain -- 30 return 0 5
said "in flight" "peer: kernels 200 copies 10 calls [0-9]* others 0 unknown 0 bad times 0 failed 0"
seen "in flight" "kernels 605" "untimed 0" "dropped 0"

# It keeps its buffers to itself for seconds: that is no silence.
traced "$gpu" GPUPROF_TEST_PEER="$peer" GPUPROF_TEST_PEER_DOES=hold -- 330 return 22
seen "stays" "kernels 6600" "ranges 330"
grep -q silent "$work/seen" && fail "stays: taken for silence"

# ... in threads that are cancelled, which without us is no matter.
traced "$gpu" GPUPROF_TEST_PEER="$peer" GPUPROF_TEST_PEER_DOES=cancel -- 30 return 0 5
said "cancelled" "peer: kernels 200 copies 10 calls [0-9]* others 0 unknown 0 bad times 0 failed 0"

# The client is first: it stands in CUDA_INJECTION64_PATH, and stays. Seen, so both get everything.
first=(CUDA_INJECTION64_PATH="$peer" GPUPROF_TEST_PEER="$peer")
traced "$gpu" "${first[@]}" GPUPROF_TEST_PEER_DOES=hold,subscribe -- 30
said "first, stays" "peer: kernels 600 copies 30 calls [0-9]* others 0 unknown 0 bad times 0 failed 0"
seen "first, stays" "${all[@]}"

# The same behind our back: we leave CUPTI to it, name it, and record the rest.
traced "$gpu" "${first[@]}" GPUPROF_TEST_PEER_DOES=hold,subscribe,dlsym -- 30
said "unseen, stays" "peer: kernels 600 copies 30 calls [0-9]* others 0 unknown 0 bad times 0 failed 0"
seen "unseen, stays" "kernels 0" "ranges 30" "health cupti-subscriber"

# We are first, and it comes behind our back: it gets its subscription, and its records once CUPTI has given ours back.
traced "$gpu" GPUPROF_TEST_PEER="$peer" GPUPROF_TEST_PEER_DOES=subscribe,dlsym,finalize -- 30 return 60
said "unseen, later" "peer: kernels [1-9][0-9]* copies [0-9]* .* failed 0"
seen "unseen, later" "ranges 30"

# ... and keeps it: what CUPTI does not tell for seconds, while the program goes on, is noted with how long it took.
traced GPUPROF_TEST_PEER="$peer" GPUPROF_TEST_PEER_DOES=hold,subscribe,dlsym -- "$gpu" 330 return 22
said "unseen, later, stays" "330 steps"
seen "unseen, later, stays" "ranges 330" "silent for [3-9] s, steps go on"

echo "peer: $n checked, $bad failed"
[ $bad = 0 ]
