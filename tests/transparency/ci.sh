#!/bin/sh
# ci.sh BUILD: a sample of the matrix, with the frameworks of requirements.txt where they can be had. A program that is not the same
# twice without gpuprof shows nothing: it is printed, and not counted. Closes with "N passed, N failed".
set -u
build=$1
here=$(dirname "$0")
if [ ! -e "$build/lib/libgpuprof_agent.so" ]; then
    echo "transparency: this build has no agent, so there is nothing to compare"
    echo "0 passed, 0 failed"
    exit 0
fi
frameworks=$("$here/frameworks.sh" "$build/frameworks") || frameworks=
log=$(mktemp)
# shellcheck disable=SC2086 # one word or none
"$here/transparency.py" "$build" --sample 26 --seconds 100 ${frameworks:+--python $frameworks} | tee "$log"
passed=$(grep -c '^ok ' "$log")
failed=$(grep -c '^FAILED' "$log")
rm -f "$log"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
