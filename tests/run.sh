#!/bin/sh
# usage: run.sh BUILD [long]. What `make test` runs: ctest of the release build without the long tests. For `make test-long`,
# `long`: those that must have the machine to themselves, then the others, unit and golden tests under ASan+UBSan and the
# agent's under TSan. Says of each test that was skipped or failed why, names the ten that took longest, and closes with
# "N passed, N failed, N skipped" or "N passed, N failed: NAMES".
# GPUPROF_TESTS=once leaves out what would say the same on a second machine: units, recordings, the page, times, the sources.
set -u
cd "$(dirname "$0")/.." || exit 2
build=${1:-build} what=${2:-}
jobs=$(nproc 2>/dev/null || echo 2)
export PYTHONDONTWRITEBYTECODE=1 # nothing is left between the sources
passed=0 failed=0 skipped=0 names= reasons= why= times=

# "NAME: why" of the tests named that the last ctest in $1 skipped: the last line that each wrote
why_skipped() {
    awk -v names=" $2 " '/ Testing: / { name = $NF; said = "it does not say why" }
        /^Output:$/ { reading = 1; getline; next }
        /^<end of output>$/ { reading = 0; if (index(names, " " name " ")) print name ": " said }
        reading && NF { said = $0; sub(/^([a-z_.]*: *)?skipped[:,] */, "", said) }' \
        "$1/Testing/Temporary/LastTest.log" 2>/dev/null
}

# "failed: NAME: line" for what the test named of the last ctest in $1 said of itself: its failed checks or, where it marks
# none, its last lines
why_failed() {
    awk -v name="$2" -v as="$3" '/ Testing: / { mine = $NF == name }
        /^Output:$/ { reading = mine; getline; next }
        /^<end of output>$/ { reading = 0 }
        reading && NF { last[n++ % 8] = $0 }
        reading && (/^FAILED / || /:[FE]:/) && marked < 12 { print "failed: " as ": " substr($0, 1, 600); marked++ }
        END { for (i = n > 8 ? n - 8 : 0; !marked && i < n; i++) print "failed: " as ": " substr(last[i % 8], 1, 600) }' \
        "$1/Testing/Temporary/LastTest.log" 2>/dev/null
}

# run NAME BUILD-DIR CTEST-ARGS...: adds ctest's own counts to the totals. A pass in which no test exists is no failure.
run() {
    pass=$1 dir=$2
    shift 2
    log=$(mktemp)
    ctest --test-dir "$dir" --output-on-failure --timeout 300 "$@" >"$log" 2>&1
    cat "$log"
    if grep -q 'tests passed' "$log"; then
        f=$(sed -n 's/.*, \([0-9]*\) tests failed out of \([0-9]*\).*/\1/p' "$log")
        n=$(sed -n 's/.*, \([0-9]*\) tests failed out of \([0-9]*\).*/\2/p' "$log")
        left=$(sed -n 's/^[[:space:]]*[0-9]* - \([^ ]*\) (Skipped)$/\1/p' "$log" | tr '\n' ' ')
        s=$(echo "$left" | wc -w)
        times="$times$(sed -n "s/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec\$/\2 s  $pass\1/p" "$log")
"
        failed=$((failed + f)) passed=$((passed + n - f - s)) skipped=$((skipped + s))
        for name in $(sed -n '/^The following tests FAILED:/,$s/^[[:space:]]*[0-9]* - \([^ ]*\) (.*/\1/p' "$log"); do
            names="$names $pass$name"
            why="$why$(why_failed "$dir" "$name" "$pass$name")
"
        done
        [ "$s" = 0 ] || reasons="$reasons$(why_skipped "$dir" "$left" | sed "s/^/skipped: $pass/")
"
    elif grep -q 'No tests were found' "$log"; then
        echo "no test of this kind was built"
    else
        failed=$((failed + 1)) names="$names ${pass}ctest"
    fi
    rm -f "$log"
}

# built PRESET TARGETS...: the build of a sanitizer; its log stays where it fails
built() {
    preset=$1
    shift
    cmake --preset "$preset" >"build-$preset.log" 2>&1 &&
        nice -n 19 cmake --build "build-$preset" -j "$jobs" --target "$@" >>"build-$preset.log" 2>&1 && rm -f "build-$preset.log"
}

# sanitized PRESET CTEST-ARGS...: the tests of a build that `built` has made
sanitized() {
    preset=$1
    shift
    echo "== $preset =="
    if [ -e "build-$preset.log" ]; then
        tail -40 "build-$preset.log"
        failed=$((failed + 1)) names="$names $preset:build"
    else
        run "$preset:" "build-$preset" "$@"
    fi
}

finish() {
    printf '%s' "$reasons" "$why"
    printf '%s' "$times" | sort -rn | sed -n 's/^[0-9]/slow: &/p' | head -n 10
    if [ "$failed" -gt 0 ]; then
        echo "$passed passed, $failed failed:$names"
    elif [ "$skipped" -gt 0 ]; then
        echo "$passed passed, $failed failed, $skipped skipped"
    else
        echo "$passed passed, $failed failed"
    fi
    [ "$failed" = 0 ] && { [ "$passed" -gt 0 ] || [ -n "$what" ]; }
    exit
}

# Tests labelled `timed` judge milliseconds of the virtual GPU, which lives on the real clock: they have the machine
# alone. The others run side by side, two on each core, because much of them waits; fewer beside the builds of the sanitizers.
many="-j $((jobs * 2))"
some="-j $((jobs + 1))"
# What says the same on a second machine of the same Debian: it asks files, recordings, or the virtual GPU
same='^(unit|rule|golden|browser|vgpu)\.|\.selftest$|^(words|layers|fact_keys|house|limits|format|health_codes|gpu\.rehearsal|e2e\.(defaults|kill|killed|light|limits|node_disk|profile|readme|secrets|shared_folder|steps|terminal))$'

alone() {
    run "" "$build" -L long -L timed
}

# The sanitizers' builds take the time in which the tests beside them wait.
beside() {
    agent=
    [ ! -e "$build/lib/libgpuprof_agent.so" ] || agent=yes
    {
        built asan gpuprof unit_tests properties
        [ -z "$agent" ] || built tsan gpuprof_agent test_spool test_nvtx agent_threads agent_peer agent_marks_library agent_look
    } &
    # shellcheck disable=SC2086 # two words
    run "" "$build" -L long -LE timed $some
    wait
    # shellcheck disable=SC2086
    sanitized asan -R '^(unit|golden)\.' $many
    [ -z "$agent" ] || sanitized tsan -R '^(unit\.test_(spool|nvtx)|agent\.threads)$'
}

case $what in
long)
    alone
    beside
    ;;
*)
    echo "== release =="
    if [ "${GPUPROF_TESTS:-}" = once ]; then
        # shellcheck disable=SC2086
        run "" "$build" -LE 'timed|long' -E "$same" $many
    else
        # shellcheck disable=SC2086
        run "" "$build" -LE 'timed|long' $many
        run "" "$build" -L timed -LE long
    fi
    ;;
esac
finish
