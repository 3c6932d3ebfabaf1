#!/bin/bash
# Soak: a trainer on the virtual GPU for MINUTES under `gpuprof run` with windows of steps. Prints what the
# program and the collector hold in memory and what is on disk, and fails when any of it goes on growing.
#
#   bench/soak.sh [MINUTES=60] [BUILD=build] [SECONDS BETWEEN SAMPLES=30]
#
# anon: memory of its own; rss: with the pages of the spool that it has mapped. MB = 1,000,000 bytes.
set -euo pipefail
minutes=${1:-60} build=$(realpath "${2:-build}") every=${3:-30} limit=256M
folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuprof-soak-XXXXXX")
trap 'rm -rf "$folder"' EXIT

# A window every few seconds, 600 an hour: what a day brings at one every two minutes.
"$build/bin/gpuprof" run -q -f -o "$folder/soak.gpuprof" --device virtual:h200 --every 100 --window 5 \
    --max-size "$limit" -- timeout -s TERM "${minutes}m" "$build/bin/train_conv" --batch 256 --data fixed \
    --steps 1000000000 >/dev/null 2>"$folder/stderr" &
collector=$!

# kB of a field of /proc/PID/status; 0 when it is gone
field() { awk -v f="$2:" '$1 == f { n = $2 } END { print n + 0 }' "/proc/$1/status" 2>/dev/null || echo 0; }
bytes() { find "$folder" -type f -printf '%b\n' 2>/dev/null | awk '{ n += $1 * 512 } END { print n + 0 }'; }

sleep 5
[ -n "$(pgrep -P "$collector")" ] || { cat "$folder/stderr"; exit 1; }
target=$(pgrep -P "$(pgrep -P "$collector" -x timeout)" -x train_conv)
printf '%8s %14s %14s %14s %14s %10s\n' seconds target-anon-MB target-rss-MB collector-anon-MB collector-rss-MB disk-MB
begin=$SECONDS
while kill -0 "$target" 2>/dev/null; do
    now=$((SECONDS - begin))
    echo "$now $(field "$target" RssAnon) $(field "$target" VmRSS) $(field "$collector" RssAnon)" \
        "$(field "$collector" VmRSS) $(bytes)" >>"$folder/samples"
    tail -1 "$folder/samples" | awk '{ printf "%8d %14.2f %14.2f %14.2f %14.2f %10.1f\n",
        $1, $2 * 1.024e-3, $3 * 1.024e-3, $4 * 1.024e-3, $5 * 1.024e-3, $6 / 1e6 }'
    sleep "$every"
done
status=0
wait "$collector" || status=$?
[ "$status" = 124 ] || { echo "soak: the program ended with $status"; cat "$folder/stderr"; exit 1; }
"$build/bin/gpuprof" analyze "$folder/soak.gpuprof" >"$folder/findings"
grep -E '^(Step|Health|Recorded)' -A1 "$folder/findings" || true

# Memory of the second quarter beside that of the last; the last sample may be taken while it ends.
awk '{ for (i = 2; i <= 6; i++) v[NR, i] = $i } END {
    n = NR - 1; bad = 0
    split("x target-anon target-rss collector-anon collector-rss disk", name, " ")
    for (i = 2; i <= 6; i++) {
        early = late = 0
        for (r = int(n / 4) + 1; r <= n / 2; r++) if (v[r, i] > early) early = v[r, i]
        for (r = int(3 * n / 4) + 1; r <= n; r++) if (v[r, i] > late) late = v[r, i]
        grown = early ? 100 * (late - early) / early : 0
        over = i < 6 && late - early > 0.05 * early + 1024
        if (i == 6) over = late > 256 * 1048576
        printf "soak: %-15s %s %.1f %% from the second quarter to the last\n", name[i], over ? "GREW" : "ok,", grown
        bad += over
    }
    exit bad > 0
}' "$folder/samples"
