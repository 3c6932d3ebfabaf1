/* The one sentence of diff and gate (comparison.h). */
#include "report/words/comparison.h"

#include "report/words/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool comparison_lists(const struct change *c)
{
    return strcmp(c->kind, "finding") != 0;
}

/* The part of the step that changed most in the direction of the whole; NULL: none. */
static const struct change *why(const struct diff *d)
{
    for (size_t i = 0; i < d->change_count; i++) {
        const struct change *c = &d->changes[i];
        if (strcmp(c->kind, "part") == 0 && (c->new_ns > c->base_ns) == (d->new_ns > d->base_ns))
            return c;
    }
    return NULL;
}

const char *comparison_says(struct sentence *b, const struct diff *d)
{
    struct text now, base, by, most;
    if (d->base_ns <= 0 || d->new_ns <= 0 || (d->of_windows && d->comparable))
        return NULL;
    int64_t moved = d->new_ns - d->base_ns;
    const char *unit = d->of_windows ? "for the same work"
                       : d->by_mean  ? "per step on average"
                                     : "per step";
    if (d->per_sample) {
        snprintf(b->s, sizeof b->s, "A sample takes %.1f %% %s time in NEW than in BASE.",
                 fabs(d->ratio - 1) * 100, d->ratio > 1 ? "more" : "less");
        return b->s;
    }
    if (!d->of_windows && d->enough && d->ratio_low <= 1 && d->ratio_high >= 1) {
        snprintf(b->s, sizeof b->s,
                 "No difference can be told: NEW takes %s %s, BASE %s, and their steps vary as "
                 "much as that.",
                 text_ms(&now, d->new_ns), unit, text_ms(&base, d->base_ns));
        return b->s;
    }
    const struct change *c = why(d);
    size_t n =
        (size_t)snprintf(b->s, sizeof b->s, "NEW takes %s %s, %s (%.1f %%) %s than BASE",
                         text_ms(&now, d->new_ns), unit, text_ms(&by, moved < 0 ? -moved : moved),
                         fabs(d->ratio - 1) * 100, moved > 0 ? "more" : "less");
    if (c && n < sizeof b->s)
        n += (size_t)snprintf(b->s + n, sizeof b->s - n, "; most of it: %s, %s", change_words(c),
                              text_change(&most, c->new_ns - c->base_ns));
    if (n < sizeof b->s - 1)
        strcpy(b->s + n, ".");
    return b->s;
}

static void add(struct sentence *b, const char *who, const struct diff *d, bool now)
{
    bool any = false;
    for (size_t i = 0; i < d->change_count; i++) {
        const struct change *c = &d->changes[i];
        if (comparison_lists(c) || (now ? c->base_ns : c->new_ns) != 0)
            continue;
        size_t n = strlen(b->s);
        snprintf(b->s + n, sizeof b->s - n, "%s%s%s",
                 any ? ", "
                 : n ? "; only "
                     : "only ",
                 any ? "" : who, c->what);
        any = true;
    }
}

const char *comparison_advice(struct sentence *b, const struct diff *d)
{
    b->s[0] = 0;
    add(b, "NEW has ", d, true);
    add(b, "BASE has ", d, false);
    return *b->s ? b->s : NULL;
}

static const struct gate_check *worst(const struct gate *g)
{
    const struct gate_check *found = NULL;
    for (size_t i = 0; i < g->check_count; i++) {
        const struct gate_check *c = &g->checks[i];
        if (c->verdict == g->verdict && (!found || (!*found->unit && *c->unit)))
            found = c;
    }
    return found;
}

const char *comparison_verdict(const struct gate *g)
{
    const struct gate_check *c = worst(g);
    return c ? text_check_verdict(c) : text_gate_verdict(g->verdict);
}

const char *comparison_gate(struct sentence *b, const struct gate *g)
{
    const struct gate_check *c = worst(g);
    const char *said = g->diff && (g->verdict == GATE_PASS || (c && *c->unit))
                           ? comparison_says(b, g->diff)
                           : NULL;
    if (g->verdict == GATE_INCONCLUSIVE || !said) {
        if (!c)
            return NULL;
        snprintf(b->s, sizeof b->s, "%s: %s.", c->name, c->why ? c->why : text_check_verdict(c));
    }
    return b->s;
}
