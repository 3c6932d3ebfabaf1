#!/bin/bash
# confined.sh AGENT MANY LOOK: a program that the kernel kills when it opens a file. Its threads get rings all the same: the
# agent opens nothing behind the program's start.
agent=$1 many=$2 look=$3
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
unset LD_PRELOAD CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH GPUPROF_WINDOW
# shellcheck source=tests/agent/traced.sh
. "$(dirname "$0")/traced.sh"

"$many" confined 20 >/dev/null
[ $? != 77 ] || { echo "skipped: this kernel filters no system calls"; exit 77; }
case $(uname -r) in [1-4].*|5.[0-9].*|5.1[0-3].*) echo "skipped: Linux before 5.14 has no MADV_POPULATE_WRITE"; exit 77 ;; esac
traced "$many" -- confined 20 || { echo "FAIL: status $?"; cat "$place/out"; exit 1; }
grep -qx "ranges 210" "$place/seen" || { echo "FAIL: $(grep ranges "$place/seen") of 210"; exit 1; }
echo "confined: ok"
