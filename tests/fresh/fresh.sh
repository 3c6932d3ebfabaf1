#!/bin/bash
# The README on a machine on which nothing is installed: fresh.sh STATE [SUITE[:WHO[:CUDA]]]...
#
#   SUITE  bookworm (Debian 12) or trixie (13)     WHO   root, or user: an ordinary one with sudo
#   CUDA   cuda: this machine's toolkit is bound into the root; plain: there is none
#
# What is not said stands for all of its values; without arguments all eight are run, one after the other. Each starts from
# `debootstrap --variant=minbase`, gets the sources of the last commit, and runs the lines of the README's section "From
# source" as they stand there (inside.sh). FRESH_LINES="make demo" keeps those that match it, beside those of apt-get.
# GPUPROF_TESTS=once is passed on to tests/run.sh.
# STATE keeps the bare roots and the packages: a second run fetches nothing again. Debian's mirror is this machine's own, or
# FRESH_MIRROR. FRESH_WHEELS is a folder of NVIDIA's Python wheels with what the toolkit lacks; unset, they are installed into
# the user's cache. Needs root, debootstrap, unshare.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
state=${1:?fresh.sh STATE [SUITE[:WHO[:CUDA]]]...}
shift
passed=0 failed=0 names=

fail() {
    echo "fresh: $*" >&2
    exit 1
}

mirror() { # as this machine's apt is configured
    [ -z "${FRESH_MIRROR:-}" ] || { echo "$FRESH_MIRROR"; return; }
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' | grep '/debian/*$' | head -n 1
}

bare() { # SUITE: the bare root, once
    root=$state/$1
    [ ! -e "$root/etc/fresh" ] || return 0
    from=$(mirror)
    [ -n "$from" ] || fail "no Debian mirror in this machine's apt configuration; set FRESH_MIRROR"
    echo "fresh: making a bare $1"
    rm -rf "$root"
    debootstrap --variant=minbase "$1" "$root" "$from" >"$state/$1.log" 2>&1 || {
        tail -n 5 "$state/$1.log"
        rm -rf "$root"
        return 1
    }
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fresh" # dpkg need not wait for the disk here
    rm -rf "$root"/var/cache/apt/archives "$root"/var/lib/apt/lists
    mkdir -p "$root"/var/cache/apt/archives/partial "$root"/var/lib/apt/lists/partial "$state/lists-$1/partial"
    touch "$root/etc/fresh"
}

lines() { # WHO: the README's lines without comments; root leaves out sudo, as it says there
    awk '/^#+ / { inside = /^### From source/ } inside && /^```/ { block = !block; next } inside && block' "$here/README.md" |
        sed 's/  *#.*//; /^$/d' | if [ "$1" = root ]; then sed 's/\bsudo //g'; else cat; fi |
        grep -e apt-get -e "${FRESH_LINES:-.}"
}

sources() { # FOLDER WHO: root gets an archive, which has no folder of git's; the user a clone
    mkdir -p "$1"
    if [ "$2" = root ]; then
        git -C "$here" archive HEAD | tar x -C "$1"
    else
        git clone -q --depth 1 "file://$here" "$1"
    fi
}

variant() { # SUITE WHO CUDA
    run=$state/run
    rm -rf "$run" && mkdir -p "$run/upper" "$run/work" "$run/root" || return 1
    bare "$1" || return 1
    home=root
    [ "$2" = root ] || home=home/reader
    sources "$run/upper/$home/gpuprof" "$2" || return 1
    lines "$2" >"$run/lines"
    grep -q make "$run/lines" || { echo "fresh: the README has no such line"; return 1; }
    began=$SECONDS
    unshare --mount --pid --ipc --fork --kill-child "$here/tests/fresh/inside.sh" "$state" "$@" || return 1
    echo "fresh: $1:$2:$3 took $((SECONDS - began)) s"
    rm -rf "$run"
}

wanted=
for word in "${@:-::}"; do
    IFS=: read -r suite who cuda <<<"$word"
    for s in ${suite:-bookworm trixie}; do
        for w in ${who:-user root}; do
            for c in ${cuda:-plain cuda}; do
                wanted="$wanted $s:$w:$c"
            done
        done
    done
done
[ "$(id -u)" = 0 ] || fail "needs root, for chroot and mounts: sudo make fresh"
for tool in debootstrap unshare chroot; do
    command -v $tool >/dev/null || fail "needs $tool"
done
case $wanted in *:cuda*)
    if [ -z "${FRESH_WHEELS+set}" ]; then # CUDA_HOME is another place, which is not bound
        FRESH_WHEELS=$(CUDA_HOME='' "$here/scripts/cuda_wheels.sh" "${XDG_CACHE_HOME:-$HOME/.cache}/gpuprof/cuda-wheels") ||
            fail "no wheels for what the toolkit lacks; set FRESH_WHEELS"
        export FRESH_WHEELS
    fi
    ;;
esac
mkdir -p "$state/archives/partial" && state=$(cd "$state" && pwd) || exit 2
for v in $wanted; do
    echo "== fresh $v =="
    # shellcheck disable=SC2086 # SUITE WHO CUDA
    if variant ${v//:/ }; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1)) names="$names $v"
    fi
done
echo "$passed passed, $failed failed${names:+:$names}"
[ $failed = 0 ]
