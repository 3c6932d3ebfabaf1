/* After the program: analyses the profile, stores the results in it, and prints a summary on
 * stderr. */
#include "cli/common/command.h"
#include "cli/results/live.h"
#include "cli/load/load.h"
#include "cli/common/output.h"
#include "cli/results/results.h"

#include "analyzer/profile/keep_window.h"
#include "analyzer/profile/redact.h"
#include "analyzer/profile/store.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(GPU_PARTS == (1 << 11) - 1, "a part of the step lacks its column in the table step");

static int put_steps(struct store *s, const struct advice *a, struct err *e)
{
    for (size_t i = 0; i < a->facts->steps.count; i++) {
        const struct step *p = &a->facts->steps.at[i];
        const int64_t *part = a->facts->step_parts[i];
        struct row_step row = {.id = (int64_t)i + 1,
                               .start_ns = p->start_ns,
                               .end_ns = p->end_ns,
                               .used = p->used,
                               .from_ns = p->from_ns,
                               .to_ns = p->to_ns,
                               .compute_ns = part[PART_COMPUTE],
                               .comm_exposed_ns = part[PART_COMM],
                               .copy_exposed_ns = part[PART_COPY],
                               .idle_input_ns = part[PART_IDLE_INPUT],
                               .idle_copy_ns = part[PART_IDLE_COPY],
                               .idle_sync_ns = part[PART_IDLE_SYNC],
                               .idle_launch_ns = part[PART_IDLE_LAUNCH],
                               .idle_alloc_ns = part[PART_IDLE_ALLOC],
                               .idle_host_ns = part[PART_IDLE_HOST],
                               .idle_queued_ns = part[PART_IDLE_QUEUED],
                               .unexplained_ns = a->facts->on_cpu ? p->to_ns - p->from_ns
                                                                  : part[PART_UNEXPLAINED]};
        if (store_put_derived(s, DERIVED_STEP, &row, e) < 0)
            return -1;
    }
    return 0;
}

static int put_gaps(struct store *s, const struct advice *a, struct err *e)
{
    const struct timeline *t = a->facts->tl;
    for (size_t i = 0; i < a->facts->gap_count; i++) {
        const struct gap *g = &a->facts->gaps[i];
        struct row_gap row = {.id = (int64_t)i + 1,
                              .step = g->step == TL_NONE ? -1 : (int64_t)g->step + 1,
                              .start_ns = g->start_ns,
                              .end_ns = g->end_ns,
                              .cause = store_intern(s, part_key[g->part])};
        if (g->api != TL_NONE)
            row.api = store_intern(s, tl_text(t, t->apis[g->api].name));
        if (g->range != TL_NONE)
            row.range = store_intern(s, tl_text(t, t->ranges[g->range].name));
        if (store_put_derived(s, DERIVED_GAP, &row, e) < 0)
            return -1;
    }
    return 0;
}

static int put_findings(struct store *s, const struct advice *a, struct err *e)
{
    for (size_t i = 0; i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        struct row_finding row = {.id = (int64_t)i + 1,
                                  .rank = (int64_t)i + 1,
                                  .rule = store_intern(s, o->rule->id),
                                  .title = store_intern(s, o->title),
                                  .summary = store_intern(s, o->summary),
                                  .kind =
                                      store_intern(s, o->upper_bound ? "upper-bound" : "predicted"),
                                  .saves_low_ns = o->saves_low_ns,
                                  .saves_mid_ns = o->saves_mid_ns,
                                  .saves_high_ns = o->saves_high_ns};
        if (store_put_derived(s, DERIVED_FINDING, &row, e) < 0)
            return -1;
    }
    return 0;
}

/* What an exporter writes, as text in memory. */
static char *render(const char *format, const struct advice *a, const struct export_options *o,
                    struct err *e)
{
    char *text = NULL;
    size_t n = 0;
    const struct exporter *x = exporter_find(format);
    FILE *f = open_memstream(&text, &n);
    int rc = x && x->analysis && f ? x->analysis(a, o, f, e) : err_set(e, "no exporter %s", format);
    if (f && fclose(f) != 0)
        rc = err_set(e, "out of memory");
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}

static int store_results(const char *profile, const struct advice *a,
                         const struct export_options *o, struct err *e)
{
    char *json = render("json", a, o, e);
    sigset_t all, mask;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask); /* a signal must not leave half a transaction */
    struct store *s = json ? store_open(profile, 1, e) : NULL;
    int rc = -1;
    if (s && store_begin(s, e) == 0 && store_clear_derived(s, e) == 0 && put_steps(s, a, e) == 0 &&
        put_gaps(s, a, e) == 0 && put_findings(s, a, e) == 0 &&
        store_put_result(s, "analysis", json, e) == 0)
        rc = store_commit(s, e);
    store_close(s);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    free(json);
    return rc;
}

