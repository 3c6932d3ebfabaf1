#!/bin/sh
# The house limits: what is larger cannot be read at once and wants to be several. A function has at most 50 lines, from its
# brace to its brace; a file 400; a folder 25 sources, and where each file is an entry of its own, that the build or a test
# takes from its folder, the entries do not count. vgpu/ has a check of its own. `house.sh selftest` plants one too large of each kind.
cd "$(dirname "$0")/.." || exit 2
most_of_function=50 most_of_file=400 most_in_folder=25
entries='^(analyzer/whatif/edits/edit_[^/]*\.c|tests/rules/[^/]*\.c|tests/gpu/case_[^/]*\.py|tests/transparency/programs/[^/]*)$'

files() { # of those kinds; an archive of the sources has no list of git's
    for kind in "$@"; do set -- "$@" "*.$kind"; shift; done
    git ls-files --cached --others --exclude-standard "$@" 2>/dev/null | grep -v '^vgpu/' | while read -r f; do [ -f "$f" ] && echo "$f"; done | grep . && return
    for kind in "$@"; do find . \( -path './build*' -o -path ./vgpu -o -name node_modules \) -prune -o -name "$kind" -print | sed 's|^\./||'; done
}

check() { # prints what is too large; status 1 when something is
    {
        files c h cu cuh | xargs awk -v most=$most_of_function '
            FNR == 1 { begin = 0 }
            /^[A-Za-z_].*\(/ { name = $0; at = FNR }
            /^\{/ { begin = FNR }
            /^\}/ && begin {
                if (FNR - begin + 1 > most)
                    print FILENAME ":" at ": a function of " FNR - begin + 1 " lines: " name
                begin = 0
            }'
        files c h cu cuh cpp py sh js mjs | xargs wc -l | awk -v most=$most_of_file '
            $1 > most && $2 != "total" { print $2 ": a file of " $1 " lines" }'
        files c h cu cuh cpp py sh js mjs | grep -vE "$entries" | sed 's|/[^/]*$||' | sort | uniq -c | awk -v most=$most_in_folder '
            $1 > most { print $2 ": a folder of " $1 " sources" }'
    } | grep . && return 1
    return 0
}

selftest() {
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    failed=0
    mkdir -p "$tree/tests/rules" "$tree/base"
    cp tests/house.sh "$tree/tests"
    lines() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "    work();" }'; }
    expect() { # expect STATUS WHAT
        (cd "$tree" && tests/house.sh >/dev/null 2>&1)
        [ $? = "$1" ] || { echo "$2"; failed=1; }
    }
    for i in $(seq 25); do echo >"$tree/base/f$i.c"; done
    for i in $(seq 26); do echo >"$tree/tests/rules/r$i.c"; done
    { printf 'static int f(int a,\n             int b)\n{\n'; lines 48; echo '}'; } >"$tree/base/f1.c"
    lines 400 >"$tree/base/f2.c"
    expect 0 "found something where all is within the limits"
    { printf 'int f(void)\n{\n'; lines 49; echo '}'; } >"$tree/base/f1.c"
    expect 1 "not found: a function of 51 lines"
    echo >"$tree/base/f1.c"
    lines 401 >"$tree/base/f2.c"
    expect 1 "not found: a file of 401 lines"
    echo >"$tree/base/f2.c"
    echo >"$tree/base/f26.py"
    expect 1 "not found: a folder of 26 sources"
    [ $failed = 0 ] && echo "house: every planted excess was found"
    return $failed
}

if [ "${1:-}" = selftest ]; then
    selftest
else
    check && echo "house: ok"
fi
