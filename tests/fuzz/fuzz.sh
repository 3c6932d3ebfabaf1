#!/bin/sh
# make fuzz S=600: builds the fuzz targets and runs each of them for S seconds, one after the other, then the mutator for S
# seconds. What was found lies in BUILD/findings, what was learned in BUILD/corpus; both stay for the next call.
# Usage: fuzz.sh BUILD SECONDS [TARGET...]. Exit status: 0 nothing found, 1 something, 2 it cannot be built.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${1:?usage: fuzz.sh BUILD SECONDS [TARGET...]} seconds=${2:?}
shift 2
[ $# -gt 0 ] || set -- kineto nsys profile rows spool demangle mutate
if ! command -v clang >/dev/null; then
    echo "make fuzz needs clang with libFuzzer: install clang (Debian, Ubuntu: apt install clang)" >&2
    exit 2
fi
mkdir -p "$build/corpus" "$build/findings"
targets=gpuprof
for name in "$@"; do [ "$name" = mutate ] || targets="$targets fuzz_$name"; done
# shellcheck disable=SC2086 # several targets
if ! { cmake -S . -B "$build" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -g1" \
        -DGPUPROF_FUZZ=ON -DGPUPROF_CUDA=OFF -DGPUPROF_SANITIZE=fuzzer-no-link,address,undefined &&
        cmake --build "$build" -j "$(nproc)" --target $targets; } >"$build/build.log" 2>&1; then
    tail -5 "$build/build.log" >&2
    echo "make fuzz: the targets cannot be built ($build/build.log)" >&2
    exit 2
fi
status=0
for name in "$@"; do
    printf '== %s, %s s\n' "$name" "$seconds"
    if [ "$name" = mutate ]; then
        # other mutants at each call: their numbers begin where the clock is
        python3 tests/fuzz/mutate.py "$build/bin/gpuprof" --seconds "$seconds" --first "$(date +%s)" \
            --keep "$build/findings" || status=1
        continue
    fi
    mkdir -p "$build/corpus/$name"
    seeds=""
    [ -d "tests/fuzz/corpus_$name" ] && seeds="tests/fuzz/corpus_$name"
    # shellcheck disable=SC2086 # there may be no seeds
    if "$build/bin/fuzz_$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=131072 \
        -print_final_stats=1 -artifact_prefix="$build/findings/$name-" "$build/corpus/$name" $seeds \
        >"$build/$name.log" 2>&1; then
        sed -n 's/^stat::number_of_executed_units: */  nothing found, runs: /p' "$build/$name.log"
    else
        grep -hE 'ERROR|SUMMARY|runtime error' "$build/$name.log" | head -5
        echo "  found something: $build/$name.log"
        status=1
    fi
done
exit $status
