/* Chooses the changes of a trial, and predicts them (try.h). */
#include "cli/try/try.h"

#include "analyzer/advice/advice.h"
#include "analyzer/advice/settings.h"
#include "base/settings.h"
#include "report/terminal/terminal.h"

#include <stdio.h>
#include <string.h>

static bool names_setting(const char *list, const char *settings)
{
    struct setting_text s, other;
    return settings_next(&settings, &s) && settings_find(list, s.name, s.name_size, &other);
}

/* Adds the settings whose names are not in the list yet. False: no room. */
static bool add_settings(char *list, size_t size, const char *settings)
{
    struct setting_text s, other;
    while (settings_next(&settings, &s)) {
        size_t used = strlen(list), n = s.name_size + 1 + s.value_size;
        if (settings_find(list, s.name, s.name_size, &other))
            continue;
        if (used + n + 2 > size)
            return false;
        snprintf(list + used, size - used, "%s%.*s=%.*s", used ? ";" : "", (int)s.name_size, s.name,
                 (int)s.value_size, s.value);
    }
    return true;
}

void trial_name(struct tried *c, const struct outcome *o)
{
    snprintf(c->rule, sizeof c->rule, "%s", o->rule->id);
    snprintf(c->title, sizeof c->title, "%s", o->title);
}

int trial_predict(struct tried *c, const struct trial *t, struct loaded *l, struct err *e)
{
    struct span_ns s = {0};
    int rc = 0;
    if (t->step_ns <= 0)
        return 0;
    if (c->advice_count == 1) {
        const struct outcome *o = c->advice[0];
        s = (struct span_ns){o->saves_low_ns, o->saves_mid_ns, o->saves_high_ns, o->least_ns};
        rc = !o->upper_bound;
        snprintf(c->edit, sizeof c->edit, "%s", edit_name(&o->edit));
        c->own_low = (double)o->own_low_ns / (double)t->step_ns;
        c->own_high = (double)o->own_high_ns / (double)t->step_ns;
        c->at_most = rc ? 0 : (double)o->saves_high_ns / (double)t->step_ns;
    } else {
        rc = advice_together(l->analysis, c->advice, c->advice_count, &s, e);
        for (size_t i = 0; rc == 0 && i < c->advice_count; i++)
            c->at_most += (double)c->advice[i]->saves_high_ns / (double)t->step_ns;
        c->at_most = c->at_most < 1 ? c->at_most : 1;
    }
    /* Holds for what is advised, not for other values of the setting. */
    c->predicted.at_most = c->at_most;
    if (rc == 1)
        c->predicted = (struct ab_prediction){true, (double)s.low_ns / (double)t->step_ns,
                                              (double)s.mid_ns / (double)t->step_ns,
                                              (double)s.high_ns / (double)t->step_ns, 0};
    return rc < 0 ? -1 : 0;
}

/* For one setting of which the advice sets other values, alone or with others: the bound, which is
 * the cost of the cause, holds for all values. */
static void advise_otherwise(struct tried *c, const struct trial *t, const struct advice *a)
{
    for (size_t i = 0; i < a->ranked_count && !strchr(c->settings, ';'); i++) {
        const struct outcome *o = a->ranked[i];
        if (!o->setting || !names_setting(c->settings, o->setting))
            continue;
        trial_name(c, o);
        snprintf(c->advised, sizeof c->advised, "%s", o->setting);
        if (o->upper_bound)
            c->at_most = (double)o->saves_high_ns / (double)t->step_ns;
        return;
    }
}

static int choose_asked(struct trial *t, struct loaded *l, const char *apply, struct err *e)
{
    const struct advice *a = l->analysis;
    struct tried *c = &t->change[t->count++];
    char covered[sizeof c->settings] = "";
    if (!settings_copy(c->settings, sizeof c->settings, apply, ';'))
        return err_set(e, "--apply is too long");
    for (size_t i = 0; i < a->ranked_count && c->advice_count < TRY_ADVICE; i++) {
        const struct outcome *o = a->ranked[i];
        if (!o->setting || !settings_hold(c->settings, o->setting) ||
            settings_hold(covered, o->setting))
            continue;
        c->advice[c->advice_count++] = o;
        add_settings(covered, sizeof covered, o->setting);
    }
    if (!settings_hold(covered, c->settings)) /* the effect of the other settings is unknown */
        c->advice_count = 0;
    if (c->advice_count == 0 && t->step_ns > 0)
        advise_otherwise(c, t, a);
    if (c->advice_count == 1)
        trial_name(c, c->advice[0]);
    return trial_predict(c, t, l, e);
}

