/* export: the timeline for other viewers. */
#include "cli/common/command.h"
#include "cli/load/confine.h"
#include "cli/load/confine.h"
#include "cli/results/export_tables.h"
#include "cli/results/export_to.h"
#include "cli/load/load.h"
#include "cli/load/newest.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"

#include <stdio.h>
#include <string.h>

static bool force;
static struct load_how how;
static const char *output, *format;

static const struct option_spec options[] = {
    {"output", 'o', OPTION_STRING, &output, "FILE",
     "the trace; .gz: gzipped; - is stdout; csv: DIR/"},
    {"format", 0, OPTION_STRING, &format, "NAME",
     "chrome (default), perfetto, speedscope, csv, ..."},
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists"},
    LOAD_STEP_KERNEL(how),
    LOAD_STEP_COUNT(how),
    LOAD_RANK(how),
    LOAD_REDACT(how),
    {0},
};

/* Checked first, so that a large trace is not read in vain. */
static bool format_known(void)
{
    const struct exporter *x = exporter_find(format);
    return strcmp(format, "csv") == 0 || strcmp(format, "text") == 0 || (x && x->analysis);
}

static int unknown_format(void)
{
    char list[256] = "csv";
    for (size_t i = 0; i < exporter_count; i++)
        if (exporters[i]->analysis)
            snprintf(list + strlen(list), sizeof list - strlen(list), ", %s",
                     export_name(exporters[i]));
    return usage_error("export: unknown format '%s'; the formats are %s", format, list);
}

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct loaded l;
    if (!format)
        format = export_by_suffix(output, "chrome");
    if (!format_known())
        return unknown_format();
    if (!output)
        return usage_error(
            "export: name the output: -o X.json, X.json.gz or X.pftrace (- is stdout)");
    if (newest_if_none("export", &argc, &argv))
        return 2;
    bool tables = strcmp(format, "csv") == 0;
    if (!tables && (export_named(format, output, &e) || output_check(output, force, &e)))
        return fail(&e);
    const char *const *paths = (const char *const *)argv;
    confine(&(struct confined){
        .inputs = paths, .count = (size_t)argc, .also = {load_history(NULL)}, .outputs = {output}});
    if (tables)
        return export_tables(paths, (size_t)argc, &how, output, force);
    /* a trace contains the same predictions as the page */
    progress_begin("analysing", argv[0]);
    int rc = load_predicted(paths, (size_t)argc, &how, load_history(NULL), &l, &e);
    progress_end();
    if (rc)
        return fail(&e);
    return export_loaded(&l, paths, (size_t)argc, format, output, force);
}

const struct command cmd_export = {
    .name = "export",
    .usage = "[--format NAME] [FILE|TRACE...] -o X.json[.gz]|X.pftrace",
    .help = "write a trace for Perfetto and others, or tables for a database",
    .details = "  gpuprof export train.gpuprof -o train.pftrace  for ui.perfetto.dev\n"
               "  gpuprof export train.gpuprof -o train.json.gz  for other viewers and tools\n"
               "  gpuprof export --format speedscope train.gpuprof -o train.speedscope.json\n"
               "  gpuprof export --format csv runs/*.gpuprof -o fleet/   docs/fleet.md\n\n"
               "Several ranks go into one file. For HTA and TraceLens export one rank each, and\n"
               "set HTA_DISABLE_NS_ROUNDING=1, or HTA rounds short kernels to nothing.",
    .options = options,
    .run = run,
};
