#!/bin/sh
# Where the CUDA Toolkit lacks cuBLAS, cuDNN or NCCL, NVIDIA's Python wheels have their headers and libraries:
# cuda_wheels.sh DIR installs these into DIR, once, and prints the folder to give to CMake as CUDA_ROOT. It prints nothing
# when the toolkit has them all, or has no nvcc, without which they are of no use.
set -eu
dir=$1
nvcc=$(command -v nvcc || ls /usr/local/cuda*/bin/nvcc 2>/dev/null | tail -n 1)
[ -n "$nvcc" ] || exit 0
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
missing=
for header in cublas_v2.h cudnn.h nccl.h; do
    found=
    for place in "${CUDA_HOME:-$toolkit}" "$toolkit" "$toolkit/targets/x86_64-linux" /usr/local/cuda; do
        [ -e "$place/include/$header" ] && found=1
    done
    [ -n "$found" ] || missing="$missing $header"
done
[ -n "$missing" ] || exit 0
if ! [ -e "$dir/complete" ]; then
    echo "cuda_wheels: installing cuBLAS, cuDNN and NCCL into $dir (the toolkit lacks$missing)" >&2
    python3 -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target "$dir" \
        nvidia-cublas==13.1.1.3 nvidia-cudnn-cu13==9.24.0.43 nvidia-nccl-cu13==2.30.7 >&2
    for library in "$dir"/nvidia/*/lib/lib*.so.[0-9]*; do # linkers look for the name without a version
        ln -sf "${library##*/}" "${library%%.so.*}.so"
    done
    touch "$dir/complete"
fi
echo "$dir/nvidia"
