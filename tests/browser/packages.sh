#!/bin/sh
# What the browser's tests need of npm, once for all of them. Where it cannot be had they are skipped, and say so.
cd "$(dirname "$0")" || exit 2
command -v npm >/dev/null || exit 0
exec 9<package.json && flock 9 # two ctests may come here at once (run.sh)
[ -d node_modules/playwright-core ] || npm ci --silent --no-audit --no-fund >/dev/null 2>&1 || rm -rf node_modules
