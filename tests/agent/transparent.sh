#!/bin/bash
# transparent.sh AGENT TARGET: the program must not notice the agent. Same stdout, stderr and status.
# A process that has nothing to record leaves no file behind.
agent=$1 target=$2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset GPUPROF_DIR LD_PRELOAD CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH
ulimit -c 0
exec 2>/dev/null # the shell reports each program that dies by a signal
bad=0 n=0

same() { # same NAME COMMAND...
    local name=$1
    shift
    rm -rf "$work/spool"
    mkdir -m 777 "$work/spool"
    chmod 755 "$work"
    (exec 2>"$work/err.0"; "$@") >"$work/out.0" </dev/null
    local plain=$?
    (
        exec 2>"$work/err.1"
        export GPUPROF_DIR=$work/spool
        LD_PRELOAD=$agent exec "$@"
    ) >"$work/out.1" </dev/null
    local with=$?
    n=$((n + 1))
    if [ $plain != $with ] || ! cmp -s "$work/out.0" "$work/out.1" || ! cmp -s "$work/err.0" "$work/err.1"; then
        echo "FAIL $name: status $plain and $with"
        diff "$work/out.0" "$work/out.1"
        diff "$work/err.0" "$work/err.1"
        bad=$((bad + 1))
    fi
}
empty() { # nothing was to be recorded: no file
    if [ -n "$(ls "$work/spool")" ]; then
        echo "FAIL $1: left $(ls "$work/spool")"
        bad=$((bad + 1))
    fi
}

recorded() {
    if ! ls "$work"/spool/*.spool >/dev/null; then
        echo "FAIL $1: recorded nothing"
        bad=$((bad + 1))
    fi
}

for marks in "" 1; do
    export GPUPROF_TEST_MARKS=$marks
    [ -n "$marks" ] || unset GPUPROF_TEST_MARKS
    for mode in exit threads fork vfork exec closefds away limit handler _exit quick_exit abort segv kill; do
        same "target $mode marks=$marks" "$target" $mode
        [ -n "$marks" ] && recorded "target $mode"
    done
done

same "limited memory" bash -c 'ulimit -v 1000000; exec "$@"' - "$target" threads
same true true
empty true
same false false
same cat cat /proc/self/comm
same bash bash -c 'x=$(echo a | tr a b); echo $x; (exit 7); echo $?; kill -TERM $$'
empty bash
same sh sh -c 'cd /; ls | sort | head -3; exec sh -c "exit 5"'
same awk awk 'BEGIN { for (i = 0; i < 1000; i++) s += i; print s; exit 3 }'
same env env -i /bin/echo hello
same missing sh -c '/no/such/program; echo $?'
if command -v python3 >/dev/null; then
    same python python3 -c 'import os,subprocess,multiprocessing as m
print(subprocess.run(["sh","-c","exit 4"]).returncode)
p=m.get_context("fork").Process(target=os._exit,args=(6,)); p.start(); p.join(); print(p.exitcode)
raise SystemExit(2)'
fi

echo "transparent: $n compared, $bad differ"
[ $bad = 0 ]
