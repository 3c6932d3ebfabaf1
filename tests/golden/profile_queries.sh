#!/bin/sh
# Runs every sqlite3 command of docs/profile.md on a profile of the trainer: none may fail, and none may come out empty
# but that of the health notes. Every table and view of the schema must be named on the page.
# Usage: profile_queries.sh BUILD SOURCE. Exit 77 (skipped) without sqlite3 or where the trainer is not built.
build=$1 source=$2
page=$source/docs/profile.md
[ -x "$build/bin/train_conv" ] && [ -d "$build/lib/vgpu" ] || { echo "skipped: no trainer was built"; exit 77; }
command -v sqlite3 >/dev/null || { echo "skipped: no sqlite3"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

"$build/bin/gpuprof" run -q --device virtual:a100-80 -o x.gpuprof -- "$build/bin/train_conv" --steps 20 \
    --defect pageable >out 2>&1 || { cat out; exit 1; }

failed=0 count=0
grep '^sqlite3 ' "$page" >commands
while IFS= read -r command; do
    count=$((count + 1))
    if ! sh -c "$command" >out 2>&1; then
        echo "fails: $command"
        cat out
        failed=1
    elif [ ! -s out ] && [ "${command#*health_note}" = "$command" ]; then
        echo "empty: $command"
        failed=1
    fi
done <commands

for name in $(sqlite3 x.gpuprof "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"); do
    grep -q "\`$name\`" "$page" || { echo "docs/profile.md does not name $name"; failed=1; }
done

# The parts of a step sum to it.
odd=$(sqlite3 x.gpuprof "SELECT count(*) FROM step WHERE compute_ns + comm_exposed_ns + copy_exposed_ns + idle_input_ns
    + idle_copy_ns + idle_sync_ns + idle_launch_ns + idle_alloc_ns + idle_host_ns + idle_queued_ns + unexplained_ns
    <> to_ns - from_ns")
[ "$odd" = 0 ] || { echo "$odd steps differ from the sum of their parts"; failed=1; }

[ "$count" -ge 6 ] || { echo "only $count commands were found in $page"; failed=1; }
echo "$count commands"
exit $failed
