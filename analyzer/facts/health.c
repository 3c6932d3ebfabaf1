/* Self-checks: how many records were lost, what time stays unexplained, and
 * what the profiler cost. */
#include "analyzer/facts/health_kinds.h"
#include "analyzer/facts/limits.h"
#include "analyzer/facts/passes.h"

#include "analyzer/timeline/sort.h"

#include <stdlib.h>
#include <string.h>

/* Nanoseconds per record; -1: missing or not plausible (a damaged file). */
static double cost_of(const char *text)
{
    double ns = text ? strtod(text, NULL) : -1;
    return ns >= 0 && ns <= FACTS_COST_NS ? ns : -1;
}

/* What the agent's ring records cost the program's threads: the cost of one record, which the agent
 * measures at its start, times the number of records. -1: not measured. */
static double agent_ns(const struct timeline *t)
{
    double range = cost_of(timeline_meta(t, "cost.range_ns"));
    double call = cost_of(timeline_meta(t, "cost.call_ns"));
    if (range < 0 || call < 0)
        return -1;
    return range * (double)t->range_count + call * (double)t->call_count;
}

/* Names of overhead records of CUPTI and Nsight that delay the program. Nsight writes some
 * of them in lower case. */
static bool costs_the_program(const char *name)
{
    return strcasestr(name, "flush") || strcasestr(name, "instrument") ||
           strcasestr(name, "resource");
}

/* By thread: does it call CUDA? Overhead on a thread of CUPTI or of the agent, which waits for the
 * GPU before it flushes, does not delay the program. NULL: out of memory; the caller frees it. */
static bool *threads_that_call(const struct timeline *t)
{
    bool *calls = calloc(t->thread_count + 1, sizeof *calls);
    for (size_t i = 0; calls && i < t->api_count; i++)
        calls[t->apis[i].thread] = true;
    return calls;
}

static bool is_cost(const struct timeline *t, const bool *calls, const struct row_overhead *o)
{
    uint32_t thread = timeline_thread_index(t, o->thread);
    return costs_the_program(tl_text(t, o->name)) &&
           (thread == TL_NONE || t->api_count == 0 || calls[thread]);
}

/* Time of CUPTI's overhead records on the program's threads. Nested records count once. Only
 * recorded time counts: flushes at the program's exit delay no step. -1: out of memory. */
static int64_t overhead_ns(const struct facts *f)
{
    const struct timeline *t = f->tl;
    struct sort_key *keys = malloc((t->overhead_count + 1) * sizeof *keys);
    bool *calls = threads_that_call(t);
    int64_t cost = 0, until = t->start_ns;
    size_t n = 0;
    for (size_t i = 0; keys && calls && i < t->overhead_count; i++)
        if (is_cost(t, calls, &t->overheads[i]))
            keys[n++] = (struct sort_key){.time = t->overheads[i].start_ns, .index = (uint32_t)i};
    int rc = keys && calls ? sort_keys(keys, n) : -1;
    for (size_t k = 0; rc >= 0 && k < n; k++) {
        const struct row_overhead *o = &t->overheads[keys[k].index];
        int64_t from = o->start_ns > until ? o->start_ns : until;
        int64_t to = o->end_ns < t->end_ns ? o->end_ns : t->end_ns;
        if (to <= from)
            continue;
        cost += recorded_known_ns(f, from, to);
        until = to;
    }
    free(keys);
    free(calls);
    return rc < 0 ? -1 : cost;
}

/* True if the call belongs to the process whose steps are measured: other
 * ranks bear their own cost. */
static bool pays(const struct facts *f, uint32_t api)
{
    const struct timeline *t = f->tl;
    return !f->steps.count || t->threads[t->apis[api].thread].process == f->steps.process;
}

/* Estimates what CUPTI's records cost the threads that call CUDA, in per cent of the time from
 * the first step to the last (of the whole recording without steps). CUPTI does not report this
 * cost, so costs measured on a real GPU stand in (limits.def). Steps measured with and without
 * recording differ by 0.45 to 5 times this estimate, most where the host sets the pace. Threads
 * that call at the same time wait for each other's calls, but not for each other's records: so if
 * their calls take longer than the steps, the cost is related to the calls' time. 0 for
 * recordings without a real CUPTI. */
static double cupti_pct(const struct facts *f)
{
    const struct timeline *t = f->tl;
    const struct steps *s = &f->steps;
    int64_t from = s->count ? s->at[0].start_ns : t->start_ns;
    int64_t to = s->count ? s->at[s->count - 1].end_ns : t->end_ns;
    double cost = 0, called = 0, span = (double)recorded_known_ns(f, from, to);
    if (facts_virtual(f) || agent_ns(t) < 0 || span <= 0)
        return 0;
    for (size_t i = 0; i < t->api_count; i++) {
        if (t->apis[i].start_ns < from || t->apis[i].start_ns >= to || !pays(f, (uint32_t)i))
            continue;
        called += (double)(t->apis[i].end_ns - t->apis[i].start_ns);
        cost += FACTS_CUPTI_CALL_NS;
    }
    for (size_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->api != TL_NONE && !o->in_graph && o->start_ns >= from && o->start_ns < to &&
            pays(f, o->api))
            cost += FACTS_CUPTI_OPERATION_NS;
    }
    return 100 * (called > span ? cost / called : cost / span);
}

/* The profiler's cost in per cent of the recorded time: CUPTI's overhead records, the agent's own
 * records, and the estimate of cupti_pct. -1: not known. */
static double overhead_pct(const struct facts *f)
{
    const struct timeline *t = f->tl;
    int64_t cost = overhead_ns(f);
    int64_t span = recorded_length_ns(f);
    double own = agent_ns(t);
    if (span <= 0 || cost < 0 || (own < 0 && !t->overhead_count))
        return -1;
    return 100.0 * ((double)cost + (own > 0 ? own : 0)) / (double)span + f->health.cupti_pct;
}

/* Number of recorded calls of Python functions (with_stack=True of PyTorch's profiler). */
static size_t python_functions(const struct timeline *t)
{
    uint32_t domain = 0;
    size_t n = 0;
    while (domain < t->strings.n && strcmp(t->strings.text[domain], "python") != 0)
        domain++;
    for (size_t i = 0; domain < t->strings.n && i < t->range_count; i++)
        n += t->ranges[i].domain == domain;
    return n;
}

void health_measure(struct facts *f)
{
    const struct timeline *t = f->tl;
    for (size_t i = 0; i < t->health_count; i++) {
        const struct row_health *h = &t->healths[i];
        f->health.warnings += h->severity >= 1;
        const struct health_kind *k = health_kind(tl_text(t, h->code));
        if (h->value > 0 && k && k->how & HEALTH_DROPPED)
            f->health.dropped += h->value;
    }
    if (f->step_ns > 0 && t->op_count) /* PART_UNEXPLAINED is about idle time of a GPU */
        f->health.unexplained_pct =
            100.0 * (double)f->breakdown_ns[PART_UNEXPLAINED] / (double)f->step_ns;
    f->health.cupti_pct = cupti_pct(f);
    f->health.overhead_pct = overhead_pct(f);
    f->health.python_functions = python_functions(t);
    recorded_tell(f);
    launches_measure(f);
}
