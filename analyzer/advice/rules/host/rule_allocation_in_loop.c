/* Fires if the program allocates and frees memory in every step: allocations block the host, and a
 * free waits for the GPU. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/search.h"
#include "analyzer/queries/warm.h"

#include <string.h>

/* Memory calls in used steps of the training process. */
struct churn {
    int64_t allocations, frees, host_allocations, ns;
    int64_t usual_ns;               /* in calls too short for start-up */
    uint32_t longest, longest_free; /* api index, TL_NONE */
};

static bool longer(const struct timeline *t, uint32_t api, uint32_t than)
{
    const struct api *a = &t->apis[api], *b = than == TL_NONE ? NULL : &t->apis[than];
    return !b || a->end_ns - a->start_ns > b->end_ns - b->start_ns;
}

/* Counts the calls, except those that belong to a search for algorithms. */
static struct churn churn_of(const struct facts *f, const struct query_search *search)
{
    const struct timeline *t = f->tl;
    struct churn c = {.longest = TL_NONE, .longest_free = TL_NONE};
    for (uint32_t i = 0; i < t->api_count; i++) {
        const struct api *p = &t->apis[i];
        bool memory = p->kind == API_ALLOC || p->kind == API_FREE || p->kind == API_HOST_ALLOC;
        if (!memory || (search->call_marks && search->call_marks[i]) ||
            t->threads[p->thread].process != f->steps.process ||
            query_step_at(f, p->start_ns) == TL_NONE)
            continue;
        int64_t ns = p->end_ns - p->start_ns;
        c.allocations += p->kind == API_ALLOC;
        c.frees += p->kind == API_FREE;
        c.host_allocations += p->kind == API_HOST_ALLOC;
        c.ns += ns;
        c.usual_ns += ns < QUERY_WARM_LONG_NS ? ns : 0;
        c.longest = longer(t, i, c.longest) ? i : c.longest;
        if (p->kind == API_FREE && longer(t, i, c.longest_free))
            c.longest_free = i;
    }
    return c;
}

static bool is_removed_call(const struct facts *f, uint32_t api)
{
    uint8_t kind = f->tl->apis[api].kind;
    return kind == API_ALLOC || kind == API_FREE || kind == API_HOST_ALLOC;
}

/* If nearly every tensor calls the driver, advises to keep a memory pool: a pool, even one that is
 * emptied now and then, calls it less often. */
static void without_pool(const struct churn *c, double steps, struct outcome *o)
{
    if ((double)c->allocations < RULES_ALLOCATES_OFTEN * steps ||
        (double)c->frees < RULES_ALLOCATES_OFTEN * steps)
        return;
    o->remedy.action = ACTION_KEEP_MEMORY_POOL;
}

/* Returns the range to name: that of the longest free if it is a line of the program that
 * synchronises (later allocations follow from it), or else that of most of the idle time. */
static const char *where_of(const struct facts *f, const struct churn *c)
{
    const char *frees = c->longest_free == TL_NONE ? NULL : query_range_of(f, c->longest_free);
    return frees && strncmp(frees, "sync ", 5) == 0 ? frees : query_gap_range(f, PART_IDLE_ALLOC);
}

/* Returns "once" or e.g. "3.5 times". */
static const char *times(struct arena *arena, double n)
{
    if (n == 1)
        return "once";
    return arena_printf(arena, "%.*f times", n < 10 && n != (double)(int64_t)n ? 1 : 0, n);
}

/* Returns e.g. "allocates memory 3 times and frees it once". */
static const char *what_it_does(struct arena *arena, double allocations, double frees)
{
    if (frees == 0)
        return arena_printf(arena, "allocates memory %s", times(arena, allocations));
    if (allocations == 0)
        return arena_printf(arena, "frees memory %s", times(arena, frees));
    return arena_printf(arena, "allocates memory %s and frees it %s", times(arena, allocations),
                        times(arena, frees));
}

static void check_allocation_in_loop(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_search search = query_search(f, arena);
    struct churn c = churn_of(f, &search);
    int64_t all = c.allocations + c.frees + c.host_allocations;
    int64_t idle = f->breakdown_ns[PART_IDLE_ALLOC] - per_step(f, search.alloc_ns);
    bool window = analysis_of_window(f);
    if (window) /* much of it may be start-up */
        idle = all < QUERY_MANY_ALLOCATIONS ? 0 : c.usual_ns < idle ? c.usual_ns : idle;
    double used = (double)(f->steps.used ? f->steps.used : 1);
    size_t with_it = query_steps_with(f, PART_IDLE_ALLOC);
    o->why = arena_printf(arena, "%.1f allocations and frees %s leave the GPU idle for %.3f ms",
                          (double)all / used, scope_words(f)->per, ms(idle));
    if (idle * QUERY_WORTH < f->step_ns)
        return;
    if (with_it * 2 < f->steps.used) {
        o->why =
            arena_printf(arena, "only %zu of %zu steps allocate memory: the pool is still growing",
                         with_it, f->steps.used);
        return;
    }
    const char *rows = "SELECT a.* FROM api a JOIN string s ON s.id = a.name WHERE s.text LIKE "
                       "'%alloc%' OR s.text LIKE '%Alloc%' OR s.text LIKE '%Free%'";
    outcome_evidence_idle(o, f, "GPU idle for allocations and frees", ms(idle), PART_IDLE_ALLOC);
    outcome_evidence_per(o, "allocations of GPU memory", (double)c.allocations / used, "count",
                         rows);
    outcome_evidence_per(o, "frees", (double)c.frees / used, "count", rows);
    if (c.host_allocations)
        outcome_evidence_per(o, "allocations of pinned memory", (double)c.host_allocations / used,
                             "count", rows);
    outcome_evidence_per(o, "host time in these calls", ms(per_step(f, c.ns)), "ms", rows);
    o->edit = (struct edit){.kind = &edit_remove, .at.calls = is_removed_call};
    const char *where = where_of(f, &c);
    const char *what = what_it_does(arena, (double)(c.allocations + c.host_allocations) / used,
                                    (double)c.frees / used);
    outcome_fires(o, idle,
                  arena_printf(arena, "the program %s %s%s%s%s; the GPU idles for %s meanwhile",
                               what ? what : "allocates memory", scope_words(f)->per,
                               where ? " (in range '" : "", where ? where : "", where ? "')" : "",
                               time_text(arena, idle)));
    without_pool(&c, used, o);
    outcome_example_call(o, f->tl, c.longest, "longest allocation or free");
    outcome_example_gaps(o, f, PART_IDLE_ALLOC, "GPU idle, host allocates or frees");
}

const struct rule rule_allocation_in_loop = {
    .id = "allocation-in-loop",
    .title = "Allocate memory before the loop, not in it",
    .needs = HAVE_KERNELS | HAVE_API,
    .check = check_allocation_in_loop,
    .in_window = true,
    .window_title = "Allocate memory once and reuse it",
    .looks_for = "cudaMalloc, cudaFree, cudaHostAlloc and similar calls in most of the steady "
                 "steps while the GPU idles.",
    .doc = "cudaFree waits until the GPU has finished all queued work, and cudaMalloc changes the "
           "page tables: after either call the queue is empty. Frameworks keep a memory pool. In "
           "their loops these calls mean that the program empties the pool (empty_cache), or that "
           "the pool is fragmented or too small, so every step asks the driver again.",
    .remedy = {.action = ACTION_ALLOCATE_ONCE, .object.kind = OBJECT_CALL},
    .tips = {{"allocator", "Keep allocations out of the loop", NULL}},
};
