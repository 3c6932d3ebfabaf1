#!/bin/sh
# usage: run.sh BUILD [long]. What `make test` runs: ctest of the release build without the long tests. For `make test-long`,
# `long`: the long tests, unit and golden tests under ASan+UBSan, and the agent's under TSan. Says of each test that was skipped
# or failed why, names the ten that took longest, and closes with "N passed, N failed, N skipped" or "N passed, N failed: NAMES".
# Tests labelled `timed` judge milliseconds of the virtual GPU, which lives on the real clock: they run one after the other.
# They leave most of the processors idle: tests that only compute, and the sanitizers' builds, take what is left. All others run
# side by side behind them.
# GPUPROF_TESTS=once leaves out what would say the same on a second machine: units, recordings, the page, times, the sources.
set -u
cd "$(dirname "$0")/.." || exit 2
build=${1:-build} what=${2:-} logs=${3:-}
jobs=$(nproc 2>/dev/null || echo 2)
export PYTHONDONTWRITEBYTECODE=1 # nothing is left between the sources
passed=0 failed=0 skipped=0 names= reasons= why= times= agent=
[ ! -e "$build/lib/libgpuprof_agent.so" ] || agent=yes
. tests/behind.sh

# "NAME: why" of the tests named that the pass $1 skipped: the last line that each wrote
why_skipped() {
    awk -v names=" $2 " '/ Testing: / { name = $NF; said = "it does not say why" }
        /^Output:$/ { reading = 1; getline; next }
        /^<end of output>$/ { reading = 0; if (index(names, " " name " ")) print name ": " said }
        reading && NF { said = $0; sub(/^([a-z_.]*: *)?skipped[:,] */, "", said) }' \
        "$logs/$1.said" 2>/dev/null
}

# "failed: NAME: line" for what the test named of the pass $1 said of itself: its failed checks or, where it marks
# none, its last lines
why_failed() {
    awk -v name="$2" -v as="$3" '/ Testing: / { mine = $NF == name }
        /^Output:$/ { reading = mine; getline; next }
        /^<end of output>$/ { reading = 0 }
        reading && NF { last[n++ % 8] = $0 }
        reading && (/^FAILED / || /:[FE]:/) && marked < 12 { print "failed: " as ": " substr($0, 1, 600); marked++ }
        END { for (i = n > 8 ? n - 8 : 0; !marked && i < n; i++) print "failed: " as ": " substr(last[i % 8], 1, 600) }' \
        "$logs/$1.said" 2>/dev/null
}

# pass NAME BUILD-DIR CTEST-ARGS...: runs tests; what they said stays in $logs
pass() {
    name=$1 dir=$2
    shift 2
    ctest --test-dir "$dir" --output-on-failure --timeout 300 "$@" >"$logs/$name.log" 2>&1
    cp "$dir/Testing/Temporary/LastTest.log" "$logs/$name.said" 2>/dev/null
}

# count PASS PREFIX: shows a pass, and adds ctest's own counts to the totals. A pass in which no test exists is no failure.
count() {
    log=$logs/$1.log
    cat "$log"
    if grep -q 'tests passed' "$log"; then
        f=$(sed -n 's/.*, \([0-9]*\) tests failed out of \([0-9]*\).*/\1/p' "$log")
        n=$(sed -n 's/.*, \([0-9]*\) tests failed out of \([0-9]*\).*/\2/p' "$log")
        left=$(sed -n 's/^[[:space:]]*[0-9]* - \([^ ]*\) (Skipped)$/\1/p' "$log" | tr '\n' ' ')
        s=$(echo "$left" | wc -w)
        times="$times$(sed -n "s/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec\$/\2 s  $2\1/p" "$log")
"
        failed=$((failed + f)) passed=$((passed + n - f - s)) skipped=$((skipped + s))
        for name in $(sed -n '/^The following tests FAILED:/,$s/^[[:space:]]*[0-9]* - \([^ ]*\) (.*/\1/p' "$log"); do
            names="$names $2$name"
            why="$why$(why_failed "$1" "$name" "$2$name")
"
        done
        [ "$s" = 0 ] || reasons="$reasons$(why_skipped "$1" "$left" | sed "s/^/skipped: $2/")
"
    elif grep -q 'No tests were found' "$log"; then
        echo "no test of this kind was built"
    else
        failed=$((failed + 1)) names="$names ${2}ctest"
    fi
}

