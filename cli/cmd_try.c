/* try: does a change save what was predicted? Runs the program once for the prediction, then again
 * with and without the change, in the order ABBA, and compares (analyzer/compare/ab.h). */
#include "cli/command.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/try.h"
#include "analyzer/store/store.h"
#include "report/json_write.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *apply, *output, *device, *profile;
static int runs;
static bool force, json;

static const struct option_spec options[] = {
    {"apply", 0, OPTION_STRING, &apply, "K=V,...", "the change; default: the first advice's"},
    {"profile", 0, OPTION_STRING, &profile, "FILE", "predict from this profile: no first run"},
    {"runs", 0, OPTION_INT, &runs, "R", "reruns with and without, each; default 2 to 6 by noise"},
    {"device", 0, OPTION_STRING, &device, "NAME", "as for gpuprof run"},
    {"output", 'o', OPTION_STRING, &output, "FILE", "keep the first run's profile"},
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists"},
    {"json", 0, OPTION_FLAG, &json, NULL, "for programs: docs/json.md describes it"},
    {0},
};

enum { PILOT = 2, MOST = 6 };

/* The advice whose change it is; the first that has one when none was asked for. */
static const struct outcome *find_advice(const struct analysis *a, const char *knobs)
{
    for (size_t i = 0; i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        if (o->knob && (!*knobs || strcmp(o->knob, knobs) == 0))
            return o;
    }
    return NULL;
}

static int predict(struct trial *t, struct ab_prediction *p, char *name, size_t size, struct err *e)
{
    struct loaded l;
    const char *path[] = {profile ? profile : t->profile};
    if (load_predicted(path, 1, &l, e))
        return -1;
    const struct outcome *o = find_advice(l.analysis, t->knobs);
    int rc = 0;
    if (load_virtual(&l))
        snprintf(name, size, "%s", load_virtual(&l));
    t->step_ns = l.analysis->steps.median_ns;
    if (o) {
        snprintf(t->rule, sizeof t->rule, "%s", o->rule->id);
        double step = (double)l.analysis->steps.median_ns;
        if (!*t->knobs)
            snprintf(t->knobs, sizeof t->knobs, "%s", o->knob);
        if (step > 0 && !o->upper_bound)
            *p = (struct ab_prediction){true, (double)o->saves_low_ns / step,
                                        (double)o->saves_mid_ns / step,
                                        (double)o->saves_high_ns / step};
    } else if (!*t->knobs) {
        rc = err_set(e,
                     "no advice in %s that a program can be told to follow: name the change "
                     "with --apply",
                     path[0]);
    }
    load_release(&l);
    return rc;
}

/* A profile that cannot be written to does not make the trial fail. */
static void keep(const struct trial *t, const struct ab_prediction *p, const struct ab_result *r)
{
    struct err e = ERR_INIT;
    const char *kept = profile ? profile : output;
    if (!kept || !store_is_profile(kept) || r->a_ns <= 0)
        return;
    if (trial_keep(t, kept, p, r, &e) < 0)
        say("the result is not kept in %s: %s", kept, e.text);
}

/* Runs an arm for 90 % power to tell half of what was predicted, or 1 %. */
static size_t runs_wanted(struct trial *t, const struct ab_prediction *p)
{
    if (runs)
        return (size_t)runs;
    double delta = p->known && p->mid > 0.02 ? p->mid / 2 : 0.01;
    double n = ceil(21 * pow(ab_spread(&t->a, &t->b) / delta, 2));
    return n < PILOT ? PILOT : n > MOST ? MOST : (size_t)n;
}

static int rerun(struct trial *t, const struct ab_prediction *p, struct err *e)
{
    static const bool order[] = {false, true, true, false};
    size_t wanted = runs ? (size_t)runs : PILOT;
    for (size_t i = 0; i < 2 * wanted; i++) {
        say("rerun %zu of %s%zu, %s %s", i + 1, runs || i >= 2 * PILOT ? "" : "at least ",
            2 * wanted, order[i % 4] ? "with" : "without", t->knobs);
        if (trial_again(t, order[i % 4], e) < 0)
            return -1;
        if (i + 1 == 2 * wanted && wanted == PILOT)
            wanted = runs_wanted(t, p);
    }
    return 0;
}

static void print_json(const struct trial *t, const struct ab_prediction *p,
                       const struct ab_result *r, const char *gpu)
{
    struct json j;
    json_start(&j, stdout);
    json_begin(&j, NULL, '{');
    json_int(&j, "schema", 1);
    json_str(&j, "apply", t->knobs);
    json_str(&j, "verdict", ab_verdict_text[r->verdict]);
    json_str(&j, "why", r->why);
    json_str(&j, "virtual_gpu", *gpu ? gpu : NULL);
    json_int(&j, "runs_without", (int64_t)t->a.count);
    json_int(&j, "runs_with", (int64_t)t->b.count);
    json_ms(&j, "without_ms", r->a_ns);
    json_ms(&j, "with_ms", r->b_ns);
    json_begin(&j, "measured_pct", '{');
    json_num(&j, "low", 100 * r->low, 3);
    json_num(&j, "mid", 100 * r->saved, 3);
    json_num(&j, "high", 100 * r->high, 3);
    json_end(&j, '}');
    if (p->known) {
        json_begin(&j, "predicted_pct", '{');
        json_num(&j, "low", 100 * p->low, 3);
        json_num(&j, "mid", 100 * p->mid, 3);
        json_num(&j, "high", 100 * p->high, 3);
        json_end(&j, '}');
    } else {
        json_null(&j, "predicted_pct");
    }
    json_int(&j, "runs_acknowledged", (int64_t)t->acknowledged);
    json_str(&j, "refused", *t->refusal ? t->refusal : NULL);
    json_bool(&j, "interrupted", trial_interrupted());
    json_end(&j, '}');
    if (json_end_document(&j) == 0)
        putchar('\n');
}

