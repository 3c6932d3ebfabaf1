#!/bin/sh
# Each rule has a file of cases, tests/rules/RULE.c, and a case where it fires, one where it stays silent (or refuses), and
# one where it cannot tell: the suites on rules are run, and what they asserted is counted.
# usage: rule_cases.sh UNIT_TESTS GPUPROF [list]        list: prints the cases
set -eu
seen=$(mktemp)
trap 'rm -f "$seen"' EXIT
here=$(dirname "$0")
for file in "$here"/../rules/*.c "$here"/test_*.c; do
    grep -q '"rule_case.h"\|/rule_case.h"' "$file" || continue
    suite=$(basename "$file" .c)
    GPUPROF_RULE_CASES=$seen "$1" "$suite" >/dev/null || { echo "$suite fails"; exit 1; }
done
[ "${3-}" != list ] || sort -u "$seen"
rules=$("$2" rules --json | grep -o '"rule": *"[a-z-]*"' | cut -d'"' -f4)
[ -n "$rules" ] || { echo "no rules"; exit 1; }
bad=0
for rule in $rules; do
    [ -f "$here/../rules/$rule.c" ] || { echo "$rule: no tests/rules/$rule.c"; bad=1; }
    for verdict in 'fires' 'silent\|suppressed' 'cannot tell'; do
        grep -q "^$rule	\($verdict\)	" "$seen" || { echo "$rule: no case where it is: $verdict"; bad=1; }
    done
done
exit $bad
