#!/bin/sh
# run.sh with a ctest and a cmake that only say what the real ones would: the last line counts, and names what failed.
unset GPUPROF_TESTS
here=$(cd "$(dirname "$0")" && pwd)
top=$(mktemp -d) || exit 2
trap 'rm -rf "$top"' EXIT
mkdir -p "$top/tests" "$top/bin" "$top/build/Testing/Temporary" "$top/build/behind/Testing/Temporary"
cp "$here/run.sh" "$here/behind.sh" "$top/tests"
cat >"$top/bin/ctest" <<'FAKE'
#!/bin/sh
case "$*" in
*"-L long -L timed"*) echo "100% tests passed, 0 tests failed out of 1" ;;
*"-L long -LE timed"*) echo "100% tests passed, 0 tests failed out of 3" ;;
*"-LE timed|long -R "*) echo "100% tests passed, 0 tests failed out of 5" ;;
*"-LE timed|long"*) cat <<'SAID' ;;
3/4 Test  #1: unit.quick .......................   Passed    0.25 sec
2/4 Test  #4: e2e.two ..........................***Timeout 300.01 sec
50% tests passed, 2 tests failed out of 4

The following tests did not run:
	  3 - golden.traces (Skipped)

The following tests FAILED:
	  2 - unit.one (Failed)
	  4 - e2e.two (Timeout)
SAID
*"-L timed"*) echo "No tests were found!!!" ;;
*) [ -e broken ] && { echo "Segmentation fault"; exit 1; }
    echo "100% tests passed, 0 tests failed out of 7" ;;
esac
FAKE
printf '#!/bin/sh\n[ ! -e unbuilt ]\n' >"$top/bin/cmake"
cat >"$top/build/Testing/Temporary/LastTest.log" <<'EOF2'
3/4 Testing: golden.traces
3/4 Test: golden.traces
Output:
----------------------------------------------------------
something first
traces: skipped, no folder shared/traces
<end of output>
EOF2
cp "$top/build/Testing/Temporary/LastTest.log" "$top/build/behind/Testing/Temporary"
chmod +x "$top/bin/ctest" "$top/bin/cmake"
bad=0
expect() { # WHAT LINE [ARGUMENT]
    (cd "$top" && PATH=$top/bin:$PATH tests/run.sh build ${3:+"$3"}) >"$top/said" 2>&1
    [ "$(tail -n 1 "$top/said")" = "$2" ] || { echo "FAIL $1: $(tail -n 1 "$top/said")"; bad=1; }
}
expect "failed tests are named; a pass without a test is no failure" "6 passed, 2 failed: unit.one e2e.two"
grep -qx 'skipped: golden.traces: no folder shared/traces' "$top/said" || { echo "FAIL no reason for what was skipped"; bad=1; }
[ "$(grep '^slow: ' "$top/said" | tr '\n' ' ')" = "slow: 300.01 s  e2e.two slow: 0.25 s  unit.quick " ] || { echo "FAIL the slowest are not named"; bad=1; }
export GPUPROF_TESTS=once
expect "once: a part of them" "1 passed, 2 failed: unit.one e2e.two"
unset GPUPROF_TESTS
expect "the long tests, alone and beside others, and those under a sanitizer" "11 passed, 0 failed" long
touch "$top/broken"
expect "a ctest that dies is a failure" "4 passed, 1 failed: asan:ctest" long
touch "$top/unbuilt"
expect "a build that fails is a failure" "4 passed, 1 failed: asan:build" long
[ $bad = 0 ] && echo "run_selftest: ok"
exit $bad
