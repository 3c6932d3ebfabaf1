#!/bin/bash
# ci.sh BUILD: what the hook records and obeys in programs of PyTorch 2 from the package index, where it can be had (training.py,
# compiled.py; what stays the same is the matter of the sample of situations), `gpuprof mcp` by its SDK, and what
# gpuprof prints as JSON by its schema.
# Closes with "N passed, N failed".
set -uo pipefail
build=$(cd "$1" && pwd) || exit 2
here=$(dirname "$0")
[ -e "$build/lib/libgpuprof_agent.so" ] && frameworks=$("$here/../transparency/frameworks.sh" "$build/frameworks") || {
    echo "python: no agent, or no PyTorch from the package index, so the hook's test is left out"
    echo "0 passed, 0 failed"
    exit 0
}
export GPUPROF_TEST_PYTHON=${frameworks#*=}
(
    bad=0
    timeout 400 python3 "$here/training.py" "$build" seen || bad=1
    timeout 150 python3 "$here/compiled.py" "$build" || bad=1
    export GPUPROF_TEST_MCP=$GPUPROF_TEST_PYTHON
    timeout 200 python3 "$here/../e2e/mcp.py" "$build" || bad=1
    timeout 200 python3 "$here/../golden/schema.py" "$build" none 1 || bad=1
    exit $bad
) | grep -v '^ok ' | awk '/^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3; next } { print } END { print p + 0 " passed, " f + 0 " failed" }'
