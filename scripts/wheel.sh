#!/bin/sh
# wheel.sh OUT: builds gpuprof for C libraries from glibc 2.28 on and packs it into a Python wheel in OUT (scripts/wheel.py).
# The compiler is zig's (the wheel `ziglang`, 100 MB, into build-zig/, fetched once): it links against any glibc's symbols,
# where a distribution's own links against the newest. SQLite and zlib are linked statically, as in the archive.
set -eu
cd "$(dirname "$0")/.."
out=$1
machine=$(uname -m)
build=$PWD/build-wheel
scripts/setup.sh build
python3 -m pip --version >/dev/null 2>&1 || { echo "wheel: needs pip (package python3-pip)" >&2; exit 1; }
[ -e build-zig/ziglang ] || scripts/progress.sh "wheel: fetching the compiler" build-zig.log \
    python3 -m pip install --disable-pip-version-check --no-deps --target build-zig ziglang==0.17.1
mkdir -p "$build/include/cjson"
for header in zlib.h zconf.h sqlite3.h dwarf.h libelf.h gelf.h; do # alone: the rest of /usr/include is of another glibc
    for place in "/usr/include/$machine-linux-gnu" /usr/include; do
        [ ! -e "$place/$header" ] || cp "$place/$header" "$build/include/"
    done
done
cp /usr/include/cjson/*.h "$build/include/cjson/"
[ ! -d /usr/include/elfutils ] || cp -r /usr/include/elfutils "$build/include/"
for tool in cc ar ranlib; do
    printf '#!/bin/sh\nPYTHONPATH=%s exec python3 -m ziglang %s %s "$@"\n' "$PWD/build-zig" $tool \
        "$([ $tool != cc ] || echo "-target $machine-linux-gnu.2.28")" >"$build/$tool"
    chmod +x "$build/$tool"
done
library() { # the static or shared library NAME
    for place in "/usr/lib/$machine-linux-gnu" /usr/lib64 /usr/lib; do
        [ ! -e "$place/$1" ] || { echo "$place/$1"; return; }
    done
    echo "wheel: $1 is missing" >&2
    exit 1
}
cmake -S . -B "$build" -DCMAKE_C_COMPILER="$build/cc" -DCMAKE_AR="$build/ar" -DCMAKE_RANLIB="$build/ranlib" -DCMAKE_BUILD_TYPE=Release \
    -DGPUPROF_PORTABLE=ON -DGPUPROF_NEED_RECORDER=ON -DGPUPROF_WERROR=OFF -DVGPU_WERROR=OFF -DBUILD_TESTING=OFF -DGPUPROF_MPI=OFF \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_C_FLAGS="-fno-sanitize=undefined -ffile-prefix-map=$PWD=. -isystem $build/include" \
    -DZLIB_LIBRARY="$(library libz.a)" -DZLIB_INCLUDE_DIR="$build/include" \
    -DSQLite3_LIBRARY="$(library libsqlite3.a)" -DSQLite3_INCLUDE_DIR="$build/include" \
    -DCJSON_LIBRARY="$(library libcjson.so)" -DCJSON_INCLUDE="$build/include" -DLIBDW_INCLUDE="$build/include" \
    >"$build/configure.log" 2>&1 || { tail -n 20 "$build/configure.log" >&2; exit 1; }
scripts/progress.sh "wheel: building" "$build/build.log" \
    cmake --build "$build" -j "$(nproc)" --target gpuprof gpuprof_agent vgpu vgpu_calls manuals rules_page completions
scripts/wheel.py "$build" "$out"
