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
# Chromium leaves settings, caches and what it had mapped when it was closed. Profiles are made in TMPDIR itself: of one below
# XDG_CONFIG_HOME it would keep the cache in XDG_CACHE_HOME, which outlives the profile.
TMPDIR=$(mktemp -d)
XDG_CONFIG_HOME=$TMPDIR/config
XDG_CACHE_HOME=$TMPDIR/cache
export TMPDIR XDG_CONFIG_HOME XDG_CACHE_HOME
trap 'rm -rf "$TMPDIR"' EXIT
node --test --test-concurrency=1 .
