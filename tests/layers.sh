#!/bin/sh
# The dependency rule (docs/architecture.md). Each room lists the rooms that it may include; its own files always
# may include each other, and everybody may include base/. Fails on an include that is not listed, on rows that form a
# ring, on a header that declares a function or variable of another room (prototypes.awk), and on a folder with code that
# is not a room. `layers.sh selftest` plants wrong includes, prototypes and a ring, and wants each to be found.
cd "$(dirname "$0")/.." || exit 2
here=$PWD

rooms() {
    cat <<'ROOMS'
base
base/secrets
wire
agent
agent/core              wire agent
agent/nvtx              wire agent/core agent/libs
agent/lines             wire agent/core
agent/libs              wire agent/core agent/lines
agent/cupti             wire agent/core agent/libs agent/python
agent/python            wire agent/core agent/lines
analyzer/profile/sql
analyzer/profile        wire analyzer/profile/sql
analyzer/unwind         wire
analyzer/pyframes       wire
analyzer/sampler        analyzer/pyframes       wire
analyzer/collector/spool wire analyzer/profile analyzer/unwind
analyzer/collector      wire analyzer/profile analyzer/collector/spool analyzer/sampler
analyzer/import         wire analyzer/profile
analyzer/import/kineto  wire analyzer/profile analyzer/import
analyzer/import/nsys    analyzer/profile analyzer/profile/sql analyzer/import
analyzer/import/rpd     wire analyzer/profile analyzer/profile/sql analyzer/import analyzer/import/kineto
analyzer/timeline       wire analyzer/profile
analyzer/measure        wire analyzer/profile analyzer/timeline
analyzer/detect         analyzer/profile analyzer/timeline analyzer/measure
analyzer/facts          wire analyzer/profile analyzer/timeline analyzer/measure analyzer/detect
analyzer/facts/steps    wire analyzer/timeline analyzer/measure analyzer/detect analyzer/facts
analyzer/facts/ranks    wire analyzer/timeline analyzer/measure analyzer/facts
analyzer/facts/lines    wire analyzer/timeline analyzer/measure analyzer/facts
analyzer/facts/find     analyzer/timeline analyzer/measure analyzer/facts analyzer/facts/lines analyzer/facts/steps analyzer/facts/ranks
analyzer/reduce         wire analyzer/profile analyzer/import analyzer/timeline analyzer/measure analyzer/facts analyzer/facts/steps
analyzer/queries        wire analyzer/profile analyzer/timeline analyzer/measure analyzer/facts
analyzer/queries/kernels wire analyzer/timeline analyzer/measure analyzer/facts analyzer/facts/lines analyzer/queries
analyzer/queries/input  wire analyzer/timeline analyzer/measure analyzer/facts analyzer/queries
analyzer/queries/training wire analyzer/timeline analyzer/measure analyzer/facts analyzer/queries
analyzer/queries/ranks  analyzer/timeline analyzer/measure analyzer/facts analyzer/queries
analyzer/replay         wire analyzer/profile analyzer/timeline analyzer/measure analyzer/facts analyzer/queries analyzer/queries/input
analyzer/whatif/edits   wire analyzer/timeline analyzer/measure analyzer/facts analyzer/queries analyzer/queries/kernels analyzer/queries/ranks analyzer/replay
analyzer/whatif         wire analyzer/profile analyzer/timeline analyzer/measure analyzer/facts analyzer/queries analyzer/queries/ranks analyzer/replay analyzer/whatif/edits
analyzer/remedy
analyzer/dialects       wire analyzer/timeline analyzer/facts analyzer/queries analyzer/remedy
analyzer/advice/rules
analyzer/advice         wire analyzer/profile analyzer/timeline analyzer/measure analyzer/facts analyzer/facts/find analyzer/queries analyzer/queries/input analyzer/queries/ranks analyzer/whatif analyzer/remedy analyzer/dialects
analyzer/compare        wire analyzer/profile analyzer/timeline analyzer/facts analyzer/queries analyzer/whatif analyzer/advice
report                  analyzer/profile analyzer/timeline analyzer/facts analyzer/whatif analyzer/advice analyzer/compare
report/words            wire report analyzer/timeline analyzer/measure analyzer/facts analyzer/advice analyzer/compare
report/json             report report/words analyzer/timeline analyzer/facts analyzer/advice analyzer/compare
report/tables           report report/words analyzer/timeline analyzer/facts analyzer/advice analyzer/compare
report/terminal         report report/words report/json analyzer/timeline analyzer/facts
report/trace           wire report report/words report/json analyzer/timeline analyzer/facts
report/page             wire report report/words report/json report/trace analyzer/timeline analyzer/measure analyzer/facts
report/page/ranks       report report/words report/page analyzer/timeline analyzer/facts
report/page/events      wire report report/words report/json report/trace report/page report/page/ranks analyzer/timeline analyzer/facts
report/export           analyzer/profile report report/words report/json report/terminal report/trace report/page report/page/ranks report/page/events analyzer/timeline analyzer/measure analyzer/facts analyzer/compare
cli/common              report/terminal analyzer/advice
cli/load                cli/common report analyzer/profile analyzer/import analyzer/measure analyzer/facts analyzer/advice analyzer/reduce
cli/results             cli/common cli/load report report/tables analyzer/profile analyzer/collector
cli                     analyzer/profile cli/common cli/run cli/load cli/results report report/words report/json report/terminal report/page analyzer/timeline analyzer/facts analyzer/advice analyzer/compare
cli/run                 wire vgpu/include cli/common cli/load cli/results report report/words analyzer/profile analyzer/collector
cli/record              cli/common cli/results report analyzer/profile analyzer/collector
cli/gate                cli/common cli/load cli/results report report/words analyzer/import analyzer/profile analyzer/timeline analyzer/facts analyzer/advice analyzer/compare
cli/try                 wire cli/common cli/load cli/results cli/run report report/words report/json report/page report/terminal analyzer/profile analyzer/facts analyzer/advice analyzer/compare
cli/fix                 cli/common cli/load cli/results cli/run report
cli/mcp                 cli/common cli/run
cli/import              wire cli/common cli/load cli/results cli/run report analyzer/profile analyzer/import analyzer/collector
cli/reduce              cli/common cli/load cli/results analyzer/profile analyzer/import analyzer/reduce
cli/mpi                 cli/common cli/load cli/reduce analyzer/profile analyzer/import analyzer/reduce
cli/doctor              cli/common cli/run report/json report/terminal analyzer/unwind
cli/lint                cli/common cli/load report report/json report/terminal analyzer/profile
cli/view                cli/common cli/lint cli/load cli/results report
reference_workloads/common
reference_workloads/conv reference_workloads/common
reference_workloads/amp reference_workloads/common reference_workloads/conv
reference_workloads/ddp reference_workloads/common reference_workloads/conv
reference_workloads/gpt reference_workloads/common reference_workloads/conv
ROOMS
    for topic in input host copies kernels training ranks; do
        echo "analyzer/advice/rules/$topic wire analyzer/profile analyzer/timeline analyzer/facts analyzer/queries analyzer/queries/kernels analyzer/queries/input analyzer/queries/ranks analyzer/queries/training analyzer/advice analyzer/advice/rules"
    done
}

