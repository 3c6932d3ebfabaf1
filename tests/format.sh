#!/bin/sh
# clang-format decides the layout; also: no file over 600 lines without being looked at, no stray paths.
cd "$(dirname "$0")/.." || exit 2
command -v clang-format >/dev/null || { echo "format: skipped, no clang-format"; exit 77; }
bad=$(git ls-files '*.c' '*.h' '*.cu' '*.cuh' | while read -r f; do
    clang-format --dry-run -Werror "$f" >/dev/null 2>&1 || echo "$f"
done)
[ -z "$bad" ] && echo "format: ok" && exit 0
printf 'not in the layout of .clang-format (run make format):\n%s\n' "$bad"
exit 1
