/* analyze: verdict and ranked findings of a profile or of traces. */
#include "analyzer/profile/store.h"
#include "cli/common/command.h"
#include "cli/load/confine.h"
#include "cli/results/export_to.h"
#include "cli/load/load.h"
#include "cli/load/newest.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/pager.h"
#include "cli/common/rule_named.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool json, markdown, force, no_predict, verbose;
static struct load_how how;
static const char *format, *rule_id, *output, *history;
static int top, rows;

static const struct option_spec options[] = {
    {"json", 0, OPTION_FLAG, &json, NULL, "machine-readable output; docs/json.md describes it"},
    {"markdown", 0, OPTION_FLAG, &markdown, NULL, "for a pull request or a job summary"},
    {"format", 0, OPTION_STRING, &format, "NAME", "text, json, markdown, html, ..."},
    {"rule", 0, OPTION_STRING, &rule_id, "ID", "show only this rule; `gpuprof rules` lists all"},
    {"verbose", 'v', OPTION_FLAG, &verbose, NULL,
     "everything: all findings with evidence, all rules"},
    {"top", 0, OPTION_INT, &top, "N", "at most N findings"},
    {"rows", 0, OPTION_INT, &rows, "N", "with --json: N rows behind each number"},
    {"no-predict", 0, OPTION_FLAG, &no_predict, NULL, "upper bounds, without replaying the steps"},
    {"history", 0, OPTION_STRING, &history, "FILE", "use past trials to set the intervals"},
    {"output", 'o', OPTION_STRING, &output, "FILE", "write there instead of stdout"},
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists"},
    LOAD_STEP_KERNEL(how),
    LOAD_STEP_COUNT(how),
    LOAD_RANK(how),
    LOAD_REDACT(how),
    {0},
};

/* On a terminal: the answer on one screen, or with --verbose all of it in a pager. A pipe gets the
 * whole text. */
static enum detail detail_wanted(bool terminal)
{
    if (verbose)
        return DETAIL_ALL;
    return terminal && !rule_id && !top ? DETAIL_BRIEF : DETAIL_USUAL;
}

static int check_rows(const char *format_name, int argc, char **argv)
{
    if (!rows)
        return 0;
    if (rows < 0 || strcmp(format_name, "json") != 0 || how.redact)
        return usage_error(
            "analyze: --rows needs a number and --json, and no --redact: rows hold names");
    if (argc != 1 || store_is_profile(argv[0]) != 1)
        return usage_error(
            "analyze: --rows needs one profile; `gpuprof import` makes one of a trace");
    return 0;
}

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct loaded l;
    struct pager pager = {0};
    if (rule_id && !rule_named(rule_id))
        return 2;
    if (top < 0)
        return usage_error("analyze: --top needs a number of findings, at least 1");
    if (newest_if_none("analyze", &argc, &argv))
        return 2;
    const char *name = format ? format : json ? "json" : markdown ? "markdown" : "term";
    if (export_named(name, output, &e) || output_check(output, force, &e))
        return fail(&e);
    const char *const *paths = (const char *const *)argv;
    bool terminal = !output && !strcmp(name, "term") && isatty(STDOUT_FILENO);
    enum detail detail = detail_wanted(terminal);
    if (terminal && detail != DETAIL_BRIEF)
        pager_open(&pager); /* before confine(), which allows no program to be started */
    confine(&(struct confined){.inputs = paths,
                               .count = (size_t)argc,
                               .also = {load_history(history)},
                               .outputs = {output}});
    if (check_rows(name, argc, argv))
        return 2;
    progress_begin("analysing", argv[0]);
    int rc = no_predict ? load_analysis(paths, (size_t)argc, &how, &l, &e)
                        : load_predicted(paths, (size_t)argc, &how, load_history(history), &l, &e);
    progress_end();
    if (rc)
        return pager_close(&pager), fail(&e);
    struct exported what = {.analysis = l.analysis};
    const struct exporter *x = export_format(name, &what, &e);
    struct export_options o = load_options(&l, argv[0]);
    o.top = top;
    o.detail = detail;
    o.rule = rule_id;
    o.rows = rows;
    o.rows_of = rows ? argv[0] : NULL;
    int status = !x || export_to(x, &what, &o, output, force, &e) ? fail(&e) : 0;
    pager_close(&pager);
    load_release(&l);
    return status;
}

const struct command cmd_analyze = {
    .name = "analyze",
    .usage = "[options] [FILE|TRACE...]",
    .help = "print the verdict and the ranked findings of a profile or a trace",
    .details = "Without a file it takes the newest profile here.\n"
               "Reads a profile of `gpuprof run`, a Kineto trace (.json, .json.gz) or an nsys\n"
               "export (.sqlite). Several files are the ranks of one run. A terminal shows one\n"
               "screen of the answer; -v opens the whole answer in a pager. A pipe gets the\n"
               "whole text.\n\n"
               "  gpuprof analyze train.gpuprof\n"
               "  gpuprof analyze -v worker0.pt.trace.json.gz\n"
               "  gpuprof analyze --json trace.json.gz | jq .findings[0]\n"
               "  gpuprof analyze --rule pin-memory train.gpuprof",
    .options = options,
    .run = run,
};
