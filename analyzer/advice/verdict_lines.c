/* The line of the user's program behind the verdict: what no rule knows is named all the same. */
#include "analyzer/advice/verdict.h"
#include "analyzer/queries/lines.h"
#include "base/size.h"

/* A wait for data is at the head of a loop: what the loader's workers do meanwhile says more. */
static bool waits_for_workers(const struct facts *f, const struct line *l)
{
    int64_t ns = l->part_ns[PART_IDLE_INPUT] + l->part_ns[PART_DATA];
    return ns * 2 > l->ns && facts_lines(f, LINES_WORKERS)->count > 0;
}

const char *verdict_line(struct advice *a)
{
    const struct facts *f = a->facts;
    const struct line *l = query_cause_line(f);
    char text[512], ns[32], step[32];
    if (!l)
        return "";
    const char *worker = waits_for_workers(f, l) ? query_worker_line(f, &a->arena) : "";
    const char *out = arena_printf(
        &a->arena, " %s of %s %s: %s%s%s.", time_words(ns, sizeof ns, l->ns),
        time_words(step, sizeof step, f->step_ns), scope_words(f)->per,
        line_text(l, text, sizeof text), *worker ? "; its workers make batches in " : "", worker);
    return out ? out : "";
}

const char *verdict_other_line(struct advice *a)
{
    const struct lines *l = facts_lines(a->facts, LINES_OTHER);
    char text[512], ns[32];
    if (l->count == 0 || l->at[0].ns * 2 < l->ns)
        return "";
    const char *out =
        arena_printf(&a->arena, " Most of that, %s: %s.", time_words(ns, sizeof ns, l->at[0].ns),
                     line_text(&l->at[0], text, sizeof text));
    return out ? out : "";
}

const char *verdict_line_next(struct advice *a)
{
    const struct facts *f = a->facts;
    const struct line *l = query_cause_line(f);
    char text[512], ns[32];
    if (!l)
        return NULL;
    return arena_printf(&a->arena, "Look at this line, which takes %s (%.0f %%) %s: %s.",
                        time_words(ns, sizeof ns, l->ns),
                        100.0 * (double)l->ns / (double)f->step_ns, scope_words(f)->of,
                        line_text(l, text, sizeof text));
}

bool advice_names_line(const struct advice *a)
{
    return query_cause_line(a->facts) != NULL;
}
