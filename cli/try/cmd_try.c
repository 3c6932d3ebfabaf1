/* try: do changes save what was predicted? Runs the program once for the prediction, and once with
 * each change to see whether the program applies it. Then it runs the program in turns without and
 * with each change (ABBA; A B C C B A), and compares (analyzer/compare/ab.h). */
#include "analyzer/profile/store.h"
#include "cli/common/command.h"
#include "cli/common/output.h"
#include "cli/try/try.h"

#include "base/clock.h"
#include "base/settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *apply, *patch, *fix, *output, *device, *profile, *history;
static int runs, top;
static bool force, json;

static const struct option_spec options[] = {
    {"apply", 0, OPTION_STRING, &apply, "K=V,...",
     "the change; default: the first advice it can try"},
    {"patch", 0, OPTION_STRING, &patch, "FILE", "a diff is the change, in a copy of this folder"},
    {"fix", 0, OPTION_STRING, &fix, "FILE", "the change: advice as a diff, written to FILE"},
    {"top", 0, OPTION_INT, &top, "N", "the first N findings, and all together"},
    {"profile", 0, OPTION_STRING, &profile, "FILE",
     "predict from this profile and skip the first run"},
    {"runs", 0, OPTION_INT, &runs, "R", "reruns with and without; default 3 to 6, by noise"},
    {"device", 0, OPTION_STRING, &device, "NAME", "as for gpuprof run"},
    {"output", 'o', OPTION_STRING, &output, "FILE", "keep the first run's profile"},
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists"},
    {"history", 0, OPTION_STRING, &history, "FILE",
     "learn from past trials in FILE, and add this one"},
    {"json", 0, OPTION_FLAG, &json, NULL, "machine-readable output; docs/json.md describes it"},
    {0},
};

enum { PILOT = 2, MOST = 6 };

/* The first run, unless there is a profile already. Returns its status if it is not 0; -1 with *e
 * set. */
static int run_first(struct trial *t, struct err *e)
{
    if (profile)
        return 0;
    say("first run, for the prediction");
    return trial_record(t, t->profile, NULL, NULL, false, e);
}

/* One run with each change. A change that the program does not apply is not tried further. */
static int probe_from(struct trial *t, size_t from, struct err *e)
{
    for (size_t i = from; i < t->count; i++) {
        struct tried *c = &t->change[i];
        say("a run with %s, to see whether the program %s", c->settings,
            c->patch ? "works" : "applies it");
        if (trial_probe(t, c, e) < 0)
            return -1;
        if (c->refused)
            say("the program does not apply it: %s", c->refusal);
    }
    return 0;
}

/* Chooses the changes to try, with their predictions. The profile is then released from memory. */
static int choose(struct trial *t, struct err *e)
{
    struct loaded l;
    const char *path[] = {t->profile};
    if (load_predicted(path, 1, &(struct load_how){0}, load_history(history), &l, e) < 0)
        return -1;
    t->marks = trial_marks_tell(t, l.analysis);
    t->asked = top;
    int rc = trial_choose(t, &l, apply, top ? top : 1, e);
    if (rc == 0)
        rc = probe_from(t, 0, e);
    size_t alone = t->count;
    if (rc == 0 && top > 1 && trial_join(t, &l, e) < 0)
        rc = -1;
    load_release(&l);
    return rc == 0 ? probe_from(t, alone, e) : rc;
}

/* Runs per arm that give 90 % power to detect half of what was predicted, or 1 % of the step. */
static size_t runs_for(struct trial *t, struct tried *c)
{
    const struct ab_prediction *p = &c->predicted;
    double delta = p->known && p->mid > 0.02 ? p->mid / 2 : 0.01;
    double n = ceil(21 * pow(ab_spread(&t->without, &c->arm) / delta, 2));
    return n < AB_LEAST ? AB_LEAST : n > MOST ? MOST : (size_t)n;
}

