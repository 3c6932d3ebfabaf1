#!/bin/sh
# The house limits. What is larger than the soft limit cannot be read at once and may want to be several: this is said and
# counted, and does not fail, because a limit that fails gets files of exactly its size, cut where the line is and not where
# the subject ends. A file within two lines of the limit is said, too, as such a cut. Beyond the hard limit nobody reads it
# at all, and the check fails. A function counts from its brace to its brace; in a folder where each file is an entry of its
# own, that the build or a test takes from there, the entries do not count. vgpu/ has a check of its own. Each C file begins with a
# comment that says what it is for.
# `house.sh selftest` plants one too large of each kind, and one without its comment.
cd "$(dirname "$0")/.." || exit 2
# Soft: a function fills one screen, a file is read in ten minutes, a folder's list is seen at a glance. Hard: half as much
# again and more, which no function, file or folder needed when this was set.
function_soft=50 function_hard=80 file_soft=400 file_hard=600 folder_soft=25 folder_hard=40
entries='^(analyzer/whatif/edits/edit_[^/]*\.c|tests/rules/[^/]*\.c|tests/gpu/case_[^/]*\.py|tests/transparency/programs/[^/]*)$'

files() { # of those kinds; an archive of the sources has no list of git's
    for kind in "$@"; do set -- "$@" "*.$kind"; shift; done
    git ls-files --cached --others --exclude-standard "$@" 2>/dev/null | grep -v '^vgpu/' | while read -r f; do [ -f "$f" ] && echo "$f"; done | grep . && return
    for kind in "$@"; do find . \( -path './build*' -o -path ./vgpu -o -name node_modules \) -prune -o -name "$kind" -print | sed 's|^\./||'; done
}

found() { # lines "SIZE SOFT HARD WHAT"
    files c h cu cuh | xargs awk -v soft=$function_soft -v hard=$function_hard '
        FNR == 1 { begin = 0 }
        /^[A-Za-z_].*\(/ { name = $0; at = FNR }
        /^\{/ { begin = FNR }
        /^\}/ && begin {
            size = FNR - begin + 1
            if (size > soft)
                print size, soft, hard, FILENAME ":" at ": a function of " size " lines: " name
            begin = 0
        }'
    files c h cu cuh cpp py sh js mjs | xargs wc -l | awk -v soft=$file_soft -v hard=$file_hard '
        $1 > soft - 3 && $2 != "total" { print $1, soft, hard, $2 ": a file of " $1 " lines" }'
    files c h cu cuh cpp py sh js mjs | grep -vE "$entries" | sed 's|/[^/]*$||' | sort | uniq -c |
        awk -v soft=$folder_soft -v hard=$folder_hard '
            $1 > soft { print $1, soft, hard, $2 ": a folder of " $1 " sources" }'
}

headless() { # C files that begin with something else
    files c | xargs awk 'FNR == 1 && !/^\/\*/ { print FILENAME ": does not begin with what it is for" }'
}

check() { # says what is large; status 1 when something is beyond its hard limit, or a file does not say what it is for
    headless | grep . && return 1
    found | awk '
        { size = $1; soft = $2; hard = $3; sub(/^[^ ]* [^ ]* [^ ]* /, "") }
        size > hard { print "too large: " $0; bad = 1; next }
        size > soft { print "large: " $0; large++; next }
        { print "at the limit: " $0; cut++ }
        END {
            if (large + cut) print "house: " large + 0 " large, " cut + 0 " cut at the limit"
            exit bad
        }'
}

selftest() {
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    failed=0
    mkdir -p "$tree/tests/rules" "$tree/base"
    cp tests/house.sh "$tree/tests"
    head='/* What it is for. */'
    file_of() { echo "$head"; lines $(($1 - 1)); }
    lines() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "    work();" }'; }
    expect() { # expect STATUS WORDS WHAT: with that status, and a line that begins with these words ("": none of them)
        (cd "$tree" && tests/house.sh >said 2>&1)
        status=$?
        words=$(grep -oE '^(too large|large|at the limit)' "$tree/said")
        [ $status = "$1" ] && [ "$words" = "$2" ] || { echo "$3: status $status, $(cat "$tree/said")"; failed=1; }
    }
    function_of() { echo "$head"; printf 'static int f(int a,\n             int b)\n{\n'; lines $(($1 - 2)); echo '}'; }
    for i in $(seq 25); do echo "$head" >"$tree/base/f$i.c"; done
    for i in $(seq 41); do echo "$head" >"$tree/tests/rules/r$i.c"; done
    function_of 50 >"$tree/base/f1.c"
    file_of 397 >"$tree/base/f2.c"
    expect 0 "" "found something where all is within the limits"
    file_of 399 >"$tree/base/f2.c"
    expect 0 "at the limit" "a file of 399 lines"
    file_of 401 >"$tree/base/f2.c"
    expect 0 "large" "a file of 401 lines"
    file_of 601 >"$tree/base/f2.c"
    expect 1 "too large" "a file of 601 lines"
    echo "$head" >"$tree/base/f2.c"
    function_of 51 >"$tree/base/f1.c"
    expect 0 "large" "a function of 51 lines"
    function_of 81 >"$tree/base/f1.c"
    expect 1 "too large" "a function of 81 lines"
    echo 'int a;' >"$tree/base/f1.c"
    expect 1 "" "a file that does not say what it is for"
    echo "$head" >"$tree/base/f1.c"
    echo >"$tree/base/f26.py"
    expect 0 "large" "a folder of 26 sources"
    for i in $(seq 27 41); do echo >"$tree/base/f$i.py"; done
    expect 1 "too large" "a folder of 41 sources"
    [ $failed = 0 ] && echo "house: every planted excess was found"
    return $failed
}

if [ "${1:-}" = selftest ]; then
    selftest
else
    check && echo "house: ok"
fi
