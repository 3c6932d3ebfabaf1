/* diff: what changed between two profiles. It does not judge whether that is good enough: gate
 * does. */
#include "cli/common/command.h"
#include "cli/load/confine.h"
#include "cli/load/compare_two.h"
#include "cli/results/export_to.h"
#include "cli/common/output.h"

#include <string.h>

static bool json, markdown, force;
static struct load_how how;
static const char *format, *output, *per;
static int top;

static const struct option_spec options[] = {
    {"json", 0, OPTION_FLAG, &json, NULL, "machine-readable output; docs/json.md describes it"},
    {"markdown", 0, OPTION_FLAG, &markdown, NULL, "for a pull request or a job summary"},
    {"format", 0, OPTION_STRING, &format, "NAME", "text, json or markdown"},
    {"per", 0, OPTION_STRING, &per, "sample", "compare the time of a sample, not of a step"},
    {"top", 0, OPTION_INT, &top, "N", "at most N changes"},
    {"output", 'o', OPTION_STRING, &output, "FILE", "write there instead of stdout"},
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists"},
    LOAD_REDACT(how),
    {0},
};

static const char *format_wanted(void)
{
    return format ? format : json ? "json" : markdown ? "markdown" : "term";
}

static int write_diff(const struct two *t, const char *base, const char *now, struct err *e)
{
    struct diff *d = diff_find(t->base.analysis, t->now.analysis, per != NULL, e);
    if (!d)
        return -1;
    struct exported what = {.diff = d};
    const struct exporter *x = export_format(format_wanted(), &what, e);
    struct export_options o = two_options(t, base, now);
    o.top = top;
    int rc = x ? export_to(x, &what, &o, output, force, e) : -1;
    diff_free(d);
    return rc;
}

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct two t;
    if (per && strcmp(per, "sample") != 0)
        return usage_error("diff: --per accepts only sample, not '%s'", per);
    if (argc != 2)
        return usage_error("diff: name two profiles: gpuprof diff BASE NEW");
    if (export_named(format_wanted(), output, &e) || output_check(output, force, &e))
        return fail(&e);
    confine(&(struct confined){
        .inputs = (const char *const *)argv, .count = (size_t)argc, .outputs = {output}});
    if (two_load(&t, argv[0], argv[1], &how, &e))
        return fail(&e);
    int status = write_diff(&t, argv[0], argv[1], &e) ? fail(&e) : 0;
    two_release(&t);
    return status;
}

const struct command cmd_diff = {
    .name = "diff",
    .usage = "[options] BASE NEW",
    .help = "show what changed between two profiles, and why",
    .details = "Compares the steps of both (median and average, each with a bootstrap interval),\n"
               "then lists the findings, parts of the step and kernels whose time changed. Exits\n"
               "with 0 whether or not it finds a difference.\n\n"
               "  gpuprof diff before.gpuprof after.gpuprof",
    .options = options,
    .run = run,
};
