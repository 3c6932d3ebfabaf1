#!/bin/sh
# release.sh OUT: what a release has, into the empty folder OUT: a wheel, an archive to unpack anywhere, a .deb, the sources, a
# list of what is inside (SPDX) and checksums. All binaries are of one build, for glibc 2.28 and newer (scripts/wheel.sh). The
# same commit gives the same bytes: names in order, owner root, and one date, that of the commit.
set -eu
out=$1
cd "$(dirname "$0")/.."
top=$PWD
mkdir -p "$out"
[ -z "$(ls -A "$out")" ] || { echo "release: $out is not empty" >&2; exit 2; }
out=$(cd "$out" && pwd)
[ -z "$(git status --porcelain)" ] || { echo "release: commit first: the date and the sources are those of the last commit" >&2; exit 2; }
version=$(sed -n 's/^project(gpuprof VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
machine=$(uname -m)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
umask 022

packed() { # FOLDER: as a tar, the same wherever and whenever it is made
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$stage" -cf - "$1" | gzip -9n
}

scripts/wheel.sh "$out"
name=gpuprof-$version-linux-$machine
cmake --install build-wheel --prefix "$stage/$name" --strip >/dev/null
packed "$name" >"$out/$name.tar.gz"

architecture=$(dpkg --print-architecture 2>/dev/null || echo amd64)
deb=$stage/deb
mkdir -p "$deb/DEBIAN" "$deb/usr"
cp -r "$stage/$name/." "$deb/usr/"
cat >"$deb/DEBIAN/control" <<EOF
Package: gpuprof
Version: $version
Architecture: $architecture
Maintainer: the gpuprof authors <gpuprof@example.org>
Depends: libc6 (>= 2.28)
Recommends: libdw1
Section: devel
Priority: optional
Description: finds out why a CUDA training loop is slow
 Records a CUDA program without an edit and says what to change first, and what it saves.
EOF
find "$deb" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group --build "$deb" "$out/gpuprof_${version}_$architecture.deb" >/dev/null
git archive --format=tar --prefix="gpuprof-$version/" HEAD | gzip -9n >"$out/gpuprof-$version.tar.gz"

part() { # NAME VERSION LICENSE: linked into the program, or beside it
    printf '    {"SPDXID": "SPDXRef-%s", "name": "%s", "versionInfo": "%s", "licenseDeclared": "%s", "downloadLocation": "NOASSERTION"}' "$1" "$1" "$2" "$3"
}
has() { # MACRO HEADER
    sed -n "s/^#define $1 *\"*\([0-9.]*\)\"*.*/\1/p" "build-wheel/include/$2" | head -n 1
}
cat >"$out/gpuprof-$version.spdx.json" <<EOF
{
  "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "gpuprof-$version",
  "documentNamespace": "https://example.org/spdx/gpuprof-$version-$(git rev-parse HEAD)",
  "creationInfo": {"created": "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)", "creators": ["Tool: scripts/release.sh"]},
  "packages": [
$(part gpuprof "$version" Apache-2.0),
$(part sqlite "$(has SQLITE_VERSION sqlite3.h)" blessing),
$(part zlib "$(has ZLIB_VERSION zlib.h)" Zlib),
$(part cjson "$(has CJSON_VERSION_MAJOR cjson/cJSON.h).$(has CJSON_VERSION_MINOR cjson/cJSON.h).$(has CJSON_VERSION_PATCH cjson/cJSON.h)" MIT)
  ]
}
EOF
(cd "$out" && sha256sum -- * >SHA256SUMS)
echo "release: $out"
cat "$out/SHA256SUMS"
cd "$top"
