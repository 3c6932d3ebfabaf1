#!/bin/bash
# chain.sh AGENT MARKS MARKS_LIBRARY TOOL LOOK: the user's own injections and preloads stay, and are called.
agent=$1 marks=$2 library=$3 tool=$4 look=$5
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset GPUPROF_DIR LD_PRELOAD CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH GPUPROF_CHAIN_INJECTION GPUPROF_CHAIN_NVTX
bad=0 n=0

compare() { # compare WHAT COMMAND...: the same output, and the ranges are recorded
    local what=$1
    shift
    rm -rf "$work/spool"
    mkdir "$work/spool"
    "$@" >"$work/plain" 2>&1
    GPUPROF_DIR=$work/spool LD_PRELOAD=$agent${LD_PRELOAD:+:$LD_PRELOAD} "$@" >"$work/out" 2>&1
    "$look" "$work/spool" >"$work/seen"
    n=$((n + 1))
    if ! cmp -s "$work/plain" "$work/out"; then
        echo "FAIL $what: differs"
        diff "$work/plain" "$work/out"
        bad=$((bad + 1))
    fi
}
recorded() { # recorded WHAT LINE
    n=$((n + 1))
    if ! grep -qx "$2" "$work/seen"; then
        echo "FAIL $1: not recorded: $2; $(tr '\n' ',' <"$work/seen")"
        bad=$((bad + 1))
    fi
}

compare "no tool" "$marks"
recorded "no tool" "ranges 41"
compare "two copies of NVTX" "$marks" "$library"
recorded "two copies of NVTX" "ranges 52"

export NVTX_INJECTION64_PATH=$tool
compare "another tool for NVTX" "$marks"
recorded "another tool for NVTX" "ranges 41"
grep -q "^tool: pushed 30 popped 30 started 10 ended 10 domains 1 strings 1 registered 10 categories 1" "$work/out" ||
    { echo "FAIL another tool for NVTX: $(tail -1 "$work/out")"; bad=$((bad + 1)); }
compare "another tool, two copies" "$marks" "$library"
recorded "another tool, two copies" "ranges 52"
compare "set by a shell in between" env -u NVTX_INJECTION64_PATH sh -c "NVTX_INJECTION64_PATH=$tool \"$marks\""
recorded "set by a shell in between" "ranges 41"
export NVTX_INJECTION64_PATH=/no/such/tool.so
compare "a tool that is not there" sh -c "\"$marks\" >/dev/null"
recorded "a tool that is not there" "ranges 41"
recorded "a tool that is not there" "health chain-nvtx"
unset NVTX_INJECTION64_PATH

# the user's LD_PRELOAD, and what it prints, stay
export LD_PRELOAD=$tool
compare "a preload of the user's" "$marks"
recorded "a preload of the user's" "ranges 41"

echo "chain: $n checked, $bad failed"
[ $bad = 0 ]
