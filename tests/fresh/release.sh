#!/bin/bash
# make release-check: what `make release` wrote, on systems on which nothing of gpuprof is installed: release.sh STATE DIST
# [SUITE:MACHINE]... Wheel, archive and .deb each record a Python program on the virtual GPU and say what to change in it; the wheel in
# 60 s, from `pip install` on (emulated: in 180). Without arguments, on an old and a new Debian of x86_64 and an old one of aarch64 (emulated.sh).
# STATE keeps their packages.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)

answer() { # PROGRAM
    "$1" run -q -f -o /tmp/x.gpuprof --device virtual:a100-80 -- python3 /tmp/prog.py && "$1" analyze /tmp/x.gpuprof | grep -q 'Pin the host buffers'
}

say() { # WHAT COMMAND...
    local began=$SECONDS
    if "${@:2}" >/tmp/said 2>&1; then
        echo "ok      $1: $((SECONDS - began)) s"
    else
        echo "FAILED  $1: $(tail -n 20 /tmp/said)"
        exit 1
    fi
}

within() { # DIST MACHINE: in the root
    file=$(ls "$1"/*"_$2.whl") deb=amd64 most=60
    [ "$2" != aarch64 ] || deb=arm64 most=180 # emulated
    python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import wheel; print(wheel.PROGRAM)' "$here/tests" >/tmp/prog.py || exit 1
    say "python3 -m venv" python3 -m venv /tmp/venv
    began=$SECONDS
    say "pip install ${file##*/}" /tmp/venv/bin/pip install -q --no-index "$file"
    say "its answer" answer /tmp/venv/bin/gpuprof
    took=$((SECONDS - began))
    say "both within $most s: $took s" [ $took -le $most ]
    say "${file##*/}, all of it" env WHEEL="$file" python3 "$here/tests/wheel.py" -
    mkdir /tmp/opt && tar xzf "$1"/gpuprof-*-linux-"$2".tar.gz -C /tmp/opt
    say "the archive's answer" answer /tmp/opt/*/bin/gpuprof
    say "dpkg -i" dpkg --force-depends -i "$1"/gpuprof_*_$deb.deb # that no package was configured here, dpkg does not know
    say "the answer of the .deb" answer /usr/bin/gpuprof
    say "dpkg -P" dpkg -P gpuprof
}

if [ "${1-}" = within ]; then
    within "$2" "$3"
    exit
fi
mkdir -p "${1:?release.sh STATE DIST [SUITE:MACHINE]...}" && state=$(cd "$1" && pwd) && dist=$(cd "${2:?}" && pwd) || exit 2
shift 2
failed=0
[ $# -gt 0 ] || set -- bullseye:x86_64 trixie:x86_64 bullseye:aarch64
for on in "$@"; do
    echo "== $on =="
    "$here/tests/fresh/emulated.sh" make "$state/${on/:/-}" "${on%:*}" "${on#*:}" python3-venv,ca-certificates >"$state/root.log" 2>&1 ||
        { tail -n 3 "$state/root.log"; failed=$((failed + 1)); continue; }
    "$here/tests/fresh/emulated.sh" in "$state/${on/:/-}" "${on#*:}" "$here,$dist" "$here/tests/fresh/release.sh" within "$dist" "${on#*:}" ||
        failed=$((failed + 1))
done
[ $failed = 0 ]
