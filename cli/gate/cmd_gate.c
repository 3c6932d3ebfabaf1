/* gate: decides whether this run may pass in CI. */
#include "cli/common/command.h"
#include "cli/load/confine.h"
#include "cli/load/compare_two.h"
#include "cli/results/export_to.h"
#include "cli/common/output.h"
#include "report/words/comparison.h"
#include "cli/gate/history.h"
#include "cli/gate/mend.h"

#include "analyzer/profile/redact.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool json, markdown, force;
static struct load_how how;
static const char *format, *output, *junit, *budget, *per, *past, *source;
static struct mender mender;
static int runs = 10;
/* More than two runs of the same program differ by, less than a slowdown that hurts. */
static double max_regress = 3;

static const struct option_spec options[] = {
    {"max-regress", 0, OPTION_DOUBLE, &max_regress, "PCT",
     "allowed slowdown of a step in percent (default 3)"},
    {"budget", 0, OPTION_STRING, &budget, "FILE",
     "read limits from an ini file, with or without BASE"},
    {"history", 0, OPTION_STRING, &past, "DIR",
     "compare with the last good runs of its work there"},
    {"runs", 0, OPTION_INT, &runs, "N", "with --history: so many of them (default 10)"},
    {"per", 0, OPTION_STRING, &per, "sample", "compare the time of a sample, not of a step"},
    {"junit", 0, OPTION_STRING, &junit, "FILE", "also write the checks as JUnit XML"},
    {"json", 0, OPTION_FLAG, &json, NULL, "machine-readable output; docs/json.md describes it"},
    {"markdown", 0, OPTION_FLAG, &markdown, NULL, "for a pull request or a job summary"},
    {"source", 0, OPTION_STRING, &source, "DIR", "with --markdown: also the diff that mends it"},
    {"format", 0, OPTION_STRING, &format, "NAME", "text, json, markdown or junit"},
    {"output", 'o', OPTION_STRING, &output, "FILE", "write there instead of stdout"},
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace existing files; in CI always"},
    LOAD_REDACT(how),
    {0},
};

