#!/bin/sh
# One table says which settings findings advise and who obeys them (analyzer/advice/settings.c, printed by
# `gpuprof rules --markdown`). The hook obeys exactly the values of the table, the trainers have the settings of the
# table, and the actions of remedies name no other. Each rule has a defect that it finds, or says in its cases why not, and
# each defect something that takes it out: a setting of its rule, or an undo.
# The hook reads the text of settings as gpuprof does (tests/settings_cases.tsv).
# usage: settings.sh SOURCE BUILD
cd "$1" || exit 2
gpuprof=$2/bin/gpuprof
options=$(for t in "$2"/bin/train_*; do "$t" --help; done 2>/dev/null)
[ -n "$options" ] || { echo "no trainer answers --help"; exit 1; }
table=$("$gpuprof" rules --markdown | sed -n '/^# Settings/,$s/^| `\([a-z_]*\)` | \(.*\) | \(.*\) |$/\1:\2:\3/p')
[ -n "$table" ] || { echo "no table of settings"; exit 1; }
bad=0
complain() { echo "$*"; bad=1; }
has_option() { echo "$options" | grep -qE -- "--$(echo "$1" | tr _ -)( |=|,|\$)"; }

# name:value of each that the hook obeys, "name:any value" where every value will do
hook=$(python3 - agent/python/gpuprof_apply.py <<'EOF'
import ast, sys
known = {}
for node in ast.parse(open(sys.argv[1], encoding="utf-8").read()).body:
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("LOADER", "LOADER_SETTINGS", "OBEYED"):
        known[node.targets[0].id] = eval(compile(ast.Expression(node.value), "", "eval"), {}, known)
for obeyed in known["OBEYED"]:
    name, _, value = obeyed.partition("=")
    print(f"{name}:{value or 'any value'}")
EOF
)
python3 - agent/python/gpuprof_apply.py tests/settings_cases.tsv <<'EOF' || bad=1
import ast, sys
known = {}
for node in ast.parse(open(sys.argv[1], encoding="utf-8").read()).body:
    if isinstance(node, ast.FunctionDef) and node.name == "settings":
        exec(compile(ast.Module([node], []), sys.argv[1], "exec"), known)
wrong = 0
for line in open(sys.argv[2], encoding="utf-8"):
    if line.startswith("#"):
        continue
    text, want = line.rstrip("\n").split("\t")
    got = "|".join(f"wrong {name}" if value is None else f"{name}={value}" for name, value in known["settings"](text))
    if got != want:
        print(f"the hook reads '{text}' as '{got}', not as '{want}'")
        wrong = 1
sys.exit(wrong)
EOF
by_table=$(echo "$table" | while IFS=: read -r name values _; do
    case $values in
    no) ;;
    "any value") echo "$name:$values" ;;
    *) for value in $values; do echo "$name:$value"; done ;;
    esac
done)
[ "$(echo "$hook" | sort)" = "$(echo "$by_table" | sort)" ] ||
    complain "the hook obeys: $(echo "$hook" | sort | tr '\n' ' '), the table says: $(echo "$by_table" | sort | tr '\n' ' ')"
for row in $(echo "$table" | sed 's/:.*:/:/'); do
    name=${row%:*}
    [ "${row#*:}" = no ] || has_option "$name" || complain "no trainer has the setting $name"
    [ "${row#*:}" = yes ] || ! has_option "$name" || complain "a trainer has the setting $name: the table denies it"
done
settings=$(sed -n '/^    X(/,$p' analyzer/remedy/actions.h | grep -oE '[a-z_]+=' | sed 's/=//' | sort -u)
[ -n "$settings" ] || { echo "no action has a setting"; exit 1; }
for setting in $settings; do
    echo "$table" | grep -q "^$setting:" || complain "an action names $setting, which is not in the table of settings"
done

# The cases of a rule that no trainer plants say so, with the reason: "No trainer plants it: ...".
defects=$(for t in "$2"/bin/train_*; do "$t" --defect list; done)
unplanted=$(for cases in tests/rules/*.c; do
    sed -n '1,/\*\//p' "$cases" | tr -d '\n*' | grep -qE 'No +trainer +plants +it:' && basename "$cases" .c
done)
planted=$(echo "$unplanted"; echo "$defects" | cut -f2)
rules=$("$gpuprof" rules --json | tr -d '\n' | sed 's/}/}\n/g' |
    sed -n 's/.*"rule": *"\([a-z-]*\)".*"setting": *"*\([a-z_]*\).*/\1:\2/p')
for row in $rules; do
    rule=${row%:*}
    echo "$planted" | tr ' ' '\n' | grep -qx -- "$rule" || complain "no defect is found by $rule"
    [ "${row#*:}" != null ] || [ -z "$(echo "$defects" | awk -F '\t' -v r="$rule" '$2 == r && $3 == ""')" ] ||
        complain "nothing takes out a defect that $rule finds: neither a setting nor an undo"
done
for name in $(echo "$defects" | cut -f3 | tr ';' '\n' | sed 's/=.*//' | sort -u); do
    has_option "$name" || complain "no trainer has $name, which is to take a defect out"
done
exit $bad
