/* lint-trace: checks that viewers can read a Chrome trace. */
#include "analyzer/profile/store.h"
#include "cli/common/command.h"
#include "cli/load/confine.h"
#include "cli/lint/lint.h"

#include <stdio.h>
#include <sys/stat.h>

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    if (argc != 1)
        return usage_error("lint-trace: name one trace: gpuprof lint-trace X.json");
    struct stat st;
    confine(&(struct confined){.inputs = (const char *const *)argv, .count = 1});
    if (stat(argv[0], &st) == 0 && S_ISDIR(st.st_mode))
        return usage_error("lint-trace: %s is a folder; name one trace", argv[0]);
    if (store_is_profile(argv[0]) == 1)
        return usage_error("lint-trace: %s is a profile; `gpuprof export %s -o X.json.gz` makes a "
                           "trace of it",
                           argv[0], argv[0]);
    struct lint l = {0};
    if (lint_read(&l, argv[0], &e)) {
        lint_release(&l);
        return fail(&e);
    }
    lint_check(&l);
    int broken = 0;
    for (int i = 0; i < LINT_RULES; i++) {
        if (l.count[i] == 0)
            continue;
        broken++;
        printf("%s  %s\n    %llu time%s, first at %s\n", lint_name[i], lint_text[i],
               (unsigned long long)l.count[i], l.count[i] == 1 ? "" : "s", l.example[i]);
    }
    printf("%s: %llu events, %zu slices, %zu flow ends: %s\n", argv[0],
           (unsigned long long)l.events, l.slices.n, l.flows.n,
           broken ? "some readers will fail" : "it meets all rules");
    lint_release(&l);
    return broken ? 1 : 0;
}

const struct command cmd_lint_trace = {
    .name = "lint-trace",
    .usage = "X.json[.gz]",
    .help = "check that viewers can read a Chrome trace",
    .details = "Checks what Perfetto, chrome://tracing, speedscope, HTA and TraceLens need\n"
               "(docs/trace.md). Exits with 1 if the trace breaks a rule, with 2 if gpuprof\n"
               "cannot read it.",
    .run = run,
};
