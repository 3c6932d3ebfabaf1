#!/bin/bash
# One variant of fresh.sh, in namespaces of its own for mounts and processes: inside.sh STATE SUITE WHO CUDA. Runs the lines in
# STATE/run/lines, then looks for what they left: a process, a file outside of the places that the README names, or a test
# that was skipped for a reason that it does not give.
set -u
state=$1 suite=$2 who=$3 cuda=$4
run=$state/run
said=$run/said
home=/root
[ "$who" = root ] || home=/home/reader
environment="PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=$home LANG=C.UTF-8 GPUPROF_SETUP=yes GPUPROF_TESTS=${GPUPROF_TESTS:-}"
[ "${GPUPROF_TESTS:-}" != once ] || environment="$environment CMAKE_FLAGS=-DGPUPROF_TESTS=once"

devices() {
    mount -t tmpfs tmpfs dev && chmod 755 dev && mkdir dev/pts dev/shm &&
        mount -t tmpfs tmpfs dev/shm && chmod 1777 dev/shm &&
        mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts && ln -s pts/ptmx dev/ptmx || return 1
    for node in null zero full random urandom tty; do
        touch dev/$node && mount --bind /dev/$node dev/$node || return 1
    done
    ln -s /proc/self/fd dev/fd
}

mounts() {
    mount -t overlay overlay -o "lowerdir=$state/$suite,upperdir=$run/upper,workdir=$run/work" "$run/root" || return 1
    cd "$run/root" || return 1
    mount -t proc proc proc && mount --rbind /sys sys && mount -t tmpfs tmpfs tmp && chmod 1777 tmp && devices || return 1
    cp /etc/resolv.conf /etc/hosts etc/
    mount --bind "$state/archives" var/cache/apt/archives && mount --bind "$state/lists-$suite" var/lib/apt/lists
}

toolkit() { # this machine's, at its own place; what it lacks where CUDA_HOME says
    for place in /usr/local/cuda-*; do
        [ -d "$place" ] && mkdir -p ".$place" && mount --rbind "$place" ".$place" || return 1
        ln -sfn "${place##*/}" usr/local/cuda
    done
    if [ -n "${FRESH_WHEELS:-}" ]; then
        mkdir -p opt/nvidia && mount --bind "$FRESH_WHEELS" opt/nvidia || return 1
        environment="$environment CUDA_HOME=/opt/nvidia"
    fi
}

reader() { # the ordinary user, with sudo
    chroot . env -i $environment DEBIAN_FRONTEND=noninteractive \
        sh -c "apt-get update -qq && apt-get install -qq -y sudo && useradd --uid 4242 -s /bin/bash reader" >"$said" 2>&1 ||
        { cat "$said"; return 1; }
    chroot . chown -R reader: /home/reader
    echo 'reader ALL=(ALL) NOPASSWD: ALL' >etc/sudoers.d/reader
    environment="$environment USER=reader"
}

tree() { # what lies in the home folder and in the sources, but for what README says that is made there, and npm's cache
    (cd ".$home" && find . -mindepth 1 -maxdepth 1 ! -name .npm ! -name .ssh | sort) # ssh comes with git
    (cd ".$home/gpuprof" && find . -path ./.git -prune -o -path './build*' -prune -o -name 'demo.*' -prune -o \
        -name node_modules -prune -o -print | sort)
}

read_out() { # one line of the README after the other
    as=
    [ "$who" = root ] || as=--userspec=reader:reader
    while IFS= read -r line <&3; do
        began=$SECONDS status=0
        echo "fresh: \$ $line"
        # shellcheck disable=SC2086 # several settings
        TIMEFORMAT="fresh: %U + %S s of processor"
        time chroot $as . env -i $environment bash -c "cd ~/gpuprof && $line" </dev/null >"$said" 2>&1 || status=$?
        if [ $status != 0 ]; then
            tail -n 400 "$said"
            cp "$said" "$state/failed-$suite-$who-$cuda.log"
            echo "fresh: status $status after $((SECONDS - began)) s: $line (all of it: $state/failed-$suite-$who-$cuda.log)"
            return 1
        fi
        tail -n 3 "$said"
        echo "fresh: $((SECONDS - began)) s: $line"
        unexplained && complete || return 1
    done 3<"$run/lines"
}

unexplained() { # the table of docs/testing.md has a reason, in backticks, for each test that was skipped
    grep '^| `no ' ".$home/gpuprof/docs/testing.md" | grep -o '`no [^`]*`' | tr -d '`' >"$run/reasons"
    grep '^skipped: ' "$said" | grep -vFf "$run/reasons" | sed 's|^|fresh: docs/testing.md has no such reason: |' | grep . && return 1
    return 0
}

complete() { # with less than the build needs, `cuda` would be `plain` by another name
    [ "$cuda" = cuda ] && grep '^CUDA: not complete' "$said" || return 0
    echo "fresh: the toolkit that is bound in lacks that: set FRESH_WHEELS"
    return 1
}

left() {
    bad=0
    for _ in 1 2 3 4 5 6 7 8 9 10; do # what ends with its parent has a moment
        others=$(for p in /proc/[0-9]*; do
            [ "$(readlink "$p/root" 2>/dev/null)" != "$run/root" ] || tr '\0' ' ' <"$p/cmdline"
        done)
        [ -n "$others" ] || break
        sleep 1
    done
    [ -z "$others" ] || { echo "fresh: a process stayed: $others"; bad=1; }
    find tmp dev/shm var/tmp -mindepth 1 | sed 's/^/fresh: left: /' | grep . && bad=1
    comm -13 <(sort "$run/tree") <(tree | sort) | sed 's/^/fresh: left: /' | grep . && bad=1
    return $bad
}

main() {
    mount --make-rprivate / && mounts || exit 2
    mount -t proc proc /proc # of this namespace, for left
    if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then # a proxy's certificate, where this machine has one
        cp "$NODE_EXTRA_CA_CERTS" etc/extra-ca.crt && environment="$environment NODE_EXTRA_CA_CERTS=/etc/extra-ca.crt PIP_CERT=/etc/extra-ca.crt"
    fi
    [ "$cuda" = plain ] || toolkit || exit 2
    [ "$who" = root ] || reader || exit 1
    tree >"$run/tree"
    status=0
    read_out || status=1
    left || status=1
    exit $status
}
main # all of this file is read by now
