#!/bin/sh
# What `make install` puts in place works from there: the program finds its agent, the Python hook and the virtual GPU, has
# a manual page for each command, and other projects find the header.
# usage: install.sh BUILD
build=$(realpath "$1") here=$(realpath "$(dirname "$0")")
top=$(mktemp -d) || exit 2
trap 'rm -rf "$top"' EXIT
bad=0
fail() {
    echo "FAIL $1"
    bad=1
}
cmake --install "$build" --prefix "$top/usr" >"$top/log" 2>&1 || { cat "$top/log"; exit 1; }
unset GPUPROF_AGENT
PATH=$top/usr/bin:$PATH
cd "$top" || exit 2

gpuprof doctor >said 2>&1
gpuprof --version >/dev/null || fail "--version"
for command in $(gpuprof --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do
    [ -e "$top/usr/share/man/man1/gpuprof-$command.1" ] || fail "no manual page for $command"
done
{ gpuprof --help; for command in $(gpuprof --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do gpuprof "$command" --help; done; } |
    grep -o 'docs/[a-z]*\.md' | sort -u >named
for page in $(cat named); do
    find "$top/usr/share/doc" -path "*/$page" | grep -q . || fail "--help names $page, which is not installed"
done
rules=$(find "$top/usr/share/doc" -path "*/docs/rules.md")
for rule in $(gpuprof rules | sed -n '/^$/q; s/ .*//p'); do
    grep -q "^## $rule$" "$rules" || fail "the page of the rules lacks $rule"
done
[ "$(wc -l <named)" -ge 3 ] || fail "--help names no pages: $(cat named)"
for file in fix/fix.py mcp/server.py skills/gpuprof/SKILL.md share/gpuprof/json.schema.json ci/gpuprof-comment.sh; do
    [ -n "$(find "$top/usr" -path "*/$file")" ] || fail "$file is not installed"
done
case $(gpuprof mcp </dev/null 2>&1) in "" | *"lacks version 2 of the MCP SDK"*) ;; *) fail "mcp does not find its server" ;; esac
if [ -e "$build/lib/libgpuprof_agent.so" ]; then
    agent=$(find "$top/usr" -name libgpuprof_agent.so)
    grep -qF "agent: $(realpath "$agent")" said || fail "doctor does not find the agent: $(cat said)"
    [ -e "$(dirname "$agent")/python/sitecustomize.py" ] || fail "the Python hook is not beside the agent"
    newest=$(objdump -p "$agent" | sed -n 's/.* GLIBC_2\.\([0-9]*\).*/\1/p' | sort -n | tail -n 1)
    [ "$newest" -le 28 ] || fail "the agent needs glibc 2.$newest: a new version of a function that old ones have, too (old_names.h)"
    gpuprof run -o x.gpuprof -- true >out 2>&1 || fail "run: $(cat out)"
fi
if [ -d "$build/lib/vgpu" ]; then
    grep -q "virtual GPU: .*h200" said || fail "doctor does not find the virtual GPU: $(cat said)"
    gpuprof run --device virtual:h200 -o y.gpuprof -- true >out 2>&1 || fail "virtual GPU: $(cat out)"
fi
if [ -e "$build/bin/gpuprof-mpi" ]; then # one process, without a launcher
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 gpuprof-mpi --version | grep -q "^gpuprof-mpi [0-9]" || fail "gpuprof-mpi"
    [ -e "$top/usr/share/man/man1/gpuprof-mpi.1" ] || fail "no manual page for gpuprof-mpi"
fi
flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$top/usr" -name gpuprof.pc)") pkg-config --cflags gpuprof) || fail "pkg-config"
# shellcheck disable=SC2086 # several flags
printf '#include <gpuprof.h>\nint main(void) { return 0; }\n' | cc $flags -fsyntax-only -x c - || fail "gpuprof.h"
if grep -q '^GPUPROF_PORTABLE:BOOL=ON' "$build/CMakeCache.txt"; then # needs nothing that the machine may lack
    ldd "$top/usr/bin/gpuprof" | grep -v -e linux-vdso -e ld-linux -e 'lib[cm]\.so' -e "=> $top/" >foreign && fail "it needs $(cat foreign)"
fi
# an archive, unpacked by somebody who is not root, under another name
SOURCE_DATE_EPOCH=1700000000 "$here/../scripts/pack.py" "$top/pack" archive "$build" >log 2>&1 || { cat log; fail "pack.py"; }
mkdir "$top/elsewhere" && tar xzf "$top"/pack/*.tar.gz -C "$top/elsewhere" && chmod -R a+rX "$top"
program=$(find "$top/elsewhere" -path '*/bin/gpuprof')
[ -x "$program" ] && [ ! -e "$program-mpi" ] || fail "a package carries gpuprof-mpi, which needs MPI"
mkdir "$top/home" && chmod 777 "$top/home" && cd "$top/home" || exit 2
plain=
[ "$(id -u)" != 0 ] || plain="setpriv --reuid=65534 --regid=65534 --clear-groups"
# shellcheck disable=SC2086 # several words
$plain env HOME="$top/home" "$program" doctor >doctor 2>&1
[ ! -e "$build/lib/libgpuprof_agent.so" ] || grep -q '^ok  *agent:' doctor || fail "from an archive: $(cat doctor)"
if [ -e "$build/lib/libgpuprof_agent.so" ]; then
    # shellcheck disable=SC2086
    $plain env HOME="$top/home" "$program" run -o x.gpuprof -- true >out 2>&1 || fail "run from an archive: $(cat out)"
    # shellcheck disable=SC2086
    $plain env HOME="$top/home" "$program" analyze x.gpuprof >out 2>&1 || fail "analyze from an archive: $(cat out)"
fi
[ $bad = 0 ] && echo "install: ok"
exit $bad
