/* Chooses the line of the program to name for what a step loses. */
#include "analyzer/queries/lines.h"

#include "analyzer/queries/limits.h"
#include "base/size.h"

#include <string.h>

const struct line *query_line_of(const struct facts *f, uint32_t parts, int64_t *ns)
{
    int64_t all = 0;
    const struct line *l = facts_line_of(f, parts, ns);
    for (int p = 0; p < PART_COUNT; p++)
        all += parts >> p & 1 ? f->breakdown_ns[p] : 0;
    return l && (double)*ns >= QUERY_LINE_SHARE * (double)all ? l : NULL;
}

const char *query_line_text(const struct facts *f, struct arena *arena, uint32_t parts)
{
    int64_t ns;
    char text[512], time[32];
    const struct line *l = query_line_of(f, parts, &ns);
    const char *out = l ? arena_printf(arena, "; %s of it: %s", time_words(time, sizeof time, ns),
                                       line_text(l, text, sizeof text))
                        : NULL;
    return out ? out : "";
}

static const struct line *most_of(const struct facts *f, enum lines_of which)
{
    const struct lines *l = facts_lines(f, which);
    return l->count && (double)l->at[0].looks >= QUERY_LINE_SHARE * (double)l->looks ? &l->at[0]
                                                                                     : NULL;
}

const char *query_wait_line(const struct facts *f, struct arena *arena)
{
    const struct line *l = most_of(f, LINES_WAITS);
    return l ? arena_printf(arena, "%s%s%s", l->function, *l->function ? "() " : "", l->place)
             : NULL;
}

const char *query_worker_line(const struct facts *f, struct arena *arena)
{
    const struct line *l = most_of(f, LINES_WORKERS);
    char text[512];
    if (!l)
        return "";
    const char *out =
        arena_printf(arena, "%s, %.0f %% of it", line_text(l, text, sizeof text),
                     100.0 * (double)l->looks / (double)facts_lines(f, LINES_WORKERS)->looks);
    return out ? out : "";
}

/* PyTorch works in it, or waits for its own threads: that is what the model computes. */
static bool is_computing(const struct line *l)
{
    static const enum part own[] = {PART_FORWARD, PART_BACKWARD, PART_OPTIMIZER};
    int64_t ns = 0;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        ns += l->part_ns[own[i]];
    bool torch = strncmp(l->called, "torch.", 6) == 0;
    return l->does == LINE_BACKWARD || str_ends_with(l->innermost, "_engine_run_backward") ||
           (torch && ns * 2 > l->ns && (l->does == LINE_COMPUTES || l->does == LINE_STARVES));
}

/* Where cores are rare, all computing takes longer, and a line that sleeps as long as ever would
 * vanish: what is without a core counts for nobody. */
static int64_t own_ns(const struct line *l)
{
    return l->ns - l->does_ns[LINE_STARVES];
}

const struct line *query_cause_line(const struct facts *f)
{
    const struct lines *all = facts_lines(f, LINES_STEP);
    const struct line *best = NULL;
    int64_t whole = f->step_ns;
    for (size_t i = 0; i < all->count; i++) {
        const struct line *l = &all->at[i];
        whole -= l->does_ns[LINE_STARVES];
        if (!is_computing(l) && (!best || own_ns(l) > own_ns(best)))
            best = l;
    }
    return best && own_ns(best) * QUERY_CAUSE_LINE >= whole ? best : NULL;
}
