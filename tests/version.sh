#!/bin/sh
# version.sh BUILD: the version stands in CMakeLists.txt; the program, the newest entry of the changelog and the files that the
# documents name have it.
cd "$(dirname "$0")/.." || exit 2
version=$(sed -n 's/^project(gpuprof VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
failed=0
complain() {
    echo "version: $*"
    failed=1
}
[ -n "$version" ] || complain "none in CMakeLists.txt"
"$1/bin/gpuprof" --version | grep -q "^gpuprof $version " || complain "$("$1/bin/gpuprof" --version) is not $version"
grep -m 1 '^## ' CHANGELOG.md | grep -q "^## $version " || complain "CHANGELOG.md begins with $(grep -m 1 '^## ' CHANGELOG.md)"
others=$(grep -rnoE 'gpuprof[-_]([0-9]+\.){2}[0-9]+' README.md docs vgpu/docs --include=*.md | grep -vE "[-_]$version\$")
[ -z "$others" ] || complain "other versions: $others"
grep -rqE "gpuprof[-_]$version" docs --include=*.md || complain "no document names a file of it"
[ "$failed" = 0 ] && echo "version: ok, $version"
exit "$failed"
