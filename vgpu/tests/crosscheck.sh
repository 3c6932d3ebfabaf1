#!/bin/sh
# crosscheck.sh WRITER READER: do NVIDIA's libcupti and the virtual one agree on the records of a buffer?
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1" "$dir/buffers" >"$dir/written"
"$2" "$dir/buffers" >"$dir/read"
kinds=$(wc -l <"$dir/written")
diff "$dir/written" "$dir/read" || { echo "record counts by kind differ (written, read)"; exit 1; }
[ "$kinds" -ge 14 ] || { echo "only $kinds kinds of records were written"; exit 1; }
