#!/bin/bash
# partners.sh AGENT GPU LOOK VGPU_DIR PEER SECOND: other tools in the program, by either of CUPTI's interfaces, before and after the
# agent. Each row says what both get: all that they get alone, or the line that says why not.
agent=$1 gpu=$2 look=$3 peer=$5 second=$6
export LD_LIBRARY_PATH=$4
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset GPUPROF_DIR LD_PRELOAD CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH GPUPROF_CHAIN_INJECTION GPUPROF_CUPTI_INTERFACE
bad=0 n=0 complete=0
place=$work
# shellcheck source=tests/agent/traced.sh
. "$(dirname "$0")/traced.sh"

fail() {
    echo "FAIL $row: $1"
    sed 's/^/    /' "$work/plain" "$work/out" "$work/seen"
    bad=$((bad + 1))
}

# row CUPTI PARTNER WHEN WORDS INTERFACE THEIRS OURS [VARIABLE=VALUE...]
#   WHEN     before: it is there before the agent, for the whole run; within: it comes and goes; stays: it comes and does not go
#   THEIRS   same: it prints what it prints without the agent; else what it prints
#   OURS     all, or health CODE: the line that says why not
row() {
    row="$1 $2 $3 $4"
    local library=$peer words=$4 theirs=$6 ours=$7 set=() also=("${@:8}")
    [ "$2" = second ] && library=$second
    [ "$3" = within ] || words=$words,hold
    set=(GPUPROF_VGPU="h200,cupti=$1" GPUPROF_TEST_PEER="$library" GPUPROF_TEST_PEER_DOES="$words")
    [ "$3" = before ] && set+=(CUDA_INJECTION64_PATH="$library")
    env "${set[@]}" "$gpu" 30 >"$work/plain" 2>&1
    traced "$gpu" "${set[@]}" "${also[@]}" -- 30
    n=$((n + 1))
    [ "$5" = - ] || grep -qx "cupti_interface $5" "$work/seen" || fail "not by interface $5"
    if [ "$theirs" = same ]; then
        grep -q "peer: kernels [1-9].* failed 0" "$work/plain" || fail "it gets nothing alone either"
        cmp -s "$work/plain" "$work/out" || fail "it does not get what it gets without the agent"
    else
        grep -q "$theirs" "$work/out" || fail "it does not print: $theirs"
    fi
    if [ "$ours" = all ]; then
        for line in "kernels 600" "named 600" "copies 30" "memsets 30" "syncs 30" "ranges 30" "untimed 0" "dropped 0"; do
            grep -qx "$line" "$work/seen" || fail "not recorded: $line"
        done
        [ "$theirs" = same ] && complete=$((complete + 1))
    else
        grep -qx "$ours" "$work/seen" || fail "not said: $ours"
    fi
}

# Tools of the second interface, seen or unseen, with all fields or some: both get everything, in any order.
for version in 13.3 13.4 13.5; do
    for words in linked dlsym own own,dlsym; do
        for when in before within stays; do
            row $version second $when $words 2 same all
        done
    done
done
# One that ends CUPTI when it has left ends it for itself alone.
row 13.4 second within finalize 2 same all
row 13.4 second within finalize,dlsym 2 same all GPUPROF_STACKS=0
# One that wants CUPTI for itself shares it, if the agent sees its call; else who is first has it.
for when in before within stays; do
    row 13.4 second $when alone 2 same all
done
row 13.4 second before alone,dlsym - same "health cupti-subscriber"
row 13.4 second within alone,dlsym 2 "peer: kernels 0 .* failed 1" all

# Tools of the first interface that are linked get everything, through the second one where the agent has it.
for version in 12.8 13.0 13.4; do
    interface=1
    [ $version = 13.4 ] && interface=2
    for words in plain subscribe clock finalize,subscribe kineto; do
        row $version first within $words $interface same all
    done
    row $version first before subscribe 1 same all
done
# Unseen ones of it are refused where the agent has the second; the user can ask for the first.
row 13.4 first within subscribe,dlsym,finalize 2 "peer: kernels 0 .* failed [1-9]" all
row 13.4 first within subscribe,dlsym,finalize 1 "peer: .* failed 0" "ranges 30" GPUPROF_CUPTI_INTERFACE=1
row 13.4 first before subscribe,dlsym - same "health cupti-subscriber"
row 13.4 first before plain,dlsym 1 "failed 0" "ranges 30"

# The agent by the first interface, as the user asked: a tool of the second is named.
row 13.4 second before dlsym - same "health cupti-subscriber" GPUPROF_CUPTI_INTERFACE=1

# An older driver has one subscriber, and where the second interface does not give kernels it is of no use: the first it is.
for lacks in one_subscriber no_second_kernels; do
    row=$lacks
    traced "$gpu" GPUPROF_VGPU=h200,cupti=13.4,$lacks=1 -- 30
    n=$((n + 1))
    grep cupti_interface "$work/seen" | tail -1 | grep -qx "cupti_interface 1" && grep -qx "kernels 600" "$work/seen" ||
        fail "not by interface 1"
done

# Another gpuprof: two copies of the agent in one process. The first one records.
for version in 13.0 13.4; do
    row="$version two agents"
    mkdir -p "$work/copy" && cp "$agent" "$work/copy/"
    rm -rf "$work/spool" && mkdir "$work/spool"
    GPUPROF_VGPU=h200,cupti=$version GPUPROF_DIR=$work/spool LD_PRELOAD="$agent $work/copy/${agent##*/}" "$gpu" 30 >"$work/out" 2>&1
    status=$?
    "$look" "$work/spool" >"$work/seen"
    n=$((n + 1))
    [ $status = 0 ] && [ "$(cat "$work/out")" = "30 steps" ] || fail "status $status"
    grep -qx "kernels 600" "$work/seen" && grep -qx "spools 1" "$work/seen" || fail "not recorded once"
done

echo "partners: $n checked, $bad failed; complete on both sides: $complete"
[ $bad = 0 ]
