#!/bin/sh
# All benchmarks of a build, one table each: bench/run.sh BUILD [TRACE.json[.gz]...]. What is not built is named.
build=${1:?usage: bench/run.sh BUILD [TRACE...]}
shift
here=$(dirname "$0")
status=0

# part TITLE FILE COMMAND...: runs the command if FILE is there
part() {
    title=$1 file=$2
    shift 2
    printf '\n== %s\n' "$title"
    if [ ! -e "$file" ]; then
        echo "left out: $file is not built"
        return
    fi
    "$@" || status=1
}

part "agent: cost on the program's threads" "$build/bin/agent_cost" \
    "$build/bin/agent_cost" "$build/lib/libgpuprof_agent.so"
part "agent: launches from many threads" "$build/bin/programs/storm" python3 "$here/storm.py" "$build"
part "collector: spool to profile" "$build/bin/bench_collector" "$build/bin/bench_collector"
part "predictions: a replay, and analysis with all edits on up to ten million events" "$build/bin/bench_whatif" \
    "$build/bin/bench_whatif"
if [ $# -gt 0 ]; then
    part "reading traces" "$build/bin/bench_import" "$build/bin/bench_import" "$@"
    part "what predictions cost: instructions of analyze over analyze --no-predict" "$(command -v valgrind)" \
        python3 "$here/../tests/golden/cost.py" "$build/bin/gpuprof" . 1.6 "$@"
fi
part "analyze, import, report and export on traces of up to ten million events" "$build/bin/gpuprof" \
    python3 "$here/import_large.py" "$build/bin/gpuprof"
part "slowdown of train_conv under profiling" "$build/bin/train_conv" python3 "$here/overhead.py" "$build"
part "slowdown of a long run that is recorded lightly" "$build/bin/train_conv" python3 "$here/light.py" "$build"
exit $status
