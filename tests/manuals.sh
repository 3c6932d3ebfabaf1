#!/bin/sh
# manuals.sh BUILD: every command has its manual page, the main page names it, each page names every long option of its
# command, and the formatter has nothing to complain about.
cd "$(dirname "$0")/.." || exit 2
gpuprof=$1/bin/gpuprof
failed=0
complain() {
    echo "manuals: $*"
    failed=1
}
for command in $("$gpuprof" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
    page=docs/man/gpuprof-$command.md
    [ -f "$page" ] || { complain "no page $page"; continue; }
    grep -q "gpuprof-$command(1)" docs/man/gpuprof.md || complain "docs/man/gpuprof.md does not name gpuprof-$command(1)"
    for option in $("$gpuprof" "$command" --help | sed -n 's/^  .*\(--[a-z-]*\) .*/\1/p'); do
        case $option in --help | --color | --quiet | --private | --output | --force) continue ;; esac # of all commands
        grep -q -e "$option" "$page" || complain "$page does not tell $option"
    done
done
if command -v groff >/dev/null; then
    for page in "$1"/man/*.1; do
        said=$(groff -man -Tutf8 -ww "$page" 2>&1 >/dev/null)
        [ -z "$said" ] || complain "$page: $said"
    done
fi
[ "$failed" = 0 ] && echo "manuals: ok"
exit "$failed"
