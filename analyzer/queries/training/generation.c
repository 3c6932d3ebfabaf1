/* Finds calls of Transformers' generate(), and how long the GPU waits in them. */
#include "analyzer/queries/training/generation.h"

#include "analyzer/measure/spans.h"
#include "analyzer/queries/query.h"
#include "wire/fact_keys.h"

#include <stdlib.h>
#include <string.h>

const char query_generation_sql[] =
    "SELECT r.* FROM range r JOIN string s ON s.id = r.name WHERE s.text = 'transformers.generate' "
    "OR s.text LIKE '%generation/utils.py(%): generate'";

/* True for "transformers.generate" of the hook and ".../transformers/generation/utils.py(2417):
 * generate" of recorded stacks. */
static bool generates(const char *name)
{
    static const char call[] = ": generate";
    size_t length = strlen(name), tail = sizeof call - 1;
    return strcmp(name, "transformers.generate") == 0 ||
           (length > tail && strcmp(name + length - tail, call) == 0 &&
            strstr(name, "generation/utils.py("));
}

/* Finds the calls. If a wrapper's generate() contains another one, both count as
 * one. -1: out of memory. */
static int find_calls(const struct facts *f, struct spans *calls, struct query_generation *g)
{
    const struct timeline *t = f->tl;
    const struct thread *th = facts_main_thread(f);
    /* by string id; 1: generates, 2: does not */
    uint8_t *known = calloc((size_t)t->strings.n + 1, 1);
    int rc = known ? 0 : -1;
    for (uint32_t i = th->first_range; rc == 0 && i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        if (!known[r->name])
            known[r->name] = generates(tl_text(t, r->name)) ? 1 : 2;
        if (known[r->name] != 1 || query_step_at(f, r->start_ns) == TL_NONE ||
            (calls->n && r->start_ns < calls->at[calls->n - 1].end_ns))
            continue;
        rc = spans_add(calls, r->start_ns, r->end_ns);
        g->calls++;
        g->ns += r->end_ns - r->start_ns;
        if (g->longest == TL_NONE ||
            r->end_ns - r->start_ns > t->ranges[g->longest].end_ns - t->ranges[g->longest].start_ns)
            g->longest = i;
    }
    free(known);
    return rc < 0 ? -1 : spans_index(calls);
}

static void count_launches(const struct facts *f, const struct spans *calls,
                           struct query_generation *g)
{
    const struct thread *th = facts_main_thread(f);
    for (uint32_t i = th->first_api; i < th->first_api + th->apis; i++) {
        const struct api *c = &f->tl->apis[i];
        if (c->layer == 0 && (c->kind == API_LAUNCH || c->kind == API_GRAPH_LAUNCH))
            g->launches += spans_covered(calls, c->start_ns, c->start_ns + 1);
    }
}

static void sum_gaps(const struct facts *f, const struct spans *calls, struct query_generation *g)
{
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *x = &f->gaps[i];
        if (x->step == TL_NONE || !f->steps.at[x->step].used ||
            spans_covered(calls, x->start_ns, x->end_ns) * 2 < x->end_ns - x->start_ns)
            continue;
        g->host_of_gap[i] = gap_ns(f, x, PART_IDLE_HOST);
        g->idle_ns += g->host_of_gap[i] + gap_ns(f, x, PART_IDLE_LAUNCH);
    }
}

int query_generation(const struct facts *f, struct arena *arena, struct query_generation *g)
{
    const char *now = timeline_meta(f->tl, FACT_TRANSFORMERS_GENERATE);
    *g = (struct query_generation){
        .longest = TL_NONE, .cached = now && strncmp(now, "cache_implementation=None", 25) != 0};
    g->host_of_gap = arena_array(arena, f->gap_count + 1, sizeof *g->host_of_gap);
    struct spans calls = {0};
    int rc = g->host_of_gap ? 0 : -1;
    if (rc == 0 && f->tl->thread_count && f->tl->have & HAVE_RANGES)
        rc = find_calls(f, &calls, g);
    if (rc == 0 && g->calls) {
        count_launches(f, &calls, g);
        sum_gaps(f, &calls, g);
    }
    spans_release(&calls);
    return rc;
}

bool query_generates(const struct facts *f, const struct query_generation *g)
{
    return f->step_ns > 0 && per_step(f, g->idle_ns) * 100 >= QUERY_GENERATES_PCT * f->step_ns;
}
