#!/bin/bash
# cancel.sh AGENT CANCEL LOOK: threads that are cancelled while they mark ranges.
agent=$1 cancel=$2 look=$3
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
unset LD_PRELOAD CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH GPUPROF_WINDOW
# shellcheck source=tests/agent/traced.sh
. "$(dirname "$0")/traced.sh"

traced "$cancel" -- || { echo "FAIL: status $?"; cat "$place/out"; exit 1; }
grep -qx "reached 3 of 3" "$place/out" || { echo "FAIL: $(cat "$place/out")"; exit 1; }
grep -qx "ranges 423" "$place/seen" || { echo "FAIL: $(grep ranges "$place/seen") of 423"; exit 1; }
echo "cancel: ok"
