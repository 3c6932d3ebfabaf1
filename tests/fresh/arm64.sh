#!/bin/bash
# make aarch64: gpuprof for aarch64 (Grace Hopper, GB200, Spark), built on another machine and tested there under qemu-user: arm64.sh STATE
# [BUILD]. BUILD is this machine's own build: both must say the same of the same recordings. STATE is the folder of the build,
# and keeps a Debian of arm64 (emulated.sh).
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
packages=libc6-dev,libsqlite3-dev,zlib1g-dev,libcjson-dev,libdw-dev,libjpeg62-turbo-dev,check,python3-minimal
# Many processes at once, which takes minutes there; files of other users, whom the namespace does not know; what is read from outside of a
# Python, which is qemu's process there.
not_here='test_(place|recover|folder_of_spools|pyframes|sampler)'
failed=0

skip() {
    echo "skipped: $*"
    exit 77
}

check() { # WORDS COMMAND...
    what=$1
    shift
    if "$@" >"$state/said" 2>&1; then
        echo "ok      $what"
    else
        echo "FAILED  $what"
        tail -n 20 "$state/said"
        failed=$((failed + 1))
    fi
}

build() {
    cmake -S "$here" -B "$made" -DCMAKE_TOOLCHAIN_FILE="$here/cmake/aarch64.cmake" -DGPUPROF_ARM64="$root" &&
        cmake --build "$made" -j "$(nproc)" --target gpuprof gpuprof_agent vgpu unit_tests test_spool test_spool_rings train_conv large_pages
}

inside() {
    "$here/tests/fresh/emulated.sh" in "$root" aarch64 "$here,$state" "$@"
}

# qemu takes MADV_POPULATE_WRITE for done, so files there grow when they are written: two cases ask for the opposite.
agent() { # SUITE
    inside "$made/bin/$1" >"$state/suite"
    grep -q '^[0-9]*%: Checks: [1-9]' "$state/suite" && ! grep ':[FE]:' "$state/suite" | grep -v 'st_blocks == before'
}

# qemu does nothing at MADV_REMOVE, by which the room of a spare buffer goes back to the disk.
not_of_ours='test_full_disk_takes_spare_buffers:.*before - room_of'

units() {
    (cd "$here/tests" && find unit -name 'test_*.c' && ls rules/*.c) | sed 's|.*/||; s|\.c$||' |
        grep -vE "^($not_here|test_(spool|nvtx|agent).*)$" >"$state/suites"
    # shellcheck disable=SC2016 # that of the inner shell
    inside sh -c 'while read -r s; do "$1" "$s" >"$2" 2>&1 </dev/null || grep ":[FE]:" "$2" || echo "$s: $(tail -n 1 "$2")"; done <"$3"' \
        sh "$made/bin/unit_tests" "$state/suite" "$state/suites" >"$state/wrong" && ! grep -v "$not_of_ours" "$state/wrong"
}

same() { # RECORDING: the same answer as on this machine, to the byte
    gzip -dc "$1" >"$state/recording.gpuprof" &&
        inside "$made/bin/gpuprof" analyze --json "$state/recording.gpuprof" >"$state/theirs" &&
        "$native/bin/gpuprof" analyze --json "$state/recording.gpuprof" >"$state/ours" && diff "$state/ours" "$state/theirs"
}

recorded() { # [VARIABLE=VALUE]
    inside env "$@" "$made/bin/gpuprof" run -q -f -o "$state/arm64.gpuprof" --device virtual:h200 -- "$made/bin/train_conv" --steps 8 --depth 18 \
        --image 64 --batch 4 --num-workers 0 --data fixed && inside "$made/bin/gpuprof" analyze --json "$state/arm64.gpuprof" >"$state/said.json" &&
        python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
assert r["counts"]["kernels"] > 100 and r["steps"]["used"] >= 3, (r["counts"], r["steps"])' "$state/said.json"
}

mkdir -p "${1:?arm64.sh STATE [BUILD]}" && state=$(cd "$1" && pwd) || exit 2
native=${2:+$(cd "$2" && pwd)}
root=$state/root made=$state
for tool in debootstrap qemu-aarch64-static aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ unshare; do
    command -v $tool >/dev/null || skip "no $tool"
done
[ "$(id -u)" = 0 ] || [ -e "$root/complete" ] || skip "no namespaces: needs root"
"$here/tests/fresh/emulated.sh" make "$root" bookworm aarch64 $packages >"$state/root.log" 2>&1 || { tail -n 3 "$state/root.log"; skip "no network for debootstrap"; }
root=$(cd "$root" && pwd -P)
inside uname -m >"$state/said" 2>&1 || { cat "$state/said"; skip "no namespaces: this kernel has no binfmt_misc in them"; }
check "builds" build
check "units and rules" units
check "the recorder's rings" agent test_spool_rings
check "the recorder's library" agent test_spool
check "a recorded trainer" recorded
check "a recorded trainer, with pages of 64 KiB" recorded LD_PRELOAD="$made/lib/liblarge_pages.so"
for recording in ${native:+"$here"/tests/golden/real/*.gz "$here"/docs/examples/*.gz}; do
    check "the same answer to ${recording##*/}" same "$recording"
done
[ $failed = 0 ]
