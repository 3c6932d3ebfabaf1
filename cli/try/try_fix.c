/* try --fix: the change is what `gpuprof fix` makes of the first advice that it can put into the
 * program's Python files (try.h). */
#include "cli/try/try.h"

#include "analyzer/advice/settings.h"

#include <stdio.h>

/* Changes of the training, or of the computed numbers, are the user's to choose. */
static bool only_speed(const struct outcome *o)
{
    return !o->rule->changes_training && !(o->setting && settings_change_numbers(o->setting));
}

int trial_fix(struct trial *t, struct loaded *l, struct err *e)
{
    const struct advice *a = l->analysis;
    for (size_t i = 0; i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        char *words[] = {"gpuprof",           "fix",      "-f", "-o", (char *)t->fix, "--rule",
                         (char *)o->rule->id, t->profile, NULL};
        if (!only_speed(o)) {
            trial_pass(t, o);
            continue;
        }
        int status =
            trial_run_in(".", "/proc/self/exe", words); /* it says what it changes, or why not */
        if (status > 1)
            return err_set(e, "try: gpuprof fix failed");
        if (status == 1) {
            trial_pass(t, o);
            continue;
        }
        if (trial_patch(t, t->fix, e) < 0)
            return -1;
        struct tried *c = &t->change[t->count - 1];
        snprintf(c->rule, sizeof c->rule, "%s", o->rule->id);
        c->advice[c->advice_count++] = o;
        return trial_predict(c, t, l, e);
    }
    return err_set(e, "try: there is no advice that gpuprof can put into the files here: "
                      "`gpuprof analyze` shows what there is");
}
