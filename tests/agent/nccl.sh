#!/bin/bash
# nccl.sh AGENT PROGRAM LOOK: the agent records the calls of the real NCCL once each, with its ranges and without.
agent=$1 program=$2 look=$3
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
bad=0
plain=$("$program") || { echo "skipped: no NCCL library here"; exit 77; }

check() { # check WHAT RANGES
    mkdir "$work/spool"
    out=$(GPUPROF_DIR=$work/spool LD_PRELOAD=$agent "$program")
    "$look" "$work/spool" >"$work/seen"
    rm -rf "$work/spool"
    for line in "calls 4" "ranges $2" "collectives 4, 6400 bytes, types 4 4 4 2"; do
        if ! grep -qx "$line" "$work/seen"; then
            echo "FAIL $1: no \"$line\" in: $(tr '\n' ',' <"$work/seen")"
            bad=1
        fi
    done
    [ "$out" = "$plain" ] || { echo "FAIL $1: printed $out, without the agent $plain"; bad=1; }
}

check "with ranges" 4
NCCL_NVTX_DISABLE=1 check "without ranges" 0
exit $bad
