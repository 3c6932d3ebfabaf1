#!/bin/sh
# Installs what packages.txt names: scripts/setup.sh build|test|fresh. Debian and Ubuntu, as root or with sudo;
# elsewhere it names what is missing. It says what it installs, asks first where somebody sits at a terminal, and does
# nothing when all is there. GPUPROF_SETUP=yes answers for scripts that have a terminal.
set -eu
want=${1:-build}
here=$(dirname "$0")/..

have() { # dpkg knows it, pkg-config does, or the tool of that name is on the PATH (an own gcc or node is fine)
    dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed' && return 0
    case $1 in
    libsqlite3-dev) pkg-config --exists sqlite3 ;;
    zlib1g-dev) pkg-config --exists zlib ;;
    libcjson-dev) pkg-config --exists libcjson ;;
    libjpeg*-dev) pkg-config --exists libjpeg ;;
    libdw-dev) pkg-config --exists libdw ;;
    check) pkg-config --exists check ;;
    *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

wanted() { # is a line of that kind needed now?
    case $1 in
    build) [ "$want" != fresh ] ;;
    *) [ "$want" = "$1" ] ;;
    esac
}

missing=
extra= # never installed for its own sake: gpuprof does without it
while read -r what names; do
    case $what in '#'* | '') continue ;; esac
    if [ "$what" = extra ]; then
        have "$names" || extra="$extra $names"
        continue
    fi
    wanted "$what" || continue
    found=
    for name in $(echo "$names" | tr '|' ' '); do
        have "$name" && found=1
    done
    [ -n "$found" ] || missing="$missing $names"
done <"$here/packages.txt"
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: this is not Debian or Ubuntu; please install the equivalents of:$missing" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "setup: not root and no sudo; please install:$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
[ "$want" = fresh ] || missing=$missing$extra
echo "setup: these packages are missing:$missing"
if [ -t 0 ] && [ -t 1 ] && [ "${GPUPROF_SETUP:-}" != yes ]; then
    printf 'setup: install them with %sapt-get? [Y/n] ' "${as_root:+$as_root }"
    read -r answer || answer=n
    case $answer in
    '' | [Yy]*) ;;
    *)
        echo "setup: nothing was installed" >&2
        exit 1
        ;;
    esac
fi
echo "setup: installing them"
$as_root apt-get update -qq
chosen=
for names in $missing; do
    name=
    for one in $(echo "$names" | tr '|' ' '); do # the first that this distribution has
        if [ -z "$name" ] && apt-cache show "$one" >/dev/null 2>&1; then
            name=$one
        fi
    done
    case " $extra " in *" $names "*) ;; *) name=${name:-$names} ;; esac
    chosen="$chosen $name"
done
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # several packages
if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $chosen \
    >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    echo "setup: the packages were not installed" >&2
    exit 1
fi
