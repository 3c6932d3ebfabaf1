#!/bin/bash
# runtimes.sh AGENT PROGRAM CALLER CALLER: each of two libraries calls the runtime that it was linked to, as without the agent.
agent=$1
shift
unset LD_PRELOAD CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH GPUPROF_DIR
alone=$("$@") && with=$(LD_PRELOAD=$agent "$@") || { echo "FAIL: status $?"; exit 1; }
[ "$alone" = $'12 12\n13 13' ] || { echo "FAIL: alone: $alone"; exit 1; }
[ "$with" = "$alone" ] || { echo "FAIL: with the agent: $with"; exit 1; }
echo "runtimes: ok"
