#!/bin/sh
# Everything that `make test` runs: ctest of the release build, unit and golden tests under ASan+UBSan,
# the agent's under TSan. Closes with "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 2
build=${1:-build}
jobs=$(nproc 2>/dev/null || echo 2)
passed=0 failed=0

# run BUILD-DIR CTEST-ARGS...: adds ctest's own count to the totals
run() {
    dir=$1
    shift
    log=$(mktemp)
    ctest --test-dir "$dir" --output-on-failure --timeout 300 "$@" >"$log" 2>&1
    cat "$log"
    if ! grep -q 'tests passed' "$log"; then
        failed=$((failed + 1))
    else
        f=$(sed -n 's/.*, \([0-9]*\) tests failed out of \([0-9]*\).*/\1/p' "$log")
        n=$(sed -n 's/.*, \([0-9]*\) tests failed out of \([0-9]*\).*/\2/p' "$log")
        failed=$((failed + f)) passed=$((passed + n - f))
    fi
    rm -f "$log"
}

# sanitized PRESET "TARGETS" CTEST-ARGS...
sanitized() {
    preset=$1 targets=$2
    shift 2
    echo "== $preset =="
    # shellcheck disable=SC2086 # several targets
    if cmake --preset "$preset" >"build-$preset.log" 2>&1 &&
        cmake --build "build-$preset" -j "$jobs" --target $targets >>"build-$preset.log" 2>&1; then
        rm -f "build-$preset.log"
        run "build-$preset" "$@"
    else
        tail -40 "build-$preset.log"
        failed=$((failed + 1))
    fi
}

# Tests labelled `timed` judge milliseconds of the virtual GPU, which lives on the real clock: they have the machine
# alone. The others run side by side, one more than there are cores, because much of them waits.
echo "== release =="
run "$build" -LE timed -j $((jobs + 1))
run "$build" -L timed
sanitized asan "gpuprof unit_tests properties" -R '^(unit|golden)\.' -j "$jobs"
if [ -e "$build/lib/libgpuprof_agent.so" ]; then
    sanitized tsan "gpuprof_agent test_spool test_nvtx agent_threads agent_peer agent_marks_library agent_look" \
        -R '^(unit\.test_(spool|nvtx)|agent\.threads)$'
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
