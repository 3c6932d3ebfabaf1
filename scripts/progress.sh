#!/bin/sh
# progress.sh WORDS LOG COMMAND...: runs COMMAND with its output in LOG and says every five seconds that it goes on: the
# seconds, and how far it is where the log of a build tells it ("[ 42%]"). Ends with COMMAND's status, its last lines shown
# where it failed.
set -u
words=$1 log=$2
shift 2
"$@" >"$log" 2>&1 </dev/null &
work=$!
trap 'kill $work 2>/dev/null; exit 130' INT TERM
began=$(date +%s)
while sleep 1 && kill -0 $work 2>/dev/null; do
    now=$(($(date +%s) - began))
    [ $((now % 5)) = 0 ] || continue
    far=$(grep -o '^\[ *[0-9]*%\]' "$log" | tail -n 1 | tr -d '[] ')
    echo "$words: ${now} s${far:+, $far}"
done
wait $work
status=$?
[ $status = 0 ] || { grep -iE -A 3 "error[: ]" "$log" | head -n 20; tail -n 20 "$log"; } >&2
exit $status
