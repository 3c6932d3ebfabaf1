#!/bin/sh
# Every threshold says where it comes from: each row of a limits.def has a unit and a source and is used by name, and code beside
# a limits.def compares with no fraction and defines no constant of its own. `limits.sh selftest` plants each kind.
cd "$(dirname "$0")/.." || exit 2

check() { # check TREE: prints what is wrong; status 1 when something is
    (cd "$1" && find analyzer -name limits.def | while read -r def; do
        room=${def%/limits.def}
        tr '\n' ' ' <"$def" | grep -oE 'LIMIT_(INT|REAL|SPAN|RANGE)\([A-Z0-9_]+,[^"]*"[^"]*",( *"([^"\\]|\\.)*")*' | while read -r row; do
            name=$(echo "$row" | sed -E 's/^[A-Z_]*\(([A-Z0-9_]+),.*/\1/')
            echo "$row" | grep -qE ', *"[^"]+",( *"[^"]+")+ *$' || echo "$def: $name has no unit or no source"
            grep -rqwE "$name" analyzer report cli --include='*.c' --include='*.h' || echo "$def: nothing uses $name"
        done
        grep -nE '(static )?const (double|float|int|int64_t|size_t) [A-Z][A-Z0-9_]* = |[<>]=? \(?[0-9]*\.[0-9]' $(find "$room" -name "*.c") |
            sed "s|\$|  (a threshold belongs to $def)|"
    done) | grep . && return 1
    return 0
}

selftest() {
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    failed=0
    mkdir -p "$tree/analyzer/room" "$tree/report" "$tree/cli"
    expect() { # expect STATUS WHAT ROW LINE-OF-CODE
        echo "$3" >"$tree/analyzer/room/limits.def"
        echo "$4" >"$tree/analyzer/room/a.c"
        check "$tree" >/dev/null
        [ $? = "$1" ] || { echo "limits: $2"; failed=1; }
    }
    good='LIMIT_REAL(ROOM_MOST, 0.5, "share", "A majority.")'
    expect 0 "found something where all is well" "$good" 'return a > ROOM_MOST;'
    expect 1 "not found: a row without a source" 'LIMIT_INT(ROOM_MOST, 5, "share", "")' 'return a > ROOM_MOST;'
    expect 1 "not found: a row that nothing uses" "$good" 'return a > ROOM_LEAST;'
    expect 1 "not found: a constant beside the table" "$good" 'const double MOST = ROOM_MOST;'
    expect 1 "not found: a bare threshold" "$good" 'return a > 0.85 * ROOM_MOST;'
    [ $failed = 0 ] && echo "limits: every planted fault was found"
    return $failed
}

if [ "${1:-}" = selftest ]; then
    selftest
else
    check . && echo "limits: ok"
fi
