/* import: turns traces of other tools into a profile. */
#include "cli/common/command.h"
#include "cli/load/confine.h"
#include "cli/common/progress.h"
#include "cli/import/import_left.h"
#include "cli/load/load.h"
#include "cli/results/results.h"
#include "cli/run/run.h"

#include "analyzer/collector/collect.h"
#include "analyzer/import/import.h"
#include "analyzer/profile/redact.h"
#include "analyzer/profile/store.h"

#include <stdio.h>

static bool force;
static struct load_how how;
static const char *output;

static const struct option_spec options[] = {
    {"output", 'o', OPTION_STRING, &output, "FILE", "the profile to write"},
    LOAD_REDACT(how),
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists"},
    {0},
};

/* spools: a folder that a killed run left; NULL: import the files. */
static int write_profile(const char *spools, const struct import_files *files, const char *left_out)
{
    struct err e = ERR_INIT;
    struct store *s = store_create(output, force, &e);
    if (!s)
        return fail(&e);
    struct redact *r = redact_open(store_sink(s), how.redact, &e);
    if (!r) {
        store_close(s);
        return fail(&e);
    }
    struct sink sink = redact_sink(r);
    int status = 0;
    int rc = spools ? import_left(spools, sink, &e)
                    : import_paths((const char *const *)files->at, files->n, &sink, &e);
    if (rc == 0 && left_out)
        rc = load_note_left_out(&sink, left_out, &e);
    if (rc < 0 || store_finish(s, &e))
        status = fail(&e);
    else
        say("wrote %s: %lld rows%s%s", output, (long long)store_rows(s), left_out ? "; " : "",
            left_out ? left_out : "");
    redact_close(r);
    store_close(s);
    return status;
}

/* Refuses while a process still records into the folder: its later records would be lost when the
 * folder is removed. */
static int check_ended(const char *spools, struct err *e)
{
    int64_t pid = collect_live(spools);
    return pid ? err_set(e,
                         "%s: process %lld still records into this folder; import it when that has "
                         "ended",
                         spools, (long long)pid)
               : 0;
}

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    if (argc < 1)
        return usage_error("import: name a trace: gpuprof import TRACE -o X.gpuprof");
    if (!output)
        return usage_error("import: say where to: -o X.gpuprof");
    bool left = argc == 1 && run_folder_holds_records(argv[0]);
    /* The folder of a killed run is removed at the end, which confine() would not allow. */
    if (!left)
        confine(&(struct confined){
            .inputs = (const char *const *)argv, .count = (size_t)argc, .outputs = {output}});
    struct import_files files = {0};
    struct arena arena = ARENA_INIT;
    const char *left_out = NULL;
    int status = 0;
    if (left && (run_folder_take(argv[0], &e) < 0 || check_ended(argv[0], &e) < 0))
        return fail(&e);
    progress_begin("importing", argv[0]);
    if (!left && (import_list((const char *const *)argv, (size_t)argc, &files, &e) < 0 ||
                  load_sort_out(&files, &how, &arena, &left_out, &e) < 0))
        status = fail(&e);
    else
        status = write_profile(left ? argv[0] : NULL, &files, left_out);
    import_list_release(&files);
    arena_release(&arena);
    if (status == 0 && left)
        run_folder_remove_recording(argv[0]);
    struct results_options results = {.quiet = true, .how = how};
    progress_begin("analysing", output);
    /* Adds steps and findings, for queries. */
    if (status == 0 && results_make(output, &results, &e))
        say("cannot analyse %s: %s", output, e.text);
    progress_end();
    return status;
}

const struct command cmd_import = {
    .name = "import",
    .usage = "TRACE... -o FILE",
    .help = "turn traces of other tools into a profile",
    .details = "Reads Kineto traces (.json, .json.gz) and nsys exports (.sqlite). A folder, or\n"
               "several files, become the ranks of one profile. The other commands also read\n"
               "traces directly. From a folder .gpuprof-XXXXXX of a killed `gpuprof run` it\n"
               "makes a profile of all that was recorded, and removes the folder.\n\n"
               "  gpuprof import trace.json.gz -o trace.gpuprof",
    .options = options,
    .run = run,
};
