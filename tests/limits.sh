#!/bin/sh
# Every threshold says where it comes from. The rooms that judge have a limits.def each; each of its rows has a unit and a source, and
# is used by name. Beside it, code compares with no fraction and no ratio of its own (but halves and hundredths), and names no constant
# for a time or a share. `limits.sh selftest` plants each kind of fault.
cd "$(dirname "$0")/.." || exit 2

ROOMS="detect measure facts queries replay whatif whatif/edits advice advice/rules"

NUMBER='([3-9]|[1-9][0-9]|1[1-9][0-9]|10[1-9]|[2-9][0-9][0-9]|[1-9][0-9]{3,})u?'
CONSTANT='(static )?const (double|float|int|int64_t|size_t) [A-Z][A-Z0-9_]* = |[{,] *[A-Z_]+_(NS|PCT) = [0-9]|^ *[A-Z_]+_(NS|PCT) = [0-9]'
FRACTION='[<>]=? \(?[0-9]*\.[0-9]'
RATIO="\\* $NUMBER [<>]=? |[<>]=? [^;&|?=]* / $NUMBER\\b|\\* 100 [<>]=? "

# The C files of a room, without those of a room inside it that has a table of its own.
sources() {
    find "$1" -name '*.c' | while read -r file; do
        folder=${file%/*}
        while [ ! -e "$folder/limits.def" ]; do folder=${folder%/*}; done
        [ "$folder" = "$1" ] && echo "$file"
    done
}

rows() { # rows DEF: what is wrong with its rows
    tr '\n' ' ' <"$1" | grep -oE 'LIMIT_(INT|REAL|SPAN|RANGE)\([A-Z0-9_]+,[^"]*"[^"]*",( *"([^"\\]|\\.)*")*' | while read -r row; do
        name=$(echo "$row" | sed -E 's/^[A-Z_]*\(([A-Z0-9_]+),.*/\1/')
        echo "$row" | grep -qE ', *"[^"]+",( *"[^"]+")+ *$' || echo "$1: $name has no unit or no source"
        grep -rqwE "$name" analyzer report cli --include='*.c' --include='*.h' || echo "$1: nothing uses $name"
    done
}

check() { # check TREE ROOMS: prints what is wrong; status 1 when something is
    (cd "$1" && for room in $2; do
        room=analyzer/$room
        [ -e "$room/limits.def" ] || { echo "$room: has no limits.def"; continue; }
        rows "$room/limits.def"
        grep -nHE "$CONSTANT|$FRACTION|$RATIO" $(sources "$room") /dev/null | grep -vE '\* 100 [<>]=? .*([A-Z]{3,}_[A-Z_]*|pct|percent)\b' |
            sed "s|\$|  (a threshold belongs to $room/limits.def)|"
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
        check "$tree" room >/dev/null
        [ $? = "$1" ] || { echo "limits: $2"; failed=1; }
    }
    good='LIMIT_REAL(ROOM_MOST, 0.5, "share", "A majority.")'
    expect 0 "found something where all is well" "$good" 'return a > ROOM_MOST && 2 * a > b && a * 100 > b * ROOM_PCT;'
    expect 1 "not found: a row without a source" 'LIMIT_INT(ROOM_MOST, 5, "share", "")' 'return a > ROOM_MOST;'
    expect 1 "not found: a row that nothing uses" "$good" 'return a > ROOM_LEAST;'
    expect 1 "not found: a constant beside the table" "$good" 'const double MOST = ROOM_MOST;'
    expect 1 "not found: a bare threshold" "$good" 'return a > 0.85 * ROOM_MOST;'
    expect 1 "not found: a bare ratio" "$good" 'return a * 10 > b * ROOM_MOST;'
    expect 1 "not found: a bare part" "$good" 'return a > ROOM_MOST && a < b / 20;'
    expect 1 "not found: a bare hundredth" "$good" 'bool known = a > ROOM_MOST;
    return a * 100 < b;'
    expect 1 "not found: a time named beside the table" "$good" 'enum { LEAST_NS = 500 }; return a > ROOM_MOST;'
    rm "$tree/analyzer/room/limits.def"
    check "$tree" room >/dev/null && { echo "limits: not found: a room without a table"; failed=1; }
    [ $failed = 0 ] && echo "limits: every planted fault was found"
    return $failed
}

if [ "${1:-}" = selftest ]; then
    selftest
else
    check . "$ROOMS" && echo "limits: ok"
fi
