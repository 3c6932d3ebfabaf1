#!/bin/sh
# built.sh BUILD: the last line of `make`, where something was left out for want of CUDA.
if ! [ -e "$1/lib/libgpuprof_agent.so" ]; then
    echo "gpuprof: built WITHOUT the recorder, so \`gpuprof run\` cannot record: CUDA's headers are missing. GPUPROF_SETUP=yes make"
elif ! [ -e "$1/bin/train_conv" ]; then
    echo "gpuprof: built without the trainers and their tests: nvcc is missing. GPUPROF_SETUP=yes make"
fi
