#!/bin/bash
# A Debian of x86_64 or aarch64 in a folder, made of its packages, and programs in it: the other machine's run under qemu-user.
#
#   emulated.sh make ROOT SUITE MACHINE PACKAGE,PACKAGE...   once; the packages are unpacked, none of their programs is run
#   emulated.sh in ROOT MACHINE BOUND,BOUND... COMMAND...    BOUND: folders of this machine that the command sees, too
#
# Needs root for debootstrap, and namespaces: nothing is registered on the machine itself.
set -u

mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' | grep '/debian/*$' | head -n 1
}

# Its links must not lead out of it.
make_root() { # ROOT SUITE MACHINE PACKAGES
    [ ! -e "$1/complete" ] || return 0
    root=$1
    rm -rf "$root"
    debootstrap --download-only --arch="$([ "$3" = aarch64 ] && echo arm64 || echo amd64)" --variant=minbase --include="$4" "$2" "$root" \
        "${FRESH_MIRROR:-$(mirror)}" || return 1
    for package in "$root"/var/cache/apt/archives/*.deb; do
        dpkg -x "$package" "$root" || return 1
    done
    for folder in lib lib64 bin sbin; do # as in /usr
        [ ! -d "$root/$folder" ] || [ -L "$root/$folder" ] || cp -a "$root/$folder/." "$root/usr/$folder" || return 1
        [ ! -d "$root/usr/$folder" ] || { rm -rf "${root:?}/$folder" && ln -s "usr/$folder" "$root/$folder"; } || return 1
    done
    find "$root/usr" -type l -lname '/*' | while IFS= read -r link; do
        ln -sfnr "$root$(readlink "$link")" "$link"
    done
    rm -rf "$root"/var/cache/apt/archives
    # pip and dpkg want these, which packages make when they are installed
    mkdir -p "$root"/{tmp,proc,dev,etc/ssl/certs,var/lib/dpkg/info,var/lib/dpkg/updates} &&
        cat "$root"/usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt" 2>/dev/null
    touch "$root"/{var/lib/dpkg/status,complete}
}

emulation() {
    own='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc &&
        echo ":aarch64:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:$own:$(command -v qemu-aarch64-static):F" \
            >/proc/sys/fs/binfmt_misc/register
}

enter() { # ROOT MACHINE BOUND COMMAND...
    [ "$2" = "$(uname -m)" ] || emulation || exit 9
    root=$1
    mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount -t tmpfs tmpfs "$root/tmp" || exit 9
    for bound in ${3//,/ }; do
        mkdir -p "$root$bound" && mount --bind "$bound" "$root$bound" || exit 9
    done
    shift 3
    exec chroot "$root" env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 "$@"
}

case ${1-} in
make) make_root "${@:2}" ;;
in) exec unshare --user --map-root-user --mount --pid --fork --kill-child "$0" enter "${@:2}" ;;
enter) enter "${@:2}" ;;
*) exit 2 ;;
esac
