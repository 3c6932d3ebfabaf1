/* try --fix: the change is what `gpuprof fix` makes of the first advice that it can put into the
 * program's Python files (try.h). */
#include "cli/try/try.h"

#include "analyzer/advice/settings.h"

#include <stdio.h>
#include <string.h>

/* A series ends when all that is left saves less than this share of the step. By hand: reruns
 * seldom decide less. */
#define REST 0.02

/* Changes of the training, or of the computed numbers, are the user's to choose. */
static bool only_speed(const struct outcome *o)
{
    return !o->rule->changes_training && !(o->setting && settings_change_numbers(o->setting));
}

static bool taken_back(const struct series *s, const struct outcome *o)
{
    for (size_t i = 0; i < s->count; i++)
        if (!trial_kept(s->at[i].change) && strcmp(s->at[i].change->rule, o->rule->id) == 0)
            return true;
    return false;
}

/* The share of the step that the advice from the i-th on may save at most. */
static double rest(const struct trial *t, const struct advice *a, size_t i)
{
    int64_t ns = 0;
    for (; i < a->ranked_count; i++)
        if (only_speed(a->ranked[i]) && !taken_back(t->in, a->ranked[i]))
            ns += a->ranked[i]->saves_high_ns;
    return t->step_ns > 0 ? (double)ns / (double)t->step_ns : 1;
}

/* `gpuprof fix` of one rule's advice. Its exit status. It says what it changes, or why not. */
static int make_diff(const struct trial *t, const char *rule, const char *diff)
{
    const char *source = *t->base ? t->base : ".";
    char *words[] = {"gpuprof",  "fix",          "-f",     "-o",         (char *)diff,
                     "--source", (char *)source, "--rule", (char *)rule, (char *)t->profile,
                     NULL};
    return trial_run_in(".", "/proc/self/exe", words);
}

/* Puts the diffs of what was kept before the diff in this file: one diff of the current folder. */
static int put_kept_before(const struct series *s, const char *path, const char *diff,
                           struct err *e)
{
    FILE *f = s->kept ? fopen(path, "we") : NULL;
    if (f)
        fprintf(f, "%s%s", s->kept, diff);
    return s->kept && (!f || fclose(f)) ? err_set(e, "try: cannot write %s", path) : 0;
}

static int try_diff(struct trial *t, struct loaded *l, const struct outcome *o, const char *path,
                    struct err *e)
{
    char *diff = trial_text(path, e);
    if (!diff)
        return -1;
    struct tried *c = &t->change[t->count++];
    c->diff = diff;
    trial_name(c, o);
    c->advice[c->advice_count++] = o;
    if (put_kept_before(t->in, path, diff, e) < 0 || trial_patch(t, path, e) < 0)
        return -1;
    return trial_predict(c, t, l, e);
}

int trial_fix(struct trial *t, struct loaded *l, struct err *e)
{
    const struct advice *a = l->analysis;
    const struct series *s = t->in;
    char path[PATH_MAX];
    for (size_t i = 0; i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        double left = rest(t, a, i);
        if (s->until && left > 0 && left < REST)
            return err_set(e, "what is left to try saves less than %.0f %% of the step",
                           100 * REST);
        if (taken_back(s, o))
            continue;
        if (!only_speed(o)) {
            trial_pass(t, o);
            continue;
        }
        snprintf(path, sizeof path, "%s/%s.patch", s->folder, o->rule->id);
        const char *diff = s->until ? path : s->fix;
        int status = make_diff(t, o->rule->id, diff);
        if (status > 1)
            return err_set(e, "try: gpuprof fix failed");
        if (status == 0)
            return try_diff(t, l, o, diff, e);
        trial_pass(t, o);
    }
    return err_set(e, s->count ? "no other advice can be put into the files here"
                               : "try: there is no advice that gpuprof can put into the files "
                                 "here: `gpuprof analyze` shows what there is");
}
