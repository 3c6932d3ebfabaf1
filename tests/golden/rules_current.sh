#!/bin/sh
# docs/rules.md is what `gpuprof rules --markdown` prints. Usage: rules_current.sh GPUPROF SOURCE
"$1" rules --markdown | diff - "$2/docs/rules.md" >/dev/null && exit 0
echo "docs/rules.md is not current: gpuprof rules --markdown > docs/rules.md"
exit 1
