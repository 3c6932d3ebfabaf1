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
command -v node >/dev/null || skip "node is not installed"
[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip "chromium is not installed"
[ -d node_modules/playwright-core ] || npm ci --silent --no-audit --no-fund >/dev/null 2>&1 ||
    skip "npm ci failed: no network?"
exec node --test --test-concurrency=1 .
