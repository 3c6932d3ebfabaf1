#!/bin/sh
# Installs what packages.txt names, and fetches CUDA's headers and compiler where this machine has none:
# scripts/setup.sh build|test|fresh|cross. Packages: Debian and Ubuntu, as root or with sudo; elsewhere it names what is missing.
# CUDA: NVIDIA's Python wheels, into build-cuda/ (scripts/cuda_places.sh has the places that count before it). It says what
# it wants, asks one question, and does nothing when all is there. GPUPROF_SETUP=yes or no answers for scripts. Without a
# terminal and without that answer it installs packages, but nothing of NVIDIA's.
set -eu
want=${1:-build}
here=$(cd "$(dirname "$0")/.." && pwd)
answer=${GPUPROF_SETUP:-}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

have() { # dpkg knows it, pkg-config does, or the tool of that name is on the PATH (an own gcc or node is fine)
    dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed' && return 0
    case $1 in
    libsqlite3-dev) pkg-config --exists sqlite3 ;;
    zlib1g-dev) pkg-config --exists zlib ;;
    libcjson-dev) pkg-config --exists libcjson ;;
    libjpeg*-dev) pkg-config --exists libjpeg ;;
    libdw-dev) pkg-config --exists libdw ;;
    ninja-build) command -v ninja ;;
    check) pkg-config --exists check ;;
    python3-pip) python3 -m pip --version ;;
    *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

wanted() { # is a line of that kind needed now?
    case $1 in
    build) [ "$want" != fresh ] ;;
    *) [ "$want" = "$1" ] ;;
    esac
}

missing_packages() {
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
}

# Sets `cuda` to the wheels that bring what no place has. Their versions go together, so with nvcc come headers of its own.
missing_cuda() {
    case $want:${CMAKE_FLAGS:-} in fresh:* | *-DGPUPROF_CUDA=OFF*) return 0 ;; esac
    root=$(echo "${CMAKE_FLAGS:-}" | sed -n 's/.*-DCUDA_ROOT=\([^ ]*\).*/\1/p')
    places=$("$here/scripts/cuda_places.sh" "$root")
    for file in include/cuda_runtime_api.h include/cupti.h include/nvtx3/nvToolsExt.h bin/nvcc; do
        found=
        for place in $places; do [ ! -e "$place/$file" ] || found=1; done
        [ -n "$found" ] || lacks="$lacks ${file#*/}"
    done
    case $lacks in
    *nvcc*) cuda="nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85 nvidia-nvtx==13.0.85 nvidia-cuda-nvcc==13.0.88
            nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-cccl==13.0.85" megabytes=115 ;;
    ?*) cuda="nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85 nvidia-nvtx==13.0.85" megabytes=13 ;;
    esac
    [ ! -e "$here/build-cuda/declined" ] || [ "$answer" = yes ] || cuda= # said once
}

install_packages() {
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
    # shellcheck disable=SC2086 # several packages
    "$here/scripts/progress.sh" "setup: installing packages" "$log" \
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $chosen ||
        { echo "setup: the packages were not installed" >&2; exit 1; }
}

fetch_cuda() {
    dir=$here/build-cuda
    mkdir -p "$dir"
    # shellcheck disable=SC2086 # several wheels
    "$here/scripts/progress.sh" "setup: fetching CUDA's headers and compiler" "$log" \
        python3 -m pip install --disable-pip-version-check --no-deps --no-compile --upgrade --target "$dir" $cuda ||
        { echo "setup: NVIDIA's wheels were not fetched; the build goes on without the recorder" >&2; rm -rf "$dir"; return 0; }
    for library in "$dir"/nvidia/*/lib/lib*.so.[0-9]*; do # linkers look for the name without a version
        plain=${library%%.so.*}.so
        [ -e "$plain" ] || [ ! -e "$library" ] || ln -s "${library##*/}" "$plain"
    done
    for of in "$dir"/nvidia/*/lib; do # nvcc looks for lib64
        [ -e "${of}64" ] || [ ! -e "$of" ] || ln -s lib "${of}64"
    done
}

missing= lacks= cuda= megabytes=0
extra= # never installed for its own sake: gpuprof does without it
missing_packages
missing_cuda
[ -z "$cuda" ] || have python3-pip || missing="$missing python3-pip"
[ -n "$missing$cuda" ] || exit 0

as_root=
if [ -n "$missing" ]; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "setup: this is not Debian or Ubuntu; please install the equivalents of:$missing" >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "setup: not root and no sudo; please install:$missing" >&2
            exit 1
        fi
        as_root=sudo
    fi
    [ "$want" = fresh ] || missing=$missing$extra
    echo "setup: these packages are missing:$missing"
fi
if [ -n "$cuda" ]; then
    echo "setup: CUDA's$lacks are nowhere on this machine. NVIDIA's Python wheels have them: $megabytes MB, into build-cuda/,"
    echo "setup: under NVIDIA's licence. Without them gpuprof is built without its recorder and virtual GPU."
fi
if [ -z "$answer" ] && [ -t 0 ] && [ -t 1 ]; then
    printf "setup: install that? [Y/n] "
    read -r answer || answer=no
    case $answer in '' | [Yy]*) answer=yes ;; *) answer=no; [ -z "$cuda" ] || { mkdir -p "$here/build-cuda"; : >"$here/build-cuda/declined"; } ;; esac
fi
if [ -n "$missing" ]; then
    [ "$answer" != no ] || { echo "setup: nothing was installed" >&2; exit 1; }
    echo "setup: installing packages"
    install_packages
fi
case $answer in
yes) [ -z "$cuda" ] || fetch_cuda ;;
no) ;;
*) [ -z "$cuda" ] || echo "setup: there is no terminal to ask at, so NVIDIA's wheels stay away: GPUPROF_SETUP=yes fetches them" ;;
esac