static size_t runs_wanted(struct trial *t)
{
    size_t most = runs ? (size_t)runs : AB_LEAST;
    for (size_t i = 0; !runs && i < t->count; i++) {
        size_t n = t->change[i].refused ? 0 : runs_for(t, &t->change[i]);
        most = n > most ? n : most;
    }
    return most;
}

/* One run without a change and one with each; every other round backwards, so that a drift of the
 * machine affects all of them alike. */
static int round_of_runs(struct trial *t, size_t round, const char *of, struct err *e)
{
    for (size_t i = 0; i <= t->count; i++) {
        size_t at = round % 2 ? t->count - i : i;
        struct tried *c = at ? &t->change[at - 1] : NULL;
        if (c && c->refused)
            continue;
        say("round %zu of %s, %s%s", round + 1, of, c ? "with " : "without a change",
            c ? c->settings : "");
        if (trial_again(t, c, e) < 0)
            return -1;
    }
    return 0;
}

static int measure(struct trial *t, struct err *e)
{
    char of[32];
    size_t wanted = runs ? (size_t)runs : PILOT, open = 0;
    for (size_t i = 0; i < t->count; i++)
        open += !t->change[i].refused;
    for (size_t round = 0; open && round < wanted; round++) {
        bool pilot = !runs && round < PILOT;
        snprintf(of, sizeof of, "%s%zu", pilot ? "at least " : "",
                 pilot ? (size_t)AB_LEAST : wanted);
        if (round_of_runs(t, round, of, e) < 0)
            return -1;
        if (round + 1 == PILOT)
            wanted = runs_wanted(t);
    }
    return 0;
}

/* Stores the results. If the profile cannot be written, the trial does not fail. */
static void keep(struct trial *t)
{
    t->tried_ns = clock_ns(CLOCK_REALTIME);
    struct err e = ERR_INIT;
    const char *kept = profile ? profile : output, *file = load_history(history);
    bool works = kept && store_is_profile(kept);
    for (size_t i = 0; i < t->count; i++) {
        const struct tried *c = &t->change[i];
        if (file && trial_remember(t, c, file, &e) < 0)
            say("%s", e.text);
        if (!works || c->refused || c->result.a_ns <= 0)
            continue;
        works = trial_keep(t, c, kept, &e) == 0;
        if (!works)
            say("cannot keep the result in %s: %s", kept, e.text);
    }
}

/* The exit status: 0: a change saves time; 3: none does for certain, and for some it cannot be
 * decided; 1: none does. */
static int status_of(const struct trial *t)
{
    int status = 1;
    for (size_t i = 0; i < t->count; i++) {
        const struct tried *c = &t->change[i];
        enum ab_verdict v = c->result.verdict;
        if (c->refused || v == AB_UNDERPOWERED)
            status = 3;
        else if (v != AB_REFUTED && c->result.saved > 0)
            return 0;
    }
    return status;
}

/* gpuprof was asked to end, for example by Ctrl-C. */
static int interrupted(void)
{
    say("interrupted");
    return 130;
}

/* True if there is a run of each arm. */
static bool compared(const struct trial *t)
{
    bool any = t->without.count > 0;
    for (size_t i = 0; i < t->count; i++)
        any = any && (t->change[i].refused || t->change[i].arm.count > 0);
    return any;
}

static int judge(struct trial *t, struct err *e)
{
    int status = run_first(t, e);
    if (trial_interrupted())
        return interrupted();
    if (status < 0)
        return fail(e);
    if (status != 0) {
        say("the program exited with status %d: nothing to try", status);
        return 2;
    }
    if ((choose(t, e) < 0 || measure(t, e) < 0) && !trial_interrupted())
        return fail(e);
    if (trial_interrupted() && !compared(t))
        return interrupted();
    for (size_t i = 0; i < t->count; i++)
        if (ab_judge(&t->without, &t->change[i].arm, &t->change[i].predicted, &t->change[i].result,
                     e) < 0)
            return fail(e);
    for (size_t i = 0; i < t->count && !*t->gpu; i++) /* a virtual GPU computes none */
        t->change[i].computes = losses_compare(&t->losses_without, &t->change[i].losses);
    keep(t);
    (json ? trial_print_json : trial_print)(t);
    return trial_interrupted() ? interrupted() : status_of(t);
}

