#!/bin/sh
# A gpuprof without its recorder says so: no_recorder.sh GPUPROF. The program alone in a folder: `--version`, `doctor`, which
# ends with 1, and `run`, which ends with 125 before it starts anything. A build that must have the recorder fails where
# CUDA's headers are nowhere, any other names what it lacks, and `make` says it in its last line.
set -u
gpuprof=$1
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
check() { # check WHAT STATUS-WANTED STATUS FILE WORDS
    [ "$2" = "$3" ] && grep -q -- "$5" "$4" || { echo "FAILED $1: status $3, $(cat "$4")"; failed=1; }
}
mkdir -p "$work/bin" && cp "$gpuprof" "$work/bin/gpuprof" && cd "$work" || exit 2
bin/gpuprof --version >said 2>&1
check version 0 $? said 'without the recorder'
bin/gpuprof doctor >said 2>&1
check doctor 1 $? said 'no recorder'
bin/gpuprof run -- touch started >said 2>&1
check run 125 $? said 'has no recorder'
[ ! -e started ] || { echo "FAILED run: it started the program"; failed=1; }
export GPUPROF_CUDA_PLACES="$work/nowhere"
cmake -S "$top" -B "$work/build" -DGPUPROF_NEED_RECORDER=ON >said 2>&1
check "a build that needs it" 1 $? said 'recorder cannot be built'
sh "$top/scripts/built.sh" "$work/build" >said
check "the last line of make" 0 $? said 'WITHOUT the recorder'
rm -rf "$work/build"
cmake -S "$top" -B "$work/build" -DBUILD_TESTING=OFF >said 2>&1
check "any other build" 0 $? said 'missing: cuda_runtime_api.h, cupti.h'
[ $failed = 0 ] && echo "no_recorder: ok"
exit $failed
