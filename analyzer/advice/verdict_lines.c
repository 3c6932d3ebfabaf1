/* Names the line of the user's program behind the verdict, also where no rule has a remedy for
 * it. */
#include "analyzer/advice/verdict.h"
#include "analyzer/queries/lines.h"
#include "analyzer/queries/query.h"
#include "base/size.h"

const char *verdict_line(struct advice *a)
{
    const struct facts *f = a->facts;
    struct query_cause c = query_cause(f);
    char ns[32], step[32];
    if (!c.line)
        return "";
    /* The head of a loop shows little; the line in which the loader's workers make batches shows
     * more. */
    const char *worker = query_line_of_input(c.line) ? query_worker_line(f, &a->arena) : "";
    const char *out = arena_printf(
        &a->arena, " %s of %s %s pass in %s%s%s.", time_words(ns, sizeof ns, c.ns),
        time_words(step, sizeof step, f->step_ns), scope_words(f)->per,
        query_cause_text(&c, &a->arena), *worker ? "; its workers make batches in " : "", worker);
    return out ? out : "";
}

enum { LINES_NAMED = 3 };

const char *verdict_computing_lines(struct advice *a)
{
    const struct facts *f = a->facts;
    const struct lines *l = facts_lines(f, LINES_STEP);
    const char *list = "";
    char text[512];
    for (size_t i = 0; i < l->count && i < LINES_NAMED && list; i++)
        if (l->at[i].ns * QUERY_SOME >= f->step_ns)
            list = arena_printf(&a->arena, "%s%s%.0f %% %s", list, *list ? "; " : "",
                                100.0 * (double)l->at[i].ns / (double)f->step_ns,
                                line_text(&l->at[i], text, sizeof text));
    const char *out = list && *list ? arena_printf(&a->arena, " By line: %s.", list) : "";
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
