/* The host's time before a window. A window lasts from the GPU's first work, so what the launching
 * thread does before it is in no share: a loader's first batch, a data set that is read. */
#include "analyzer/advice/passes.h"
#include "analyzer/advice/verdict.h"
#include "analyzer/queries/query.h"

/* The thread that launches the window's first work; TL_NONE: not recorded. */
static uint32_t launching_thread(const struct timeline *t, int64_t from_ns)
{
    for (size_t i = 0; i < t->op_count; i++)
        if (t->ops[i].start_ns >= from_ns && t->ops[i].api != TL_NONE)
            return t->apis[t->ops[i].api].thread;
    return TL_NONE;
}

/* What the thread does before `until`: since when, and the longest range or call that ends by
 * then. */
struct before {
    int64_t since_ns, longest_ns;
    uint32_t name;
};

static void add(struct before *b, int64_t until, int64_t start, int64_t end, uint32_t name)
{
    b->since_ns = start < b->since_ns ? start : b->since_ns;
    if (end > until || end - start <= b->longest_ns)
        return;
    b->longest_ns = end - start;
    b->name = name;
}

static struct before look(const struct timeline *t, uint32_t thread, int64_t until)
{
    struct before b = {.since_ns = until};
    for (size_t i = 0; i < t->range_count; i++)
        if (t->ranges[i].thread == thread && t->ranges[i].start_ns < until)
            add(&b, until, t->ranges[i].start_ns, t->ranges[i].end_ns, t->ranges[i].name);
    for (size_t i = 0; i < t->api_count; i++)
        if (t->apis[i].thread == thread && t->apis[i].start_ns < until)
            add(&b, until, t->apis[i].start_ns, t->apis[i].end_ns, t->apis[i].name);
    return b;
}

const char *verdict_before(struct advice *a)
{
    const struct facts *f = a->facts;
    if (!analysis_of_window(f) || f->window_count)
        return "";
    int64_t from = f->steps.at[0].from_ns;
    uint32_t thread = launching_thread(f->tl, from);
    struct before b = {.since_ns = from};
    if (thread != TL_NONE)
        b = look(f->tl, thread, from);
    int64_t ns = from - b.since_ns;
    if (ns <= f->step_ns)
        return "";
    const char *most =
        b.longest_ns * 100 < ns * ADVICE_LOST_PCT
            ? ""
            : arena_printf(&a->arena, ", %s of it in '%.80s'", time_text(&a->arena, b.longest_ns),
                           tl_text(f->tl, b.name));
    return arena_printf(&a->arena, " Before the window the host takes %s%s: that is in no share.",
                        time_text(&a->arena, ns), most ? most : "");
}
