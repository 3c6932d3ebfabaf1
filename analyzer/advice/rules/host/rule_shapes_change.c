/* Fires if cuDNN's algorithms are searched for again and again, because new shapes keep coming. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/search.h"
#include "wire/fact_keys.h"

#include <string.h>

/* Searches behind the first used step. */
struct tuning {
    int64_t steps, with_search;
    int64_t calls, ns, compared, shapes;
    uint32_t longest; /* call index, TL_NONE */
};

static uint32_t step_of(const struct facts *f, int64_t ns)
{
    for (uint32_t i = 0; i < f->steps.count; i++)
        if (ns >= f->steps.at[i].start_ns && ns < f->steps.at[i].end_ns)
            return i;
    return TL_NONE;
}

static size_t first_used(const struct facts *f)
{
    size_t i = 0;
    while (i < f->steps.count && !f->steps.at[i].used)
        i++;
    return i;
}

/* Returns true for the first call of a search. Plans that are timed one after another are one
 * search. */
static bool begins(const struct timeline *t, size_t call)
{
    const struct call *c = &t->calls[call];
    return !c->trial || call == 0 || !c[-1].trial || c[-1].thread != c->thread ||
           c[-1].row.family != c->row.family ||
           memcmp(c[-1].row.dim, c->row.dim, sizeof c->row.dim) != 0;
}

/* Returns true if the same shape was searched for before: then the search is repeated in vain. */
static bool seen_before(const struct timeline *t, size_t call)
{
    const struct row_call *x = &t->calls[call].row;
    for (size_t i = 0; i < call; i++) {
        const struct row_call *y = &t->calls[i].row;
        if (x->family == y->family && x->function == y->function && x->in_type == y->in_type &&
            memcmp(x->dim, y->dim, sizeof x->dim) == 0)
            return true;
    }
    return false;
}

/* Returns until when the GPU may be idle for this search: also between two plans that are timed. */
static int64_t ends_at(const struct timeline *t, const struct call *c)
{
    const struct call *next = c + 1;
    bool goes_on = c->trial && next < t->calls + t->call_count && next->thread == c->thread;
    return goes_on ? next->row.start_ns : c->row.end_ns;
}

