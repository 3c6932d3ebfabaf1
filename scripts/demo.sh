#!/bin/sh
# The main job, end to end: profiles the bundled trainer with one bottleneck planted in it, prints the
# findings, writes demo.html and demo.json (Chrome trace). Without CUDA it analyses docs/examples/.
set -eu
cd "$(dirname "$0")/.."
bin=${1:-build}/bin
profile=demo.gpuprof

if [ -x "$bin/train_conv" ]; then
    device=virtual:a100-80
    if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
        device=auto
    fi
    echo "demo: gpuprof run --device $device -- train_conv --steps 40 --defect workers0"
    "$bin/gpuprof" run -q -f --device "$device" -o "$profile" -- "$bin/train_conv" --steps 40 --defect workers0
else
    echo "demo: the trainer was not built (no CUDA Toolkit here); analysing the example profile instead"
    gunzip -c docs/examples/train_conv-workers0.gpuprof.gz >"$profile"
fi
"$bin/gpuprof" report "$profile" -f -o demo.html
"$bin/gpuprof" export "$profile" -f -o demo.json
"$bin/gpuprof" analyze "$profile"
echo "demo: wrote $profile, demo.html (open it in a browser) and demo.json (open it in ui.perfetto.dev)"