/* Reads the whole budget file; malloc'ed. Budgets are small. */
static char *read_budget(const char *path, struct err *e)
{
    enum { MOST = 1 << 16 };
    FILE *f = fopen(path, "r");
    if (!f) {
        err_set(e, "cannot read %s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = malloc(MOST + 1);
    size_t n = text ? fread(text, 1, MOST + 1, f) : 0;
    bool bad = ferror(f);
    fclose(f);
    if (!text || bad || n > MOST || memchr(text, 0, n)) {
        err_set(e, "%s is not a budget file (see gpuprof-gate)", path);
        free(text);
        return NULL;
    }
    text[n] = 0;
    return text;
}

static const char *format_wanted(void)
{
    return format ? format : json ? "json" : markdown ? "markdown" : "term";
}

/* Writes an annotation for GitHub, which shows such a line of a job's log beside the step. GitHub
 * reads both streams; stdout holds the answer. Ends of lines and per cent signs are escaped as
 * GitHub requires. */
static void annotate(const struct gate *g)
{
    const char *service = getenv("GITHUB_ACTIONS");
    struct sentence said;
    if (!service || strcmp(service, "true") != 0 || g->verdict == GATE_PASS ||
        !comparison_gate(&said, g))
        return;
    fprintf(stderr,
            "::%s title=gpuprof gate%%3A %s::", g->verdict == GATE_SLOWER ? "error" : "warning",
            comparison_verdict(g));
    for (const char *p = said.s; *p; p++)
        if (*p == '%' || *p == '\r' || *p == '\n')
            fprintf(stderr, "%%%02X", (unsigned)*p);
        else
            fputc(*p, stderr);
    fputc('\n', stderr);
}

static int write_gate(const struct gate *g, struct export_options *o, struct err *e)
{
    struct exported what = {.gate = g};
    const struct exporter *x = export_format(format_wanted(), &what, e);
    const struct outcome *grown = g->diff && g->verdict == GATE_SLOWER ? diff_grown(g->diff) : NULL;
    char *mend = mender_end(&mender, grown ? grown->rule->id : NULL);
    o->mend = mend;
    annotate(g);
    int rc = !x || export_to(x, &what, o, output, force, e) ? -1 : 0;
    if (rc == 0 && junit)
        rc = export_to(exporter_find("junit"), &what, o, junit, force, e);
    free(mend);
    return rc;
}

static int judge(const char *base, const char *now, const char *budget_text, struct err *e)
{
    struct two t;
    struct gate_wish wish = {
        .budget_text = budget_text, .max_regress_pct = max_regress, .per_sample = per != NULL};
    if (two_load(&t, base, now, &how, e))
        return fail(e);
    struct gate *g = gate_run(t.base.analysis, t.now.analysis, &wish, e);
    int status = 2;
    if (g) {
        struct export_options o = two_options(&t, base, now);
        status = (int)g->verdict;
        if (write_gate(g, &o, e))
            status = fail(e);
        gate_free(g);
    } else {
        fail(e);
    }
    two_release(&t);
    return status;
}

/* Compares the new run with a folder of earlier ones. */
static int judge_history(const char *now, const char *budget_text, struct err *e)
{
    struct loaded l;
    struct history h;
    if (load_analysis(&now, 1, &how, &l, e) < 0)
        return fail(e);
    struct history_wish wish = {past, now, l.analysis, &how, runs, per != NULL};
    if (history_find(&h, &wish, e) < 0) {
        load_release(&l);
        return fail(e);
    }
    struct gate_wish limits = {budget_text, max_regress, per != NULL, true,
                               h.runs,      h.count,     h.left_out};
    struct gate *g = gate_run(h.newest.analysis, l.analysis, &limits, e);
    struct export_options o = load_options(&l, now);
    o.base_source = redact_path(past, how.redact);
    int status = g ? (int)g->verdict : 2;
    if (!g || write_gate(g, &o, e))
        status = fail(e);
    gate_free(g);
    history_release(&h);
    load_release(&l);
    return status;
}

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    if (argc < 1 || argc > 2 || (argc == 1 && !budget && !past) || (argc == 2 && past))
        return usage_error(
            "gate: name a baseline and a profile, a history or a budget: gpuprof gate BASE NEW | "
            "gate --history DIR NEW | gate --budget FILE NEW");
    if (runs < 3 || runs > 1000)
        return usage_error("gate: --runs needs a number from 3 to 1000");
    if (per && strcmp(per, "sample") != 0)
        return usage_error("gate: --per accepts only sample, not '%s'", per);
    force = force || in_ci();
    if (source && strcmp(format_wanted(), "markdown") != 0)
        return usage_error("gate: --source needs --markdown");
    if (source && access(source, R_OK | X_OK) != 0)
        return usage_error("gate: --source %s: %s", source, strerror(errno));
    if (max_regress < 0 || !isfinite(max_regress))
        return usage_error("gate: --max-regress needs a percentage, at least 0");
    if (export_named(format_wanted(), output, &e) || export_named("junit", junit, &e) ||
        output_check(output, force, &e) || output_check(junit, force, &e))
        return fail(&e);
    if (source && mender_start(&mender, source, argv[argc - 1], &e))
        return fail(&e);
    confine(&(struct confined){.inputs = (const char *const *)argv,
                               .count = (size_t)argc,
                               .also = {budget, past},
                               .outputs = {output, junit}});
    char *text = budget ? read_budget(budget, &e) : NULL;
    if (budget && !text)
        return fail(&e);
    int status = past ? judge_history(argv[0], text, &e)
                      : judge(argc == 2 ? argv[0] : NULL, argv[argc - 1], text, &e);
    free(text);
    return status;
}

const struct command cmd_gate = {
    .name = "gate",
    .usage = "BASE NEW | --history DIR NEW | --budget FILE NEW",
    .help = "CI verdict: 0 pass, 1 slower, 2 unreadable, 3 inconclusive",
    .details = "Compares the steps of both profiles by a bootstrap interval. Exit status: 0\n"
               "within the limit, 1 over it, 3 too few steps to decide, 2 gpuprof cannot read a\n"
               "file. Record both profiles on the same machine.\n\n"
               "  gpuprof gate main.gpuprof branch.gpuprof --junit gate.xml\n"
               "  gpuprof gate --history runs/ branch.gpuprof\n"
               "  gpuprof gate --budget limits.ini branch.gpuprof",
    .options = options,
    .run = run,
};
