/* Fires if cuDNN's algorithms are searched for again and again, because new shapes keep coming. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/search.h"
#include "wire/fact_keys.h"

#include <string.h>

enum { COMPARED = 2000 }; /* so many searches are compared with earlier ones */

/* Searches behind the first used step. */
struct tuning {
    int64_t steps, with_search;
    int64_t calls, ns, compared, shapes;
    int64_t start_ns, end_ns; /* the longest */
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

/* Returns the GPU work that the call launches, in ns. */
static int64_t launched_ns(const struct timeline *t, uint32_t api)
{
    int64_t ns = 0;
    uint32_t op = t->apis[api].op;
    for (; op != TL_NONE && op < t->op_count && t->ops[op].api == api; op++)
        ns += t->ops[op].end_ns - t->ops[op].start_ns;
    return ns;
}

static int64_t idle_within(const struct facts *f, int64_t start_ns, int64_t end_ns)
{
    int64_t ns = 0;
    for (size_t i = gap_after(f, start_ns); i < f->gap_count && f->gaps[i].start_ns < end_ns; i++) {
        const struct gap *g = &f->gaps[i];
        int64_t from = g->start_ns > start_ns ? g->start_ns : start_ns;
        int64_t to = g->end_ns < end_ns ? g->end_ns : end_ns;
        ns += to > from ? to - from : 0;
    }
    return ns;
}

/* Returns the ns that a search costs: the GPU work that it launches, and the GPU's idle time during
 * it. Work that was queued before continues during the search and is not lost. */
static int64_t lost_to(const struct facts *f, const struct call *c)
{
    int64_t ns = idle_within(f, c->row.start_ns, ends_at(f->tl, c));
    for (uint32_t k = 0; k < c->apis; k++)
        ns += launched_ns(f->tl, c->first_api + k);
    return ns;
}

/* The same of an operator that times plans. Its last work is the result, which stays. */
static int64_t lost_in(const struct facts *f, const struct range *r)
{
    const struct timeline *t = f->tl;
    const struct thread *th = &t->threads[r->thread];
    int64_t ns = idle_within(f, r->start_ns, r->end_ns), last = 0;
    for (uint32_t k = timeline_api_from(t, th, r->start_ns);
         k < th->first_api + th->apis && t->apis[k].start_ns < r->end_ns; k++)
        if (t->apis[k].end_ns <= r->end_ns && t->apis[k].op != TL_NONE) {
            last = launched_ns(t, k);
            ns += last;
        }
    return ns - last;
}

/* Adds a search. `with`: of its step, set. */
static void count(struct tuning *u, bool *with, bool is_new, int64_t start_ns, int64_t end_ns)
{
    u->with_search += !*with;
    *with = true;
    u->calls++;
    u->compared += u->calls <= COMPARED;
    u->shapes += is_new;
    if (end_ns - start_ns > u->end_ns - u->start_ns) {
        u->start_ns = start_ns;
        u->end_ns = end_ns;
    }
}

static struct tuning measure_searches(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    size_t first = first_used(f);
    struct tuning u = {.steps = (int64_t)(f->steps.count - first)};
    bool *with = arena_array(arena, f->steps.count + 1, sizeof *with);
    for (size_t i = 0; i < t->call_count; i++) {
        const struct call *c = &t->calls[i];
        uint32_t step = query_searches(t, c) ? step_of(f, c->row.start_ns) : TL_NONE;
        if (step == TL_NONE || step < first || !with)
            continue;
        u.ns += lost_to(f, c);
        if (!begins(t, i))
            continue;
        count(&u, &with[step], u.calls < COMPARED && !seen_before(t, i), c->row.start_ns,
              c->row.end_ns);
    }
    return u;
}

/* The same where operators, but no calls of the library were recorded. */
static struct tuning measure_operators(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    struct query_operators s = query_search_operators(f, arena);
    size_t first = first_used(f);
    struct tuning u = {.steps = (int64_t)(f->steps.count - first)};
    bool *with = arena_array(arena, f->steps.count + 1, sizeof *with);
    for (size_t i = 0; i < s.count && with; i++) {
        const struct range *r = &t->ranges[s.at[i]];
        uint32_t step = step_of(f, r->start_ns);
        bool seen = false;
        for (size_t k = 0; k < i && i < COMPARED && !seen; k++)
            seen = t->ranges[s.at[k]].name == r->name && t->ranges[s.at[k]].shapes == r->shapes;
        if (step == TL_NONE || step < first)
            continue;
        u.ns += lost_in(f, r);
        count(&u, &with[step], i < COMPARED && r->shapes && !seen, r->start_ns, r->end_ns);
    }
    return u;
}

static void check_shapes_change(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_search s = query_search(f, arena);
    const char *source = timeline_meta(f->tl, "source");
    bool operators = f->tl->call_count == 0, kineto = source && strcmp(source, "kineto") == 0;
    if (!kineto && !(f->tl->have & HAVE_CALLS)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: library calls (gpuprof run records them)";
        return;
    }
    struct tuning u = operators ? measure_operators(f, arena) : measure_searches(f, arena);
    int64_t steps = u.steps > 0 ? u.steps : 1, cost = u.ns / steps;
    o->why = arena_printf(arena, "%lld of %lld steady steps search for convolution algorithms",
                          (long long)u.with_search, (long long)u.steps);
    if (u.with_search < 2 || cost * QUERY_WORTH < f->step_ns)
        return;
    const char *rows =
        operators ? "SELECT a.* FROM api a JOIN string s ON s.id = a.name WHERE s.text = "
                    "'cudaEventElapsedTime'"
                  : "SELECT c.* FROM library_call c JOIN string s ON s.id = c.function WHERE "
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
    if (u.with_search * 2 > u.steps && s.call_marks && !operators)
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
    outcome_example(o, u.start_ns, u.end_ns, "longest search", TL_NONE);
}

const struct rule rule_shapes_change = {
    .id = "shapes-change",
    .title = "Keep the shapes fixed, so that tuning happens only once",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_shapes_change,
    .looks_for =
        "Searches for convolution algorithms in steps after the warm-up: calls of "
        "cudnnFind, or plans for the same sizes that run one after another with kernels of "
        "their own, as PyTorch 2 times them; in traces without library calls, operators of "
        "convolutions that measure the time between two events.",
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
