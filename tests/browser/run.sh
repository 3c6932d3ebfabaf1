#!/bin/sh
# run.sh GPUPROF: the browser tests; 77 (skipped) without node, chromium or the packages.
set -u
GPUPROF=${1:?the gpuprof binary}
export GPUPROF
cd "$(dirname "$0")" || exit 2
skip() {
    echo "skipped: $1"
    exit 77
}
command -v node >/dev/null || skip "no node"
[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip "no chromium"
[ -d node_modules/playwright-core ] || npm ci --silent --no-audit --no-fund >/dev/null 2>&1 ||
    skip "no network for npm ci"
TMPDIR=$(mktemp -d) # Chromium leaves settings there, and what it had mapped when it was closed
XDG_CONFIG_HOME=$TMPDIR
export TMPDIR XDG_CONFIG_HOME
trap 'rm -rf "$TMPDIR"' EXIT
node --test --test-concurrency=1 .
