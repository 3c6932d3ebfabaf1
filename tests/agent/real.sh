#!/bin/bash
# real.sh AGENT REAL LOOK FOLDER...: what the agent reads out of the descriptors of the real libraries. 77: none is there.
agent=$1 real=$2 look=$3
shift 3
spool=$(mktemp -d) || exit 2
trap 'rm -rf "$spool"' EXIT
unset GPUPROF_DIR LD_PRELOAD
bad=0 n=0

check() { # check LIBRARY NAMES LINE...: what `real` did with the first of these names that is there, as the agent saw it
    local folder name path=
    for folder in "${folders[@]}"; do
        for name in $2; do
            [ "$path" ] || { [ -e "$folder/$name" ] && path=$folder/$name; }
        done
    done
    [ "$path" ] || { echo "skipped: no $2"; return; }
    LD_LIBRARY_PATH=$(dirname "$path") GPUPROF_DIR=$spool LD_PRELOAD=$agent "$real" "$1" "$path" >"$spool/out" 2>&1
    case $? in
    77) cat "$spool/out"; return ;;
    0) ;;
    *) echo "FAIL $1: $(cat "$spool/out")"; bad=$((bad + 1)) ;;
    esac
    n=$((n + 1))
    "$look" "$spool" | grep "^call $(echo "$3" | cut -d" " -f1) " >"$spool/out"
    if ! diff <(printf 'call %s\n' "${@:3}") "$spool/out" >"$spool/differ"; then
        echo "FAIL $1: (wanted, seen) $(cat "$spool/differ")"
        bad=$((bad + 1))
    fi
    rm -f "$spool"/*
}
folders=("$@" /usr/lib/x86_64-linux-gnu /usr/lib/python3/dist-packages/nvidia/*/lib /usr/local/lib/python3*/*-packages/nvidia/*/lib)

# families and types by enum in wire/spool_format.h: convolution forward, fp16 in and out, fp32 inside, NHWC, in four
# groups; then a product
# of three bf16 pairs, TF32 allowed, into fp32, first factor transposed.
check cudnn "libcudnn.so.9 libcudnn.so.8" "cudnnBackendExecute 2 types 4 4 4 2 layouts 2 2 dims 32 64 56 56 128 3 3 2 1 1 4"
forward="cudnnConvolutionForward 2 types"
check descriptors "libcudnn.so.9 libcudnn.so.8" \
    "$forward 4 4 4 2 layouts 1 1 dims 8 16 32 32 64 3 3 1 1 1 1" \
    "$forward 4 4 4 2 layouts 1 1 dims 8 16 32 32 64 3 3 1 1 1 1" \
    "$forward 4 4 4 2 layouts 2 1 dims 9 16 32 32 64 3 3 1 1 1 1" \
    "$forward 4 2 4 2 layouts 2 1 dims 9 16 32 32 65 5 5 1 1 1 1" \
    "$forward 4 2 4 4 layouts 2 1 dims 9 16 32 32 65 5 5 3 2 1 4" \
    "$forward 2 2 4 4 layouts 1 1 dims 7 16 32 32 65 5 5 3 2 1 4" \
    "$forward 2 2 4 4 layouts 1 1 dims 7 16 32 32 65 5 5 3 2 1 4"
check cublaslt "libcublasLt.so.13 libcublasLt.so.12 libcublasLt.so.11" \
    "cublasLtMatmul 1 types 5 5 2 3 layouts 4 4 dims 256 128 512 3 1 0 0 0 0 0 0"

echo "real: $n checked, $bad failed"
[ $n = 0 ] && [ $bad = 0 ] && { echo "skipped: no cuDNN and no cuBLAS library here"; exit 77; }
[ $bad = 0 ]