/* Prints each line with the prefix "gpuprof: ", which distinguishes it from the program's own. */
static void tell(const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        fprintf(stderr, "gpuprof: %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

/* x.gpuprof -> x.html */
static void page_path(const char *profile, char *out, size_t size)
{
    static const char suffix[] = ".gpuprof";
    size_t n = strlen(profile), m = sizeof suffix - 1;
    if (n > m && strcmp(profile + n - m, suffix) == 0)
        n -= m;
    snprintf(out, size, "%.*s.html", (int)n, profile);
}

int results_check_page(const char *profile, bool force, struct err *e)
{
    char path[PATH_MAX];
    page_path(profile, path, sizeof path);
    return output_check(path, force, e);
}

static int write_page(const char *profile, const struct advice *a, const struct export_options *o,
                      struct err *e)
{
    char path[PATH_MAX];
    struct output out;
    const struct exporter *x = exporter_find("html");
    page_path(profile, path, sizeof path);
    if (!x || output_open(&out, path, true, e) < 0)
        return -1;
    if (x->analysis(a, o, out.f, e) < 0) {
        output_discard(&out);
        return -1;
    }
    if (output_commit(&out, e) < 0)
        return -1;
    say("report: %s", path);
    return 0;
}

/* When the last GPU operation of the steps [first, end) began, plus 1 ns. */
static int64_t gpu_end(const struct advice *a, size_t first, size_t end)
{
    int64_t ns = a->facts->steps.at[end - 1].end_ns;
    for (size_t i = 0; i < a->facts->tl->op_count; i++) {
        uint32_t step = a->facts->steps.op_step[i];
        if (step != TL_NONE && step >= first && step < end && a->facts->tl->ops[i].start_ns >= ns)
            ns = a->facts->tl->ops[i].start_ns + 1;
    }
    return ns;
}

/* Keeps only the wanted steps in the profile, and analyses it again. */
static int keep_steps(const char *profile, const struct results_options *o, struct loaded *l,
                      struct err *e)
{
    const struct steps *steps = &l->analysis->facts->steps;
    const char *paths[] = {profile};
    size_t first = 0, end = steps->count;
    while (first < end && facts_step_number(l->analysis->facts, first) < o->first_step)
        first++;
    while (end > first && facts_step_number(l->analysis->facts, end - 1) > o->last_step)
        end--;
    if (first == end) {
        say("--steps %lld: gpuprof found only %zu steps and keeps the whole recording",
            (long long)o->first_step, steps->count);
        return 0;
    }
    struct window w = {.from_ns = steps->at[first].start_ns,
                       .to_ns = steps->at[end - 1].end_ns,
                       .gpu_to_ns = gpu_end(l->analysis, first, end),
                       .first_step = facts_step_number(l->analysis->facts, first)};
    load_release(l);
    if (window_keep(profile, &w, e) < 0)
        return -1;
    return load_predicted(paths, 1, &o->how, load_history(NULL), l, e);
}

static int check_whole(const struct advice *a, struct err *e)
{
    const char *what = advice_missing(a);
    return what ? err_set(e, "records are missing from the profile: %s", what) : 0;
}

int results_make(const char *profile, const struct results_options *o, struct err *e)
{
    struct loaded l;
    const char *paths[] = {profile}, *place = o->place ? o->place : profile;
    if (load_predicted(paths, 1, &o->how, load_history(NULL), &l, e) < 0 ||
        (o->first_step && keep_steps(profile, o, &l, e) < 0))
        return -1;
    struct export_options x = load_options(&l, place);
    x.detail = DETAIL_BRIEF;
    x.color = color_wanted(2);
    x.width = x.width > 20 ? x.width - 9 : x.width; /* less the prefix */
    int rc = store_results(profile, l.analysis, &x, e);
    x.source = place; /* the name in this terminal, where the user types it */
    char *text = rc == 0 && !o->quiet ? render("term", l.analysis, &x, e) : NULL;
    if (text)
        tell(text);
    free(text);
    x.source = redact_path(place, o->how.redact);
    if (rc == 0 && o->report)
        rc = write_page(place, l.analysis, &x, e);
    if (rc == 0 && o->metrics)
        rc = live_metrics_of(l.analysis, o->metrics, e);
    if (rc == 0 && o->strict)
        rc = check_whole(l.analysis, e);
    load_release(&l);
    return rc;
}
