/* report: the page, one HTML file that needs no network. */
#include "cli/common/command.h"
#include "cli/load/confine.h"
#include "cli/load/confine.h"
#include "cli/results/export_to.h"
#include "cli/load/load.h"
#include "cli/load/newest.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"

#include <stdio.h>
#include <string.h>

static bool force;
static struct load_how how;
static const char *output;

static const struct option_spec options[] = {
    {"output", 'o', OPTION_STRING, &output, "FILE",
     "the page; default FILE.html beside the profile"},
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace it if it exists"},
    LOAD_STEP_KERNEL(how),
    LOAD_STEP_COUNT(how),
    LOAD_RANK(how),
    LOAD_REDACT(how),
    {0},
};

/* Default name: train.gpuprof -> train.html, in the same folder. */
static void default_name(const char *profile, char *out, size_t n)
{
    static const char *const known[] = {".gpuprof", ".json.gz", ".json", ".sqlite"};
    size_t keep = strlen(profile);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t suffix = strlen(known[i]);
        if (keep > suffix && strcmp(profile + keep - suffix, known[i]) == 0) {
            keep -= suffix;
            break;
        }
    }
    snprintf(out, n, "%.*s.html", (int)keep, profile);
}

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct loaded l;
    char name[4096];
    if (newest_if_none("report", &argc, &argv))
        return 2;
    if (!output) {
        default_name(argv[0], name, sizeof name);
        output = name;
    }
    if (export_named("html", output, &e))
        return usage_error("report: the page is HTML: use a name such as X.html (a browser prints "
                           "it as PDF; gpuprof export and analyze write other formats)");
    if (output_check(output, force, &e))
        return fail(&e);
    const char *const *paths = (const char *const *)argv;
    confine(&(struct confined){
        .inputs = paths, .count = (size_t)argc, .also = {load_history(NULL)}, .outputs = {output}});
    progress_begin("analysing", argv[0]);
    int rc = load_predicted(paths, (size_t)argc, &how, load_history(NULL), &l, &e);
    progress_end();
    if (rc)
        return fail(&e);
    return export_loaded(&l, paths, (size_t)argc, "html", output, force);
}

const struct command cmd_report = {
    .name = "report",
    .usage = "[-o X.html] [FILE|TRACE...]",
    .help = "write the page: one HTML file, no network needed",
    .details = "The page shows the verdict, the ranked findings with their evidence, every\n"
               "step, the timeline of the steps that matter, kernels, copies and the health of\n"
               "the profile. It contains the command line without secrets, the date, the models\n"
               "of GPU and processor, names of kernels, ranges and threads; no data, no\n"
               "weights, no source code. --redact removes more. With --private only you can\n"
               "read the file.\n\n"
               "  gpuprof report train.gpuprof -o train.html",
    .options = options,
    .run = run,
};
