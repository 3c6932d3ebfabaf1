#!/bin/bash
# cupti.sh AGENT GPU LOOK VGPU_DIR FLUSHES: what the agent gets out of CUPTI, on the virtual GPU, well-behaved and not.
agent=$1 gpu=$2 look=$3 flushes=$5
export LD_LIBRARY_PATH=$4
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
ulimit -c 0
exec 2>/dev/null
bad=0 n=0

run() { # run MODEL ARGS...: result in $work/out (the program's), $work/seen (the spools')
    local model=$1
    shift
    rm -rf "$work/spool"
    mkdir "$work/spool"
    (GPUPROF_VGPU=$model GPUPROF_DIR=$work/spool LD_PRELOAD=$agent exec "$gpu" "$@") >"$work/out"
    status=$?
    "$look" "$work/spool" >"$work/seen"
}
is() { # is WHAT "LINE"...: each line stands in what was seen
    local what=$1 line
    shift
    n=$((n + 1))
    for line in "$@"; do
        if ! grep -qx "$line" "$work/seen"; then
            echo "FAIL $what: no \"$line\" in: $(tr '\n' ',' <"$work/seen")"
            bad=$((bad + 1))
        fi
    done
}
count() { sed -n "s/^$1 //p" "$work/seen"; }
ends() { # ends WHAT STATUS OUTPUT
    n=$((n + 1))
    if [ $status != "$2" ] || [ "$(cat "$work/out")" != "$3" ]; then
        echo "FAIL $1: status $status, output $(cat "$work/out")"
        bad=$((bad + 1))
    fi
}
all="kernels 600" named="named 600"
work_done=("$all" "$named" "copies 30" "memsets 30" "syncs 30" "ranges 30" "untimed 0" "dropped 0")

run h200 30
ends plain 0 "30 steps"
is plain "${work_done[@]}" "spools 1" "sealed 1"
for version in 11.8 12.4 13.0; do
    run h200,cupti=$version 30
    is "CUPTI $version" "${work_done[@]}"
done
run h200,null_buffer_crash=1,cupti=12.4 30
is "no NULL buffer" "${work_done[@]}"
run h200,disorder=1 30
is disorder "${work_done[@]}"
run h200,late=30 30
is late "${work_done[@]}"
run h200 30 _exit
ends _exit 0 "30 steps"
is _exit "${work_done[@]}" "sealed 1"
for way in execl execle execlp execv execve execvp execvpe fexecve; do
    run h200 30 $way
    ends $way 0 "30 steps
replaced"
    is $way "kernels 601" "named 601" "ranges 30"
done
flushed() { # flushed ENDING: the same, and sets `took`, in ms, and `asked`, how often CUPTI was flushed
    rm -f "$work/flushed"
    took=$(date +%s%N)
    GPUPROF_CUPTI=$flushes GPUPROF_TEST_FLUSHES=$work/flushed run h200 30 "$1"
    took=$((($(date +%s%N) - took) / 1000000)) asked=$(stat -c %s "$work/flushed")
    ends "$1" 0 "30 steps"
    n=$((n + 1))
}
flushed churn # nobody empties the buffers of threads that were
is churn "kernels 3600" "named 3600" "dropped 0"
if [ "$(count "buffers made")" -gt 600 ] || [ "$asked" -lt $((20 + took / 100)) ]; then # by the clock alone every 100 ms
    echo "FAIL churn: $(count "buffers made") buffers for 3000 threads, one at a time; CUPTI was flushed $asked times in $took ms"
    bad=$((bad + 1))
fi
flushed stay # each of these threads takes a buffer after every flush, which is no reason for the next one
is stay "kernels 8600" "dropped 0"
if [ "$asked" -gt $((20 + took / 25)) ]; then
    echo "FAIL stay: CUPTI was flushed $asked times in $took ms for eight threads"
    bad=$((bad + 1))
fi
run h200 30 kill 3
ends kill 137 "30 steps"
is kill "$all" "$named" "ranges 30" "sealed 0"
run h200 30 fork
ends fork 0 "30 steps
child 4"
is fork "$all" "$named" "ranges 31" "spools 2" "sealed 2"
run h200,busy_subscriber=1 30
ends "busy subscriber" 0 "30 steps"
is "busy subscriber" "health cupti-subscriber" "ranges 30"
run h200,drop=0.1 30
ends drop 0 "30 steps"
if grep -qx "dropped 0" "$work/seen"; then
    echo "FAIL drop: not counted"
    bad=$((bad + 1))
fi

# More than all buffers hold, and nobody empties them: what is there and what is counted as lost are all there was,
# also of the buffers that CUPTI still has when the program ends.
full() { # full COMMAND: under a limit of file sizes that leaves the spool its fewest buffers
    local before
    before=$(ulimit -S -f)
    ulimit -S -f 700000
    "$@"
    ulimit -S -f "$before"
}
for model in cupti=12.4 cupti=12.4,late=30 cupti=12.4,slow_return=50 cupti=13.0 cupti=13.0,late=30; do
    model=$model,own_work=0 # or a busy machine has more records
    run h200,$model 30
    few=$(count records)
    run h200,$model 60
    each=$((($(count records) - few) / 30))
    full run h200,$model 26000
    n=$((n + 1))
    have=$(count records) lost=$(count dropped)
    if [ "$lost" -lt 1000 ] || [ $((have + lost)) != $((few + each * (26000 - 30))) ]; then
        echo "FAIL all buffers full, $model: $have records, $lost lost, of $((few + each * (26000 - 30)))"
        bad=$((bad + 1))
    fi
done

echo "cupti: $n checked, $bad failed"
[ $bad = 0 ]