# sanitized PRESET TARGETS... -- CTEST-ARGS...: builds, and runs tests; the log of a build stays where it fails
sanitized() {
    preset=$1 targets=
    shift
    while [ "$1" != -- ]; do
        targets="$targets $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # several targets
    cmake --preset "$preset" >"$logs/$preset.unbuilt" 2>&1 &&
        cmake --build "build-$preset" -j "$jobs" --target $targets >>"$logs/$preset.unbuilt" 2>&1 &&
        rm "$logs/$preset.unbuilt" && pass "$preset" "build-$preset" "$@"
}

count_sanitized() { # PRESET
    echo "== $1 =="
    if [ -e "$logs/$1.unbuilt" ]; then
        tail -40 "$logs/$1.unbuilt"
        failed=$((failed + 1)) names="$names $1:build"
    else
        count "$1" "$1:"
    fi
}

# in_idle_time PART: begins a part of this script behind the tests in front. Two ctests run then, and each needs a folder for its log.
in_idle_time() {
    mkdir -p "$build/behind" && echo "subdirs(\"$(cd "$build" && pwd)\")" >"$build/behind/CTestTestfile.cmake"
    behind tests/run.sh "$build" "$1" "$logs"
}

joined() {
    wait "$behind"
    behind=
}

stopped() {
    [ -z "$behind" ] || kill -- "-$behind" 2>/dev/null
    rm -rf "$logs"
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

# Two on each core, because much of what they do is waiting.
many="-j $((jobs * 2))"
# What computes all the time, and waits for nothing that another process must do in time
patient='^(unit|rule|golden)\.'
# What says the same on a second machine of the same Debian: it asks files, recordings, or the virtual GPU
same='^(unit|rule|golden|browser|vgpu)\.|\.selftest$|^(words|layers|fact_keys|house|limits|format|health_codes|gpu\.rehearsal|e2e\.(defaults|kill|killed|light|limits|node_disk|profile|readme|secrets|shared_folder|steps|terminal))$'

# shellcheck disable=SC2086 # $many is two words
case $what in
behind:test)
    pass patient "$build/behind" -LE 'timed|long' -R "$patient" -j "$jobs"
    exit
    ;;
behind:long)
    sanitized asan gpuprof unit_tests properties -- -R '^(unit|golden)\.' -j "$jobs"
    [ -z "$agent" ] || sanitized tsan gpuprof_agent test_spool test_nvtx agent_threads agent_peer agent_marks_library agent_look \
        -- -R '^(unit\.test_(spool|nvtx)|agent\.threads)$' $many
    exit
    ;;
esac

logs=$(mktemp -d) behind=
trap stopped EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
echo "== release =="
# shellcheck disable=SC2086
case $what:${GPUPROF_TESTS:-} in
long:*)
    in_idle_time behind:long
    pass timed "$build" -L long -L timed
    beside
    pass others "$build" -L long -LE timed $many
    joined
    count timed ""
    count others ""
    count_sanitized asan
    [ -z "$agent" ] || count_sanitized tsan
    ;;
:once)
    pass others "$build" -LE 'timed|long' -E "$same" $many
    count others ""
    ;;
*)
    in_idle_time behind:test
    pass timed "$build" -L timed -LE long
    beside
    pass others "$build" -LE 'timed|long' -E "$patient" $many
    joined
    count patient ""
    count others ""
    count timed ""
    ;;
esac
finish
