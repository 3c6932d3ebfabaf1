#!/bin/sh
# Prints the folders in which CUDA's headers, nvcc and libraries may lie on this machine, one a line, the most wanted first:
# cuda_places.sh [CUDA_ROOT]. These are CUDA_ROOT, $CUDA_HOME, the toolkit's usual places, what scripts/setup.sh fetched into
# build-cuda/, and NVIDIA's wheels beside PyTorch in a Python environment. CMake and setup.sh both read it. Where
# GPUPROF_CUDA_PLACES is set, it is the only place (tests).
here=$(cd "$(dirname "$0")/.." && pwd)
machine=$(uname -m)
roots() {
    [ -z "${GPUPROF_CUDA_PLACES+set}" ] || { echo "$GPUPROF_CUDA_PLACES"; return; }
    printf '%s\n' "${1:-}" "${CUDA_HOME:-}" /usr/local/cuda /opt/cuda
    ls -d /usr/local/cuda-1* 2>/dev/null | sort -rV
    echo "$here/build-cuda/nvidia"
    for environment in "${VIRTUAL_ENV:-}" "${CONDA_PREFIX:-}"; do
        [ -z "$environment" ] || printf '%s\n' "$environment"/lib/python3*/site-packages/nvidia
    done
    python3 -c 'import sys; [print(p + "/nvidia") for p in sys.path if p]' 2>/dev/null
}
roots "$@" | while read -r root; do
    [ -n "$root" ] && [ -d "$root" ] || continue
    for place in "$root" "$root/targets/$machine-linux" "$root/targets/sbsa-linux" "$root/extras/CUPTI" "$root"/cu1* "$root"/cuda_* \
        "$root/cublas" "$root/cudnn" "$root/nccl" "$root/nvtx"; do
        [ -d "$place" ] && echo "$place"
    done
done | awk '!seen[$0]++'