static bool chosen(const struct trial *t, const char *setting)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->change[i].settings, setting) == 0)
            return true;
    return false;
}

void trial_pass(struct trial *t, const struct outcome *o)
{
    if (t->passed_count == TRY_ADVICE)
        return;
    struct passed *p = &t->passed[t->passed_count++];
    snprintf(p->rule, sizeof p->rule, "%s", o->rule->id);
    if (o->setting) /* in the form in which --apply takes it from a shell */
        settings_copy(p->setting, sizeof p->setting, o->setting, ',');
}

/* Says why fewer changes than `top` are tried. */
static void why_fewer(struct trial *t, const struct advice *a, int top)
{
    const char *one = a->ranked_count == 1 ? "finding" : "findings";
    if (a->ranked_count == 0)
        snprintf(t->fewer, sizeof t->fewer, "the first run gave no advice");
    else if (a->ranked_count < (size_t)top)
        snprintf(t->fewer, sizeof t->fewer,
                 "the first run gave %zu %s, of which gpuprof can apply %zu", a->ranked_count, one,
                 t->count);
    else
        snprintf(t->fewer, sizeof t->fewer,
                 "of the first run's %zu %s, gpuprof can apply %zu, each by its own setting",
                 a->ranked_count, one, t->count);
}

static int choose_top(struct trial *t, struct loaded *l, int top, struct err *e)
{
    const struct advice *a = l->analysis;
    for (size_t i = 0; i < a->ranked_count && t->count < (size_t)top; i++) {
        const struct outcome *o = a->ranked[i];
        if (!o->setting || settings_change_numbers(o->setting))
            trial_pass(t, o);
        if (!o->setting || settings_change_numbers(o->setting) || chosen(t, o->setting))
            continue;
        struct tried *c = &t->change[t->count++];
        snprintf(c->settings, sizeof c->settings, "%s", o->setting);
        trial_name(c, o);
        c->advice[c->advice_count++] = o;
        if (trial_predict(c, t, l, e) < 0)
            return -1;
    }
    if (t->count < (size_t)top)
        why_fewer(t, a, top);
    if (t->count)
        return 0;
    for (size_t i = 0; i < t->passed_count; i++)
        if (*t->passed[i].setting)
            return err_set(e, "%s changes the computed numbers: request it with --apply %s",
                           t->passed[i].rule, t->passed[i].setting);
    return err_set(e, "nothing to try, %s: name a change with --apply", t->fewer);
}

int trial_choose(struct trial *t, struct loaded *l, struct err *e)
{
    const struct series *s = t->in;
    t->step_ns = l->analysis->facts->step_ns;
    if (!l->analysis->whatif.trusted && l->analysis->whatif.why_not)
        snprintf(t->why_not, sizeof t->why_not, "%s", l->analysis->whatif.why_not);
    if (load_virtual(l))
        snprintf(t->gpu, sizeof t->gpu, "%s", load_virtual(l));
    terminal_clean(t->gpu);
    if (t->count) /* a patch */
        return 0;
    if (s->fix)
        return trial_fix(t, l, e);
    return s->apply ? choose_asked(t, l, s->apply, e) : choose_top(t, l, s->top ? s->top : 1, e);
}

int trial_join(struct trial *t, struct loaded *l, struct err *e)
{
    struct tried *c = &t->change[t->count];
    size_t obeyed = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct tried *one = &t->change[i];
        if (one->refused || !add_settings(c->settings, sizeof c->settings, one->settings))
            continue;
        obeyed++;
        for (size_t k = 0; k < one->advice_count && c->advice_count < TRY_ADVICE; k++)
            c->advice[c->advice_count++] = one->advice[k];
    }
    if (obeyed < 2)
        return 0;
    c->together = true;
    t->count++;
    return trial_predict(c, t, l, e);
}
