# Sourced by tests that run a program with the agent in it. Needs $agent, $look and $place, a folder.

# traced PROGRAM VARIABLE=VALUE... -- ARGS: the output is in $place/out, what was recorded in $place/seen;
# the status is the program's
traced() {
    local program=$1 set=()
    shift
    while [ "$1" != -- ]; do
        set+=("$1")
        shift
    done
    rm -rf "$place/spool"
    mkdir "$place/spool"
    env "${set[@]}" GPUPROF_DIR="$place/spool" LD_PRELOAD="$agent" "$program" "${@:2}" >"$place/out" 2>&1
    local status=$?
    "$look" "$place/spool" >"$place/seen"
    return $status
}
