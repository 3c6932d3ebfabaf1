#!/bin/sh
# make fuzz S=600: builds the fuzz targets and runs them and the mutator for S seconds, all side by side. What was found lies
# in BUILD/findings, what was learned in BUILD/corpus; both stay for the next call.
# Usage: fuzz.sh BUILD SECONDS [TARGET...]. Exit status: 0 nothing found, 1 something, 2 it cannot be built.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${1:?usage: fuzz.sh BUILD SECONDS [TARGET...]} seconds=${2:?}
shift 2
[ $# -gt 0 ] || set -- kineto nsys part profile rows facts spool demangle mutate
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

# Other mutants at each call: their numbers begin where the clock is.
mutate() {
    python3 tests/fuzz/mutate.py "$build/bin/gpuprof" --seconds "$seconds" --first "$(date +%s)" --keep "$build/findings"
}

# fuzz NAME: ten minutes without an end are a hang; less may be the fault of a busy machine of few cores.
fuzz() {
    mkdir -p "$build/corpus/$1"
    seeds=""
    [ -d "tests/fuzz/corpus_$1" ] && seeds="tests/fuzz/corpus_$1"
    # shellcheck disable=SC2086 # there may be no seeds
    "$build/bin/fuzz_$1" -max_total_time="$seconds" -timeout=600 -rss_limit_mb=2048 -max_len=131072 -print_final_stats=1 \
        -artifact_prefix="$build/findings/$1-" "$build/corpus/$1" $seeds
}

# What a target ended with, as it says in its log.
report() {
    printf '== %s, %s s\n' "$1" "$seconds"
    if [ "$1" = mutate ]; then
        cat "$build/$1.log"
    elif [ "$2" = 0 ]; then
        sed -n 's/^stat::number_of_executed_units: */  nothing found, runs: /p' "$build/$1.log"
    else
        grep -hE 'ERROR|SUMMARY|runtime error' "$build/$1.log" | head -5
        echo "  found something: $build/$1.log"
    fi
}

run() {
    if [ "$1" = mutate ]; then mutate; else fuzz "$1"; fi
}

running=""
for name in "$@"; do
    run "$name" >"$build/$name.log" 2>&1 &
    running="$running $name:$!"
done
trap 'for one in $running; do kill "${one#*:}" 2>/dev/null; done; exit 130' INT TERM
status=0
for one in $running; do
    wait "${one#*:}"
    ended=$?
    [ "$ended" = 0 ] || status=1
    report "${one%:*}" "$ended"
done
exit $status
