#!/bin/sh
# The rules of this house. Rooms: each lists the rooms that its files may include; a folder with code is a room. Sizes: a
# function has at most 50 lines, a file 400, a folder 25 sources. `house.sh selftest` plants a breach of each kind and wants
# it to be found.
cd "$(dirname "$0")/.." || exit 2

rooms() {
    cat <<'ROOMS'
include
ptx
core include ptx
values core
code core ptx values
cost code core ptx values
reach
shims core
shims/calls core
shims/cuda code core cost shims shims/calls
shims/cudart code core cost shims shims/calls shims/cudart12
shims/cudart12 code core cost shims shims/cudart
ROOMS
    for shim in cupti cublas cublaslt cudnn cufft cusolver cusparse nccl nvml; do
        echo "shims/$shim core cost shims"
    done
}

sources() { # FOLDER: all files of code
    (cd "$1" && find . -name '*.[ch]' -o -name '*.cu' -o -name '*.cpp' -o -name '*.py' -o -name '*.sh' | sed 's|^\./||' | sort)
}

check() { # FOLDER: prints what is wrong; status 1 when something is
    {
        {
            rooms | sed 's/^/room /'
            (cd "$1" && grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' --include='*.[ch]' .) |
                sed -nE 's|^\./([^:]*)/([^/:]*):([0-9]+):.*"([^"]*)/[^"/]*".*|include \1/\2:\3 \1 \4|p
                    s|^\./([^:]*)/([^/:]*):([0-9]+):.*"vgpu_options.h".*|include \1/\2:\3 \1 include|p'
            sources "$1" | grep '\.[ch]$' | sed 's|/[^/]*$||; s|^|folder |' | sort -u
        } | awk '
            $2 ~ /^tests/ || $3 ~ /^tests/ { next } # tests may include any room
            $1 == "room" { known[$2] = 1; for (i = 3; i <= NF; i++) may[$2, $i] = 1 }
            $1 == "include" && $3 != $4 && !may[$3, $4] { print $2 ": " $3 " may not include " $4 }
            $1 == "folder" && !known[$2] { print $2 ": no room of this name in tests/house.sh" }'
        sources "$1" | grep '\.[ch]u*$' | (cd "$1" && xargs awk '
            FNR == 1 { begin = 0 }
            /^[A-Za-z_].*\(/ { name = $0; at = FNR }
            /^\{/ { begin = FNR }
            /^\}/ && begin {
                if (FNR - begin + 1 > 50)
                    print FILENAME ":" at ": a function of " FNR - begin + 1 " lines: " name
                begin = 0
            }')
        sources "$1" | (cd "$1" && xargs wc -l) | awk '$1 > 400 && $2 != "total" { print $2 ": a file of " $1 " lines" }'
        sources "$1" | sed 's|/[^/]*$||' | sort | uniq -c | awk '$1 > 25 { print $2 ": a folder of " $1 " sources" }'
    } | grep . && return 1
    return 0
}

selftest() {
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    failed=0
    lines() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "    work();" }'; }
    expect() { # FILE WHAT: with this file there is something to find, without it nothing
        check "$tree" >/dev/null && { echo "not found: $2"; failed=1; }
        rm "$tree/$1"
        check "$tree" >"$tree.found" || { echo "found without reason: $(cat "$tree.found")"; failed=1; }
    }
    mkdir -p "$tree/core" "$tree/ptx" "$tree/shims/cuda" "$tree/other"
    echo '#include "ptx/ptx.h"' >"$tree/core/fine.c"
    { printf 'static int f(int a,\n             int b)\n{\n'; lines 48; echo '}'; } >"$tree/core/function.c"
    lines 400 >"$tree/core/long.c"
    echo '#include "core/core.h"' >"$tree/ptx/x.c" && expect ptx/x.c "ptx includes core"
    echo '#include "shims/cudart/x.h"' >"$tree/shims/cuda/x.c" && expect shims/cuda/x.c "a shim includes another"
    echo '#include "vgpu_options.h"' >"$tree/ptx/x.c" && expect ptx/x.c "ptx includes the public header"
    echo >"$tree/other/x.c" && expect other/x.c "a folder that is no room"
    { printf 'int f(void)\n{\n'; lines 49; echo '}'; } >"$tree/core/x.c" && expect core/x.c "a function of 51 lines"
    lines 401 >"$tree/core/x.c" && expect core/x.c "a file of 401 lines"
    for i in $(seq 25); do echo >"$tree/ptx/f$i.c"; done
    echo >"$tree/ptx/x.c" && expect ptx/x.c "a folder of 26 sources"
    rm -f "$tree.found"
    [ $failed = 0 ] && echo "house: every planted breach was found"
    return $failed
}

if [ "${1:-}" = selftest ]; then
    selftest
else
    check . && echo "house: ok"
fi
