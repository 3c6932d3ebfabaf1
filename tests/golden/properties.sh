#!/bin/sh
# What must hold of every replay (properties.c), on the traces that standins.py writes, on each Nth real one and on fresh
# profiles of the trainers. Usage: properties.sh BUILD TRACES N. What is absent is said.
build=$1 traces=$2 every=$3 n=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

record() { # NAME TRAINER...
    name=$1
    shift
    if [ ! -x "$build/bin/$1" ] || [ ! -d "$build/lib/vgpu" ]; then
        echo "properties: left out, $1 or the virtual GPU is not built"
        return
    fi
    trainer=$build/bin/$1
    shift
    "$build/bin/gpuprof" run -q --device virtual:a100-80 -o "$folder/$name.gpuprof" -- "$trainer" --steps 16 "$@" \
        >"$folder/out" 2>&1 || { cat "$folder/out"; exit 1; }
}

record conv-pageable train_conv --defect pageable || exit 1
record conv-workers train_conv --defect workers0 || exit 1
record ddp train_ddp || exit 1
record gpt-graph train_gpt --cuda-graph 1 --sync-every 2 || exit 1
set -- "$folder"/*.gpuprof
[ -e "$1" ] || shift

if [ -d "$traces" ]; then
    for trace in "$traces"/*.gz "$traces"/*/*.gz; do
        case $trace in */formats/*) continue ;; esac # of other tools, which gpuprof does not read
        [ $((n % every)) != 0 ] || set -- "$@" "$trace"
        n=$((n + 1))
    done
else
    echo "left out: no recordings in ../shared/traces"
fi
python3 "$(dirname "$0")/standins.py" "$folder/own" || exit 1
for trace in "$folder"/own/*.gz "$folder"/own/*/*.gz; do
    set -- "$@" "$trace"
done
"$build/bin/properties" "$@"
