#!/bin/sh
# Profiles a program and compares it with the baseline: gpuprof-gate.sh PROGRAM ARGS...
#
#   GPUPROF_BASELINE  folder that the CI keeps between runs (its cache); there is main.gpuprof in it after the first run
#   GPUPROF_UPDATE    1 on the main branch: a run that passes becomes the baseline
#   GPUPROF_OUT       folder for new.gpuprof, gate.xml (JUnit) and summary.md (artifacts)
#   GPUPROF_REGRESS   how many per cent slower a step may be (3)
#   GPUPROF_OPTIONS   more options of `gpuprof run`
#
# Exits as `gpuprof gate`: 0 pass, 1 slower or the program failed, 2 unreadable, 3 inconclusive. Without a baseline the run
# passes if the program does. Baselines of another kind of machine say nothing: let the cache's key name the kind.
set -u
[ $# -gt 0 ] || { echo "usage: gpuprof-gate.sh PROGRAM ARGS..." >&2; exit 2; }
baseline=${GPUPROF_BASELINE:-gpuprof-baseline} out=${GPUPROF_OUT:-gpuprof-out}
mkdir -p "$baseline" "$out" || exit 2
new=$out/new.gpuprof

# shellcheck disable=SC2086 # several options
gpuprof run -q -f ${GPUPROF_OPTIONS:-} -o "$new" -- "$@"
program=$?
if [ ! -e "$new" ]; then
    echo "gpuprof-gate: no profile was made; the program ended with status $program" >&2
    [ $program != 0 ] && exit 1
    exit 2
fi
gpuprof analyze --markdown -f -o "$out/summary.md" "$new"
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$out/summary.md" >>"$GITHUB_STEP_SUMMARY"

if [ -e "$baseline/main.gpuprof" ]; then
    gpuprof gate --max-regress "${GPUPROF_REGRESS:-3}" -f --junit "$out/gate.xml" "$baseline/main.gpuprof" "$new"
    status=$?
else
    echo "gpuprof-gate: there is no baseline yet"
    status=0
fi
if [ $program != 0 ]; then
    echo "gpuprof-gate: the program ended with status $program" >&2
    [ $status != 0 ] || status=1
elif [ $status = 0 ] && [ "${GPUPROF_UPDATE:-0}" = 1 ]; then
    cp "$new" "$baseline/main.gpuprof"
fi
exit $status
