#!/bin/bash
# places.sh AGENT HOST LOOK CUPTI DRIVER WORK VGPU_DIR: CUPTI is found where toolkits, wheels and environments put it, no newer than
# the driver; and CUDA is seen in libraries that are opened in every way.
agent=$1 host=$2 look=$3 cupti=$4 driver=$5 work=$6 vgpu=$7
top=$(mktemp -d) || exit 2
trap 'rm -rf "$top"' EXIT
unset GPUPROF_DIR LD_PRELOAD CUDA_INJECTION64_PATH GPUPROF_CUPTI LD_LIBRARY_PATH
bad=0 n=0
place=$top
# shellcheck source=tests/agent/traced.sh
. "$(dirname "$0")/traced.sh"

counted() { # counted VARIABLE=VALUE... -- HOST'S ARGS
    traced "$host" "$@"
    n=$((n + 1))
}
put() { # put FILE AS...: copies into places that need not be there yet
    local file=$1 to
    shift
    for to in "$@"; do
        mkdir -p "$(dirname "$top/$to")"
        cp "$file" "$top/$to"
    done
}
fail() {
    echo "FAIL $1: $(tr '\n' ',' <"$top/seen") $(cat "$top/out")"
    bad=$((bad + 1))
}
takes() { # takes WHAT PATH: that CUPTI was taken (paths come as the loader was given them)
    local path
    path=$(sed -n 's/^libcupti //p' "$top/seen")
    [ "$path" ] && [ "$(realpath "$path")" = "$(realpath "$top/$2")" ] || fail "$1"
}

put "$driver" toolkit/lib64/libcudart.so.13 targets/lib/libcudart.so.13 cu12/nvidia/cuda_runtime/lib/libcudart.so.12 \
    cu13/nvidia/cu13/lib/libcudart.so.13 conda/lib/libcudart.so.12 cu11/nvidia/cuda_runtime/lib/libcudart.so.11.0 \
    both/lib/libcudart.so.12 static/nvidia/cublas/lib/libcublas.so.12 driver/libcuda.so.1
put "$cupti" toolkit/extras/CUPTI/lib64/libcupti.so.13 targets/lib/libcupti.so.13 cu12/nvidia/cuda_cupti/lib/libcupti.so.12 \
    cu13/nvidia/cu13/lib/libcupti.so.13 conda/lib/libcupti.so.12 cu11/nvidia/cuda_cupti/lib/libcupti.so.11.8 \
    both/lib/libcupti.so.{11.8,12,13} static/nvidia/cuda_cupti/lib/libcupti.so.12 own/libcupti.so.12 path/libcupti.so.12

counted -- local "$top/toolkit/lib64/libcudart.so.13"
takes toolkit toolkit/extras/CUPTI/lib64/libcupti.so.13
counted -- local "$top/targets/lib/libcudart.so.13"
takes "toolkit, by target" targets/lib/libcupti.so.13
counted -- local "$top/cu12/nvidia/cuda_runtime/lib/libcudart.so.12"
takes "wheels of CUDA 12" cu12/nvidia/cuda_cupti/lib/libcupti.so.12
counted -- local "$top/cu13/nvidia/cu13/lib/libcudart.so.13"
takes "wheels of CUDA 13" cu13/nvidia/cu13/lib/libcupti.so.13
counted -- global "$top/conda/lib/libcudart.so.12"
takes "conda" conda/lib/libcupti.so.12
counted FAKE_DRIVER=11080 -- local "$top/cu11/nvidia/cuda_runtime/lib/libcudart.so.11.0"
takes "CUDA 11.8" cu11/nvidia/cuda_cupti/lib/libcupti.so.11.8
for version in 11080:11.8 12040:12 13000:13; do
    counted FAKE_DRIVER=${version%:*} -- local "$top/both/lib/libcudart.so.12"
    takes "side by side, driver ${version%:*}" both/lib/libcupti.so."${version#*:}"
done
# the CUDA runtime is linked into the program: other libraries of CUDA show the way, else the loader's path
counted -- local "$top/driver/libcuda.so.1" local "$top/static/nvidia/cublas/lib/libcublas.so.12"
takes "static runtime, wheels" static/nvidia/cuda_cupti/lib/libcupti.so.12
counted FAKE_DRIVER=12040 LD_LIBRARY_PATH="$top/path" -- local "$top/driver/libcuda.so.1"
takes "static runtime, search path" path/libcupti.so.12
counted GPUPROF_CUPTI="$top/own/libcupti.so.12" -- local "$top/toolkit/lib64/libcudart.so.13"
takes "GPUPROF_CUPTI" own/libcupti.so.12
# the copy that the program has opened is the one, whatever lies elsewhere
counted GPUPROF_CUPTI="$top/own/libcupti.so.12" -- local "$top/conda/lib/libcupti.so.12" local "$top/toolkit/lib64/libcudart.so.13"
takes "opened already" conda/lib/libcupti.so.12
counted FAKE_DRIVER=9000 -- local "$top/both/lib/libcudart.so.12"
grep -qx "health cupti-missing" "$top/seen" || fail "driver too old"

# The whole chain on the virtual GPU. What a library opened with RTLD_DEEPBIND calls is looked up in its own libraries first: its
# products are recorded as kernels, without their shapes.
for how in local global deepbind; do
    counted LD_LIBRARY_PATH="$vgpu" GPUPROF_VGPU=h200 -- $how "$work"
    calls=$([ $how = deepbind ] && echo 0 || echo 10)
    grep -qx "worked" "$top/out" && grep -qx "copies 10" "$top/seen" && grep -qx "kernels 10" "$top/seen" &&
        [ "$(grep -c "^call cublasSgemm" "$top/seen")" = "$calls" ] || fail "library opened $how"
done
# The driver's own names for devices are the driver's to read: nothing here may stumble over them.
for devices in 0 GPU-11111111-2222-3333-4444-555555555555 MIG-11111111-2222-3333-4444-555555555555; do
    LD_LIBRARY_PATH=$vgpu GPUPROF_VGPU=h200 CUDA_VISIBLE_DEVICES=$devices "$host" local "$work" >"$top/plain" 2>&1
    counted LD_LIBRARY_PATH="$vgpu" GPUPROF_VGPU=h200 CUDA_VISIBLE_DEVICES=$devices -- local "$work"
    cmp -s "$top/plain" "$top/out" || fail "CUDA_VISIBLE_DEVICES=$devices"
done

echo "places: $n checked, $bad failed"
[ $bad = 0 ]
