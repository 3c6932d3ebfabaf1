#!/bin/sh
# make.sh GPUPROF: makes the pictures of docs/images, and keeps what they were made from.
set -eu
gpuprof=$(realpath "${1:?the gpuprof binary}")
cd "$(dirname "$0")/../.."
inputs=$(mktemp -d)
trap 'rm -rf "$inputs"' EXIT
[ -d tests/browser/node_modules/playwright-core ] || (cd tests/browser && npm ci --silent --no-audit --no-fund)
scripts/images/inputs.py "$gpuprof" . --into "$inputs"
GPUPROF=$gpuprof node scripts/images/shoot.mjs "$inputs" docs/images tests/browser
scripts/images/inputs.py "$gpuprof" . --write
