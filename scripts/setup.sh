#!/bin/sh
# Installs what packages.txt names: scripts/setup.sh build|test. Debian and Ubuntu, as root or with sudo;
# elsewhere it names what is missing. Says what it installs; does nothing when all is there.
set -eu
want=${1:-build}
here=$(dirname "$0")/..

have() { # dpkg knows it, or the tool of that name is on the PATH (an own gcc or node is fine)
    dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed' && return 0
    case $1 in *-dev | check) return 1 ;; esac
    command -v "$1" >/dev/null 2>&1
}

missing=
while read -r what names; do
    case $what in '#'* | '') continue ;; test) [ "$want" = test ] || continue ;; esac
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
echo "setup: installing$missing"
$as_root apt-get update -qq
for names in $missing; do
    for name in $(echo "$names" | tr '|' ' '); do
        if apt-cache show "$name" >/dev/null 2>&1; then
            DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "$name" >/dev/null
            break
        fi
    done
done
