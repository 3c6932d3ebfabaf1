#!/bin/sh
# What a rule tells a program to change, some program here can be told: each knob that a rule names is a
# setting of a reference trainer.
# usage: knobs.sh SOURCE BUILD
cd "$1" || exit 2
settings=$(for t in "$2"/bin/train_*; do "$t" --help; done 2>/dev/null)
[ -n "$settings" ] || { echo "no trainer answers --help"; exit 1; }
bad=0
for knob in $(grep -hoE 'knob = *"[a-z_]+|"[a-z_]+=[a-z0-9%]+"' analyzer/rules/rule_*.c |
              sed 's|^knob = *||; s|"||g; s|=.*||' | sort -u); do
    option=$(echo "$knob" | tr _ -)
    echo "$settings" | grep -qE -- "--$option( |=|,|$)" || { echo "no trainer has the setting $knob"; bad=1; }
done
exit $bad