static int make_trial(struct trial *t, char **argv, struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    t->argv = argv;
    t->device = device;
    t->fix = fix;
    t->quiet_stdout = json;
    bool fits =
        tmp && *tmp && (*tmp == '/' || !(patch || fix)); /* a patched program runs elsewhere */
    snprintf(t->folder, sizeof t->folder, "%s/gpuprof-try-XXXXXX", fits ? tmp : "/tmp");
    if (!mkdtemp(t->folder))
        return err_set(e, "cannot make %s: %s", t->folder, strerror(errno));
    if (profile || output)
        snprintf(t->profile, sizeof t->profile, "%s", profile ? profile : output);
    else
        snprintf(t->profile, sizeof t->profile, "%s/first.gpuprof", t->folder);
    return patch ? trial_patch(t, patch, e) : 0;
}

static void release(struct trial *t)
{
    ab_release(&t->without);
    for (size_t i = 0; i < t->count; i++)
        ab_release(&t->change[i].arm);
    trial_remove(t);
}

static void say_command(char **argv)
{
    char text[512] = "";
    size_t n = 0;
    for (char **w = argv; *w && n < sizeof text; w++)
        n += (size_t)snprintf(text + n, sizeof text - n, " %s", *w);
    say("the recorded program:%s", text);
}

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    static struct trial t;
    struct setting_text asked;
    if (argc < 1)
        return usage_error("try: name the program: gpuprof try [options] -- PROGRAM ARGS...");
    if (runs < 0 || runs == 1 || runs > AB_RUNS)
        return usage_error("try: --runs needs a number from 2 to %d", AB_RUNS);
    if (apply && !*apply)
        return usage_error("try: --apply needs NAME=VALUE");
    for (const char *p = apply; p && settings_next(&p, &asked);)
        if (!asked.valid)
            return usage_error("try: --apply needs NAME=VALUE, not '%.*s'", (int)asked.name_size,
                               asked.name);
    if (top < 0 || top > TRY_TOP)
        return usage_error("try: --top needs a number from 1 to %d", TRY_TOP);
    if (!!apply + !!top + !!patch + !!fix > 1)
        return usage_error("try: use only one of --apply, --fix, --patch and --top");
    if (profile && output)
        return usage_error("try: with --profile there is no first run to keep (-o)");
    if (argc == 1 && trial_is_profile(argv[0])) {
        profile = profile ? profile : argv[0];
        argv = trial_recorded(argv[0], &device, &e);
        if (!argv)
            return fail(&e);
        say_command(argv);
    }
    if (output_check(output, force, &e) || output_check(fix, force, &e) ||
        make_trial(&t, argv, &e) < 0) {
        release(&t);
        return fail(&e);
    }
    trial_catch_signals();
    int status = judge(&t, &e);
    release(&t);
    return status;
}

const struct command cmd_try = {
    .name = "try",
    .usage = "[options] FILE | [--] PROGRAM ARGS...",
    .help = "measure whether a change saves what gpuprof predicted",
    .details = "Runs the program once and predicts. Then runs it with and without the change\n"
               "(GPUPROF_APPLY) in turn, and prints the measured and the predicted saving.\n"
               "Without --apply the change is that of the first finding that has a setting and\n"
               "does not change the computed numbers. Commas or semicolons separate settings.\n\n"
               "  gpuprof try train.gpuprof              the program that was recorded\n"
               "  gpuprof try -- python train.py\n"
               "  gpuprof try --top 3 -- python train.py\n"
               "  gpuprof try --apply num_workers=4 -- python train.py\n"
               "  gpuprof try --fix faster.patch -- python train.py\n"
               "  gpuprof try --patch faster.patch -- python train.py\n\n"
               "Exit status: 0 it saves time, 1 it does not, 2 a run failed or wrong usage, 3\n"
               "undecided, or the program refuses the change, 130 interrupted.",
    .options = options,
    .run = run,
    .takes_program = true,
};
