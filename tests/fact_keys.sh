#!/bin/sh
# The keys of facts (wire/fact_keys.h): every key is told by the hook and read by the analyzer, or shown by the page alone;
# nobody writes one as a bare string. `fact_keys.sh selftest` plants a breach of each kind and wants it to be found.
cd "$(dirname "$0")/.." || exit 2

# Facts that no rule and no report reads: the page lists them under Environment, for people who compare two runs.
shown_alone() {
    cat <<'FACTS'
TORCH_ATTENTION
TORCH_BATCH
TORCH_CUDA_GRAPH
TORCH_CUDNN_DETERMINISTIC
TORCH_CUDNN_PRECISION
TORCH_CUDNN_ALLOW_TF32
TORCH_MATMUL_PRECISION
TORCH_MATMUL_ALLOW_TF32
TORCH_PARAMETERS_UNUSED
TORCH_DETERMINISTIC_ALGORITHMS
TORCH_MODULE_RANGES
FACTS
}

check() { # check TREE: prints what is wrong; status 1 when something is
    (
        cd "$1" || exit 2
        bad=0
        complain() { echo "$*"; bad=1; }
        keys=$(sed -nE 's/^#define FACT_([A-Z0-9_]+) +"([^"]*)"$/\1 \2/p' wire/fact_keys.h)
        [ -n "$keys" ] || complain "no keys in wire/fact_keys.h"
        told=$({ cat agent/python/gpuprof_*.py | grep -oE 'facts("\])?\.[A-Z0-9_]+' | sed 's/.*\.//'
            cat agent/*/*.c | grep -oE 'FACT_[A-Z0-9_]+' | sed 's/FACT_//'
            echo "$keys" | while read -r name key; do # a header of users' programs includes no other
                grep -q "\"$key\"" agent/gpuprof.h && echo "$name"
            done; } | sort -u)
        used=$(cat $(find analyzer report cli -name '*.c') | grep -oE '\bFACT_[A-Z0-9_]+' | sed 's/FACT_//' | sort -u)
        for name in $(echo "$keys" | sed 's/ .*//'); do
            echo "$told" | grep -qx "$name" || complain "FACT_$name: the hook does not tell it"
            if shown_alone | grep -qx "$name"; then
                echo "$used" | grep -qx "$name" && complain "FACT_$name: is read, so it is not shown alone"
            else
                echo "$used" | grep -qx "$name" || complain "FACT_$name: nothing reads it"
            fi
        done
        for name in $told; do
            echo "$keys" | grep -q "^$name " || complain "facts.$name: not in wire/fact_keys.h"
        done
        grep -nE '\bfact\(f?"[a-z]' agent/python/*.py && complain "  (a key as a bare string: write it as facts.NAME)"
        whole=$(echo "$keys" | grep -v '^LOADER_' | sed 's/.* //; s/\./\\./g' | paste -sd '|' -)
        find agent analyzer report cli -name '*.c' |
            xargs grep -nE "(timeline_meta|gpuprof_hook_fact|about_meta(_number)?)\([^\"]*\"($whole)[\".]" &&
            complain "  (a key as a bare string: write it as FACT_NAME)"
        exit $bad
    )
}

selftest() {
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    failed=0
    plant() { # plant FILE TEXT WHAT
        rm -rf "$tree"/*
        cp -r wire agent analyzer report cli "$tree"
        echo "$2" >>"$tree/$1"
        check "$tree" >/dev/null && { echo "not found: $3"; failed=1; }
    }
    plant wire/fact_keys.h '#define FACT_TORCH_PLANTED "torch.planted"' "a key that nobody tells and reads"
    plant agent/python/gpuprof_train.py 'fact(facts.TORCH_PLANTED, 1)' "a fact that is in no list"
    plant agent/python/gpuprof_train.py 'fact("torch.planted", 1)' "a bare key in the hook"
    plant analyzer/queries/query.c 'const char *x = timeline_meta(t, "torch.ddp");' "a bare key in the analyzer"
    plant analyzer/queries/query.c 'const char *x = FACT_TORCH_BATCH;' "a fact that is read and listed as shown alone"
    sed -i 's/FACT_TORCH_DEEPSPEED/FACT_TORCH_DDP/' $(grep -rl FACT_TORCH_DEEPSPEED "$tree"/analyzer)
    check "$tree" | grep -q 'FACT_TORCH_DEEPSPEED: nothing reads it' || { echo "not found: a fact that nobody reads"; failed=1; }
    [ $failed = 0 ] && echo "fact_keys: every planted breach was found"
    return $failed
}

if [ "${1:-}" = selftest ]; then
    selftest
else
    check . && echo "fact_keys: ok"
fi
