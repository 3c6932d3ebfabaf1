#!/bin/bash
# help.sh BUILD: `-h` of each command, and the list of commands, fit a terminal of 80x24; --help keeps to 80 columns. The
# completions that bash gets know the commands, --device with each virtual GPU there is, and what `help` takes.
gpuprof=$(realpath "$1")/bin/gpuprof
source=$(cd "$(dirname "$0")/.." && pwd)
bad=0
fail() {
    echo "FAIL $1"
    bad=1
}
fits() { # TEXT LINES WHAT
    [ "$(printf '%s\n' "$1" | wc -l)" -le "$2" ] || fail "$3 has more than $2 lines"
    [ "$(printf '%s\n' "$1" | wc -L)" -le 80 ] || fail "$3 is wider than 80 columns"
}
commands=$("$gpuprof" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
fits "$("$gpuprof" --help)" 23 "--help" # and a prompt
for command in $commands; do
    fits "$("$gpuprof" "$command" -h)" 23 "$command -h"
    fits "$("$gpuprof" "$command" --help)" 60 "$command --help"
done

completed() { # LINE: what bash offers at its end
    COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
    _gpuprof
    echo "${COMPREPLY[*]}"
}
offers() { # LINE WORDS
    [ "$(completed "$1")" = "$2" ] || fail "'$1' is offered '$(completed "$1")', not '$2'"
}
eval "$("$gpuprof" completion bash | grep -v ^complete)"
offers "gpuprof he" "help"
offers "gpuprof help expl" "explain"
offers "gpuprof run --device v" "$(echo virtual $(cd "$source/vgpu/profiles" && ls ./*.ini |
    sed 's|^\./|virtual:|; s|\.ini||' | sort))"
offers "gpuprof run --device virtual:h1" "h100" # the `:` parts words, to bash
offers "gpuprof run --device=virtual:t" "t4"
offers "gpuprof analyze --color nev" "never"
offers "gpuprof explain pin-m" "pin-memory"
offers "gpuprof run --no-rec" "--no-record"
case " $(completed "gpuprof ") " in *" analyze "*) ;; *) fail "no command is offered" ;; esac
for shell in zsh fish; do
    "$gpuprof" completion $shell | grep -q "virtual:h200" || fail "$shell knows no virtual GPU"
    ! command -v $shell >/dev/null || "$gpuprof" completion $shell | $shell -n || fail "$shell does not understand it"
done

top=$(mktemp -d) || exit 2
trap 'rm -rf "$top"' EXIT
for name in x.pdf x.PNG x.json; do
    said=$("$gpuprof" report "$source/docs/examples" -o "$top/$name" 2>&1)
    [ $? = 2 ] && [ ! -e "$top/$name" ] || fail "report -o $name is not refused: $said"
    case $said in *HTML*) ;; *) fail "report -o $name: $said" ;; esac
done
for wrong in "export x.pdf" "export x.md.gz" "analyze x.html" "analyze --json x.md" "diff x.json" "gate x.xml"; do
    said=$("$gpuprof" ${wrong% *} "$top/a" "$top/b" -o "$top/${wrong##* }" 2>&1)
    [ $? = 2 ] || fail "$wrong is not refused: $said"
    case $said in *"file: use a name such as X."*) ;; *) fail "$wrong: $said" ;; esac
done
if [ -d "$1/lib/vgpu" ]; then
    "$gpuprof" run -q --device virtual:a100 --no-record -- sh -c 'echo $GPUPROF_VGPU' | grep -qx a100-80 ||
        fail "virtual:a100 is not the a100-80"
    "$gpuprof" run -q --device virtual:a100,scale=2 --no-record -- sh -c 'echo $GPUPROF_VGPU' | grep -qx a100-80,scale=2 ||
        fail "virtual:a100 with settings"
    for wrong in count=2 devices=0 devices=two devices; do
        said=$("$gpuprof" run -q --device "virtual:a100,$wrong" --no-record -- echo ran 2>&1)
        [ $? = 2 ] || fail "$wrong is not refused: $said"
        case $said in *"does not take '$wrong'"*) ;; *) fail "$wrong: $said" ;; esac
    done
fi
[ $bad = 0 ] && echo "help: ok"
exit $bad
