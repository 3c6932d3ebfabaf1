#!/bin/sh
# calls.sh FOLDER: a page of Markdown on the libraries in FOLDER. What a library defines is modelled; what is only a weak symbol
# (traps.cmake) ends the program. Forms for per-thread default streams (_ptsz, _ptds) and for 64-bit sizes (_64) are left out.
cd "$1" || exit 2
cat <<'HEAD'
# The calls that the virtual GPU answers

A modelled call works; a missing one stops the program with one line that names it. Forms for per-thread default streams
(`_ptsz`, `_ptds`) and for 64-bit sizes (`_64`) are as their plain forms.
HEAD
for library in lib*.so.*; do
    [ -L "$library" ] && continue
    LC_ALL=C nm -D --defined-only "$library" | LC_ALL=C awk -v library="$library" '
        { kind = $(NF - 1); name = $NF; sub(/@.*/, "", name) }
        name ~ /^_*p?(cuda|cublas|cudnn|cufft|curand|cusparse|cusolver|cupti|cu|nccl|nvml)[A-Z]/ && name !~ /(_ptsz|_ptds|_64)$/ {
            if (kind ~ /[Tt]/) { modelled = modelled " `" name "`"; n++ }
            if (kind ~ /[Ww]/) { missing = missing " `" name "`"; m++ }
        }
        END {
            printf "\n## %s: %d calls, %d missing\n", library, n, m
            if (n) printf "\nModelled:%s\n", modelled
            if (m) printf "\nMissing:%s\n", missing
        }'
done
