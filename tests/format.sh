#!/bin/sh
# clang-format decides the layout.
cd "$(dirname "$0")/.." || exit 2
files() { # of those kinds; an archive of the sources has no list of git's
    for kind in "$@"; do set -- "$@" "*.$kind"; shift; done
    git ls-files --cached --others --exclude-standard "$@" 2>/dev/null | while read -r f; do [ -f "$f" ] && echo "$f"; done | grep . && return
    for kind in "$@"; do find . -path './build*' -prune -o -name node_modules -prune -o -name "$kind" -print; done
}
# each version has its own taste: the sources are laid out by that of Debian 12
clang-format --version 2>/dev/null | grep -q 'version 14\.' || { echo "skipped: no clang-format 14"; exit 77; }
# a fault is a line of FILE:LINE:COLUMN: error
if faults=$(files c h cu cuh |
        xargs -n 40 -P "$(nproc)" clang-format --dry-run -Werror 2>&1); then
    echo "format: ok"
    exit 0
fi
echo "not in the layout of .clang-format (run make format):"
printf '%s\n' "$faults" | sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error.*/\1/p' | sort | uniq -c
exit 1