static void print_text(const struct trial *t, const struct ab_prediction *p,
                       const struct ab_result *r, const char *gpu)
{
    printf("%s: %s\n  %s\n", t->knobs, ab_verdict_text[r->verdict], r->why);
    if (*gpu)
        printf("  on a virtual GPU: %s\n", gpu);
    if (p->known)
        printf("  predicted  saves %.1f %% of the step (%.1f to %.1f %%)\n", 100 * p->mid,
               100 * p->low, 100 * p->high);
    else
        printf("  predicted  nothing: there is no prediction for this change\n");
    if (r->a_ns)
        printf("  measured   saves %.1f %% of the step (95 %%: %.1f to %.1f %%), %.2f to %.2f ms\n",
               100 * r->saved, 100 * r->low, 100 * r->high, (double)r->a_ns / 1e6,
               (double)r->b_ns / 1e6);
    printf("  runs       %zu without, %zu with the change\n", t->a.count, t->b.count);
    if (t->refused)
        printf("  The program did not obey: %s\n", t->refusal);
    if (*t->silent)
        printf("  The program did not say whether it obeyed %s: one that does not read "
               "GPUPROF_APPLY runs as before.\n",
               t->silent);
}

static int status_of(enum ab_verdict v, double saved)
{
    if (v == AB_UNDERPOWERED)
        return 3;
    return v == AB_REFUTED || saved <= 0 ? 1 : 0;
}

static int make_trial(struct trial *t, char **argv, struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    t->argv = argv;
    t->device = device;
    t->quiet_stdout = json;
    if (apply && strlen(apply) >= sizeof t->knobs)
        return err_set(e, "--apply is too long");
    snprintf(t->knobs, sizeof t->knobs, "%s", apply ? apply : "");
    for (char *c = t->knobs; (c = strchr(c, ','));)
        *c = ';';
    snprintf(t->folder, sizeof t->folder, "%s/gpuprof-try-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(t->folder))
        return err_set(e, "cannot make %s: %s", t->folder, strerror(errno));
    if (output)
        snprintf(t->profile, sizeof t->profile, "%s", output);
    else
        snprintf(t->profile, sizeof t->profile, "%s/first.gpuprof", t->folder);
    return 0;
}

static int judge(struct trial *t, struct err *e)
{
    struct ab_prediction p = {0};
    struct ab_result r;
    char gpu[128] = "";
    if (!profile) {
        say("first run, for the prediction");
        int status = trial_first(t, e);
        if (status < 0 || trial_interrupted())
            return status < 0 ? fail(e) : 130;
        if (status != 0) {
            say("the program left with status %d: nothing to try", status);
            return 2;
        }
    }
    if (predict(t, &p, gpu, sizeof gpu, e) < 0)
        return fail(e);
    if (rerun(t, &p, e) < 0 && !trial_interrupted())
        return fail(e);
    if (ab_judge(&t->a, &t->b, &p, &r, e) < 0)
        return fail(e);
    if (t->refused) {
        r.verdict = AB_UNDERPOWERED;
        r.why = "the program refused the change: nothing was tried";
    } else {
        keep(t, &p, &r);
    }
    (json ? print_json : print_text)(t, &p, &r, gpu);
    return trial_interrupted() ? 130 : status_of(r.verdict, r.saved);
}

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    static struct trial t;
    if (argc < 1)
        return usage_error("try: name the program: gpuprof try [options] -- PROGRAM ARGS...");
    if (runs < 0 || runs == 1 || runs > AB_RUNS)
        return usage_error("try: --runs wants 2 to %d", AB_RUNS);
    if (apply && !strchr(apply, '='))
        return usage_error("try: --apply wants NAME=VALUE, not '%s'", apply);
    if (profile && output)
        return usage_error("try: with --profile there is no first run to keep (-o)");
    if (output_check(output, force, &e) || make_trial(&t, argv, &e) < 0)
        return fail(&e);
    trial_catch_signals();
    int status = judge(&t, &e);
    ab_release(&t.a);
    ab_release(&t.b);
    trial_remove(&t);
    return status;
}

const struct command cmd_try = {
    .name = "try",
    .usage = "[options] [--] PROGRAM ARGS...",
    .help = "does a change save what was predicted? measure it",
    .details =
        "Runs the program once and predicts; then again, in turns with and without the change\n"
        "(GPUPROF_APPLY), and prints measured beside predicted.\n\n"
        "  gpuprof try -- python train.py\n"
        "  gpuprof try --apply num_workers=4 -- python train.py\n\n"
        "Exit status: 0 it saves time, 1 it does not, 2 a run failed or wrong usage, 3 cannot\n"
        "tell, 130 interrupted.",
    .options = options,
    .run = run,
    .takes_program = true,
};