/* Returns the index of the first gap that ends after `ns`. */
static size_t gap_after(const struct facts *f, int64_t ns)
{
    size_t low = 0, high = f->gap_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->gaps[middle].end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the ns that a search costs: the GPU work that it launches, and the GPU's idle time during
 * it. Work that was queued before continues during the search and is not lost. */
static int64_t lost_to(const struct facts *f, const struct call *c)
{
    const struct timeline *t = f->tl;
    int64_t ns = 0, end_ns = ends_at(t, c);
    for (uint32_t k = 0; k < c->apis; k++) {
        uint32_t op = t->apis[c->first_api + k].op;
        for (; op != TL_NONE && op < t->op_count && t->ops[op].api == c->first_api + k; op++)
            ns += t->ops[op].end_ns - t->ops[op].start_ns;
    }
    for (size_t i = gap_after(f, c->row.start_ns); i < f->gap_count && f->gaps[i].start_ns < end_ns;
         i++) {
        const struct gap *g = &f->gaps[i];
        int64_t from = g->start_ns > c->row.start_ns ? g->start_ns : c->row.start_ns;
        int64_t to = g->end_ns < end_ns ? g->end_ns : end_ns;
        ns += to > from ? to - from : 0;
    }
    return ns;
}

static struct tuning measure_searches(const struct facts *f, struct arena *arena)
{
    enum { COMPARED = 2000 }; /* so many searches are compared with earlier ones */
    const struct timeline *t = f->tl;
    struct tuning u = {.longest = TL_NONE};
    size_t first = first_used(f);
    bool *with = arena_array(arena, f->steps.count + 1, sizeof *with);
    u.steps = (int64_t)(f->steps.count - first);
    for (size_t i = 0; i < t->call_count; i++) {
        const struct call *c = &t->calls[i];
        uint32_t step = query_searches(t, c) ? step_of(f, c->row.start_ns) : TL_NONE;
        if (step == TL_NONE || step < first || !with)
            continue;
        u.ns += lost_to(f, c);
        if (!begins(t, i))
            continue;
        u.with_search += !with[step];
        with[step] = true;
        u.calls++;
        u.compared += u.calls <= COMPARED;
        u.shapes += u.calls <= COMPARED && !seen_before(t, i);
        if (u.longest == TL_NONE ||
            c->row.end_ns - c->row.start_ns >
                t->calls[u.longest].row.end_ns - t->calls[u.longest].row.start_ns)
            u.longest = (uint32_t)i;
    }
    return u;
}

static void check_shapes_change(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_search s = query_search(f, arena);
    struct tuning u = measure_searches(f, arena);
    int64_t steps = u.steps > 0 ? u.steps : 1, cost = u.ns / steps;
    o->why = arena_printf(arena, "%lld of %lld steady steps search for convolution algorithms",
                          (long long)u.with_search, (long long)u.steps);
    if (u.with_search < 2 || cost * QUERY_WORTH < f->step_ns)
        return;
    const char *rows = "SELECT c.* FROM library_call c JOIN string s ON s.id = c.function WHERE "
                       "s.text LIKE '%Find%' OR s.text = 'cudnnBackendExecute'";
    outcome_evidence(o, "steady steps that search for algorithms",
                     100.0 * (double)u.with_search / (double)steps, "%", rows);
    outcome_evidence(o, "searches in them", (double)u.calls, "count", rows);
    outcome_evidence(o, "of them, for shapes not seen before", (double)u.shapes, "count", rows);
    outcome_evidence(o, "GPU time for the searches, work and idle, averaged over all steady steps",
                     ms(cost), "ms", rows);
    o->remedy.conditions[CONDITION_BENCHMARK_ON] = query_cudnn_benchmark(f);
    /* If most steps do not search, there is nothing to remove from the usual step: the saving stays
     * a bound. */
    if (u.with_search * 2 > u.steps && s.call_marks)
        o->edit = (struct edit){.kind = &edit_remove,
                                .at = {.op_marks = s.op_marks, .call_marks = s.call_marks}};
    outcome_fires(
        o, cost,
        arena_printf(arena,
                     "%lld of %lld steady steps search for convolution algorithms again, %s: %s "
                     "per step on average",
                     (long long)u.with_search, (long long)u.steps,
                     u.shapes * 2 >= u.compared ? "for new shapes"
                                                : "although the shapes are not new",
                     time_text(arena, cost)));
    const struct row_call *c = &f->tl->calls[u.longest].row;
    outcome_example(o, c->start_ns, c->end_ns, "longest search", TL_NONE);
}

const struct rule rule_shapes_change = {
    .id = "shapes-change",
    .title = "Keep the shapes fixed, so that tuning happens only once",
    .needs = HAVE_KERNELS | HAVE_CALLS | HAVE_STEPS,
    .check = check_shapes_change,
    .looks_for =
        "Searches for convolution algorithms in steps after the warm-up: calls of "
        "cudnnFind, or plans for the same sizes that run one after another with kernels of "
        "their own, as PyTorch 2 times them.",
    .program = {.line = FACT_TORCH_CUDNN_BENCHMARK_WHERE, .now = FACT_TORCH_CUDNN_BENCHMARK},
    .doc =
        "With torch.backends.cudnn.benchmark the library measures its algorithms for every new "
        "combination of "
        "sizes. A smaller batch at the end of each epoch, or images and sequences of varying size, "
        "each cost a search that takes many times as long as a step. Pad to a few sizes, drop the "
        "last short batch, or switch the search off. Steps with a search are often outliers that "
        "the median step excludes, so the saving is their mean over all steady steps.",
    .remedy = {.action = ACTION_FIX_SHAPES},
    .tips = {{"fixed-shapes", "Keep shapes fixed, or pad them to a few sizes", NULL}},
};
