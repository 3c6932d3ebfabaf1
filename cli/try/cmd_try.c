/* try: do changes save what was predicted? Runs the program once for the prediction, and once with
 * each change to see whether the program applies it. Then it runs the program in turns without and
 * with each change (ABBA; A B C C B A), and compares (analyzer/compare/ab.h). */
#include "cli/common/command.h"
#include "cli/common/output.h"
#include "cli/try/try.h"

#include "base/clock.h"
#include "base/settings.h"
#include "cli/results/export_to.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *profile, *output, *record;
static double max_time;
static bool force, json;
static struct series asked;

static const struct option_spec options[] = {
    {"apply", 0, OPTION_STRING, &asked.apply, "K=V,...",
     "the change; default: the first advice it can try"},
    {"patch", 0, OPTION_STRING, &asked.patch, "FILE",
     "a diff is the change, in a copy of this folder"},
    {"fix", 0, OPTION_STRING, &asked.fix, "FILE", "the change: advice as a diff, written to FILE"},
    {"until", 0, OPTION_INT, &asked.until, "N",
     "with --fix: at most N changes, on top of those kept"},
    {"top", 0, OPTION_INT, &asked.top, "N", "the first N findings, and all together"},
    {"profile", 0, OPTION_STRING, &profile, "FILE",
     "predict from this profile and skip the first run"},
    {"runs", 0, OPTION_INT, &asked.runs, "R", "reruns with and without; default 3 to 6, by noise"},
    {"max-time", 0, OPTION_DOUBLE, &max_time, "S", "no rerun begins after S seconds"},
    {"device", 0, OPTION_STRING, &asked.device, "NAME", "as for gpuprof run"},
    {"output", 'o', OPTION_STRING, &output, "FILE", "keep the first run's profile"},
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists"},
    {"history", 0, OPTION_STRING, &asked.history, "FILE",
     "learn from past trials in FILE, and add this one"},
    {"record", 0, OPTION_STRING, &record, "FILE", "also write the decisions to FILE, as Markdown"},
    {"json", 0, OPTION_FLAG, &json, NULL, "machine-readable output; docs/json.md describes it"},
    {0},
};

static int make_series(struct series *s, char **argv, struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    struct trial *t = s->at;
    t->in = s;
    s->argv = argv;
    s->quiet_stdout = json;
    s->recorded = profile != NULL;
    s->results = profile ? profile : output;
    s->end_ns = max_time > 0 ? clock_monotonic_ns() + (int64_t)(max_time * 1e9) : 0;
    bool fits = tmp && *tmp &&
                (*tmp == '/' || !(s->patch || s->fix)); /* a patched program runs elsewhere */
    snprintf(s->folder, sizeof s->folder, "%s/gpuprof-try-XXXXXX", fits ? tmp : "/tmp");
    if (!mkdtemp(s->folder))
        return err_set(e, "cannot make %s: %s", s->folder, strerror(errno));
    if (s->results)
        snprintf(t->profile, sizeof t->profile, "%s", s->results);
    else
        snprintf(t->profile, sizeof t->profile, "%s/first.gpuprof", s->folder);
    return s->patch ? trial_patch(t, s->patch, e) : 0;
}

static void release(struct series *s)
{
    for (size_t k = 0; k < sizeof s->at / sizeof *s->at; k++) {
        ab_release(&s->at[k].without);
        for (size_t i = 0; i < s->at[k].count; i++) {
            ab_release(&s->at[k].change[i].arm);
            free(s->at[k].change[i].diff);
        }
    }
    free(s->kept);
    if (*s->folder)
        series_remove(s);
}

/* The exit status: 0: a change saves time (in a series: and was kept); 3: none does for certain,
 * and for some it cannot be decided; 1: none does. */
static int status_of(const struct series *s)
{
    int status = s->kept ? 0 : 1;
    for (size_t k = 0; !s->kept && k < s->count; k++)
        for (size_t i = 0; i < s->at[k].count; i++) {
            const struct tried *c = &s->at[k].change[i];
            enum ab_verdict v = c->result.verdict;
            if (c->failed)
                continue;
            if (c->refused || v == AB_UNDERPOWERED)
                status = 3;
            else if (!s->until && v != AB_REFUTED && c->result.saved > 0)
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

static int write_record(const struct series *s, struct err *e)
{
    struct output out;
    if (!record)
        return 0;
    if (output_open(&out, record, force, e) < 0)
        return -1;
    series_markdown(s, out.f);
    return output_commit(&out, e);
}

static int try(struct series *s, struct err *e)
{
    int rc = series_try(s, e);
    if (trial_interrupted() && s->count == 0)
        return interrupted();
    if (rc < 0)
        return fail(e);
    (json ? series_print_json : series_print)(s);
    if (write_record(s, e) < 0)
        return fail(e);
    return trial_interrupted() ? interrupted() : status_of(s);
}

static void say_command(char **argv)
{
    char text[512] = "";
    size_t n = 0;
    for (char **w = argv; *w && n < sizeof text; w++)
        n += (size_t)snprintf(text + n, sizeof text - n, " %s", *w);
    say("the recorded program:%s", text);
}

static int check_numbers(const struct series *s)
{
    if (s->runs < 0 || s->runs == 1 || s->runs > AB_RUNS)
        return usage_error("try: --runs needs a number from 2 to %d", AB_RUNS);
    if (s->top < 0 || s->top > TRY_TOP)
        return usage_error("try: --top needs a number from 1 to %d", TRY_TOP);
    if (s->until < 0 || s->until > TRY_TOP)
        return usage_error("try: --until needs a number from 1 to %d", TRY_TOP);
    if (max_time < 0)
        return usage_error("try: --max-time needs a number of seconds");
    return 0;
}

static int check_options(const struct series *s)
{
    struct setting_text word;
    if (s->apply && !*s->apply)
        return usage_error("try: --apply needs NAME=VALUE");
    for (const char *p = s->apply; p && settings_next(&p, &word);)
        if (!word.valid)
            return usage_error("try: --apply needs NAME=VALUE, not '%.*s'", (int)word.name_size,
                               word.name);
    if (!!s->apply + !!s->top + !!s->patch + !!s->fix > 1)
        return usage_error("try: use only one of --apply, --fix, --patch and --top");
    if (s->until && !s->fix)
        return usage_error("try: --until needs --fix FILE");
    if (profile && output)
        return usage_error("try: with --profile there is no first run to keep (-o)");
    return check_numbers(s);
}

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    if (argc < 1)
        return usage_error("try: name the program: gpuprof try [options] -- PROGRAM ARGS...");
    if (check_options(&asked))
        return 2;
    if (argc == 1 && trial_is_profile(argv[0])) {
        profile = profile ? profile : argv[0];
        argv = trial_recorded(argv[0], &asked.device, &e);
        if (!argv)
            return fail(&e);
        say_command(argv);
    }
    bool ready = !export_named("markdown", record, &e) && !output_check(record, force, &e) &&
                 !output_check(output, force, &e) && !output_check(asked.fix, force, &e) &&
                 !make_series(&asked, argv, &e);
    if (ready)
        trial_catch_signals();
    int status = ready ? try(&asked, &e) : fail(&e);
    release(&asked);
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
               "  gpuprof try --fix faster.patch --until 3 --record why.md -- python train.py\n"
               "  gpuprof try --patch faster.patch -- python train.py\n\n"
               "Exit status: 0 it saves time, 1 it does not, 2 a run failed or wrong usage, 3\n"
               "undecided, or the program refuses the change, 130 interrupted.",
    .options = options,
    .run = run,
    .takes_program = true,
};
