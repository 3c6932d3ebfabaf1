#!/bin/sh
# run.sh GPUPROF FILE: the tests of a file; 77 (skipped) without node, chromium or the packages (packages.sh).
set -u
GPUPROF=${1:?the gpuprof binary} file=${2:?the file of tests}
export GPUPROF
cd "$(dirname "$0")" || exit 2
skip() {
    echo "skipped: $1"
    exit 77
}
command -v node >/dev/null || skip "no node"
[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip "no chromium"
[ -d node_modules/playwright-core ] || skip "no network for npm ci"
# Chromium leaves settings, caches and what it had mapped when it was closed. Profiles are made in TMPDIR itself: of one below
# XDG_CONFIG_HOME it would keep the cache in XDG_CACHE_HOME, which outlives the profile.
TMPDIR=$(mktemp -d)
XDG_CONFIG_HOME=$TMPDIR/config
XDG_CACHE_HOME=$TMPDIR/cache
export TMPDIR XDG_CONFIG_HOME XDG_CACHE_HOME
trap 'rm -rf "$TMPDIR"' EXIT
node --test "$file"
