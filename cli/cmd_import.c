/* import: traces of other tools into a profile. */
#include "cli/command.h"
#include "cli/load.h"
#include "cli/run.h"

#include "analyzer/import/import.h"
#include "analyzer/store/redact.h"
#include "analyzer/store/store.h"

static bool force;
static const char *output;

static const struct option_spec options[] = {
    {"output", 'o', OPTION_STRING, &output, "FILE", "the profile to make"},
    LOAD_REDACT,
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists"},
    {0},
};

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    if (argc < 1)
        return usage_error("import: name a trace: gpuprof import TRACE -o X.gpuprof");
    if (!output)
        return usage_error("import: say where to: -o X.gpuprof");
    struct store *s = store_create(output, force, &e);
    if (!s)
        return fail(&e);
    struct redact *r = redact_open(store_sink(s), load_redact, &e);
    if (!r) {
        store_close(s);
        return fail(&e);
    }
    struct sink sink = redact_sink(r);
    int status = 0;
    if (import_paths((const char *const *)argv, (size_t)argc, &sink, &e) || store_finish(s, &e))
        status = fail(&e);
    else
        say("wrote %s: %lld rows", output, (long long)store_rows(s));
    redact_close(r);
    store_close(s);
    if (status == 0 && results_make(output, &(struct results_options){.quiet = true},
                                    &e)) /* steps and findings, for queries */
        say("%s could not be analysed: %s", output, e.text);
    return status;
}

const struct command cmd_import = {
    .name = "import",
    .usage = "TRACE... -o FILE",
    .help = "turn traces of other tools into a profile",
    .details =
        "Reads Kineto traces (.json, .json.gz) and nsys exports (.sqlite). A folder, or several\n"
        "files, become the ranks of one profile. The other commands read traces directly too.\n\n"
        "  gpuprof import trace.json.gz -o trace.gpuprof",
    .options = options,
    .run = run,
};