# Every include of a path with a folder in it, as "FILE ROOM-OF-FILE ROOM-OF-INCLUDE"; $1 is the tree.
includes() {
    (cd "$1" && grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[^"]*/[^"]*"' base wire agent analyzer report cli \
        reference_workloads --include='*.c' --include='*.h' --include='*.cu' --include='*.cuh') |
        sed -E 's/^([^:]*)\/([^\/:]*):([0-9]+):.*"([^"]*)\/[^"\/]*".*/\1\/\2:\3 \1 \4/'
}

# Takes away, again and again, each room that includes none of those left: what stays is a ring, or includes one. Reads rows.
rings() {
    awk '
        { left[$1] = 1; for (i = 2; i <= NF; i++) if ($i != $1) may[$1, $i] = 1 }
        END {
            do {
                gone = 0
                for (room in left) {
                    held = 0
                    for (other in left) held += ((room, other) in may)
                    if (!held) { delete left[room]; gone = 1 }
                }
            } while (gone)
            for (room in left) { print room ": its row is part of a ring, or leads to one"; bad = 1 }
            exit bad
        }'
}

prototypes() { # prototypes TREE
    (cd "$1" && find base wire agent analyzer report cli reference_workloads -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' |
        sort | xargs awk -f "$here/tests/prototypes.awk")
}

check() { # check TREE: prints what is wrong; status 1 when something is
    prototypes "$1" || return 1
    rooms | rings || return 1
    {
        rooms | sed 's/^/room /'
        includes "$1" | sed 's/^/include /'
        (cd "$1" && find base wire agent analyzer report cli reference_workloads -name '*.[ch]' -o -name '*.cu' |
            sed 's/\/[^\/]*$//' | sort -u | sed 's/^/folder /')
    } | awk '
        $1 == "room" { known[$2] = 1; for (i = 3; i <= NF; i++) may[$2, $i] = 1 }
        $1 == "include" && $3 != $4 && !(($4 ~ /^base(\/|$)/) && $3 !~ /^(agent|reference_workloads)/) && !may[$3, $4] {
            print $2 ": " $3 " may not include " $4; bad = 1 }
        $1 == "folder" && !known[$2] { print $2 ": no room of this name in tests/layers.sh"; bad = 1 }
        END { exit bad }' || return 1
    # SQLite belongs to analyzer/profile/sql/
    if (cd "$1" && grep -rn 'sqlite3\.h' agent analyzer report cli --include='*.[ch]' | grep -v '^analyzer/profile/sql/'); then
        echo "  (sqlite3.h belongs to analyzer/profile/sql/)"
        return 1
    fi
    if (cd "$1" && grep -rn '[<"]mpi\.h' agent analyzer report cli --include='*.[ch]' | grep -v '^cli/mpi/'); then
        echo "  (mpi.h belongs to cli/mpi/)"
        return 1
    fi
}

selftest() {
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    failed=0
    cp -r base wire agent analyzer report cli reference_workloads "$tree"
    check "$tree" || failed=1 # without anything planted
    for wrong in "base/err.c analyzer/profile/rows.h" "agent/core/spool.c base/err.h" "analyzer/facts/facts.c analyzer/whatif/whatif.h" \
        "analyzer/queries/query.c analyzer/advice/outcome.h" "analyzer/replay/graph.c analyzer/advice/rule.h" \
        "analyzer/advice/rules/training/rule_zero_grad.c analyzer/whatif/engine.h" "analyzer/import/import.c analyzer/timeline/timeline.h" \
        "report/words/text.c cli/load/load.h" "cli/gate/cmd_gate.c agent/core/spool.h" "reference_workloads/conv/train.c wire/spool_format.h"; do
        file=${wrong% *}
        cp "$tree/$file" "$tree/kept" || { failed=1; continue; }
        echo "#include \"${wrong#* }\"" >>"$tree/$file"
        if check "$tree" >/dev/null; then
            echo "not found: $file includes ${wrong#* }"
            failed=1
        fi
        mv "$tree/kept" "$tree/$file"
    done
    echo 'int ranks_planted(struct facts *f, int (*of)(int)) { return of(f != NULL); }' >>"$tree/analyzer/facts/ranks/ranks.c"
    for wrong in "agent/core/spool.h bool cupti_wake_if_running(void);" "report/page/page.h extern const struct page_events data_events;" \
        "analyzer/facts/facts.h int ranks_planted(struct facts *f, int (*of)(int));"; do
        file=${wrong%% *}
        cp "$tree/$file" "$tree/kept" || { failed=1; continue; }
        echo "${wrong#* }" >>"$tree/$file"
        if check "$tree" >/dev/null; then
            echo "not found: $file declares ${wrong#* }"
            failed=1
        fi
        mv "$tree/kept" "$tree/$file"
    done
    if { rooms; echo "agent/core agent/cupti"; } | rings >/dev/null; then
        echo "not found: a ring of agent/core and agent/cupti"
        failed=1
    fi
    [ $failed = 0 ] && echo "layers: every planted include, prototype and ring was found"
    return $failed
}

if [ "${1:-}" = selftest ]; then
    selftest
else
    check . && echo "layers: ok"
fi
