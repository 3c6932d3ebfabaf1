#!/bin/sh
# What a rule tells a program to change, some program here can be told: each knob that a rule names is a
# setting of a reference trainer, or of the Python hook; and each rule has a defect that it finds.
# usage: knobs.sh SOURCE BUILD
cd "$1" || exit 2
settings=$(for t in "$2"/bin/train_*; do "$t" --help; done 2>/dev/null)
[ -n "$settings" ] || { echo "no trainer answers --help"; exit 1; }
bad=0
for knob in $(grep -hoE 'knob = *"[a-z_]+|"[a-z_]+=[a-z0-9%]+"' analyzer/advice/rules/rule_*.c |
              sed 's|^knob = *||; s|"||g; s|=.*||' | sort -u); do
    option=$(echo "$knob" | tr _ -)
    grep -qE "\"$knob[=\"]" agent/python/gpuprof_apply.py ||
        echo "$settings" | grep -qE -- "--$option( |=|,|$)" || { echo "no trainer has the setting $knob"; bad=1; }
done

# What a rule finds, some defect plants. Not so: a slow clock is an option of the virtual GPU; what lies in the
# window is the recording's affair; data-loading is for programs without GPU work, worker-startup and
# gc-pauses are for Python's (tests/python).
planted="clock-throttling warm-up data-loading worker-startup gc-pauses $(for t in "$2"/bin/train_*; do "$t" --defect list; done | cut -f2)"
for rule in $("$2/bin/gpuprof" rules --json | grep -o '"rule": *"[a-z-]*"' | cut -d'"' -f4); do
    echo "$planted" | tr ' ' '\n' | grep -qx -- "$rule" || { echo "no defect is found by $rule"; bad=1; }
done
exit $bad
