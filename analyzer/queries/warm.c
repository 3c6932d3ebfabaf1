#include "analyzer/queries/warm.h"

#include "analyzer/measure/spans.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum {
    LONG_NS = 5000000, /* a launch, an allocation or a query never takes this long again */
    SEVERAL = 4,       /* long calls of one name; beyond that the program does it all the time */
    NEAR_NS = 1000000  /* what was compiled runs at once */
};

static bool one_time_kind(unsigned kind)
{
    switch (kind) {
    case API_LAUNCH:
    case API_ALLOC:
    case API_FREE:
    case API_HOST_ALLOC:
    case API_MODULE:
    case API_OTHER:
        return true;
    default: /* copies and waits are long for reasons of their own */
        return false;
    }
}

static bool about_memory(unsigned kind)
{
    return kind == API_ALLOC || kind == API_FREE || kind == API_HOST_ALLOC;
}

/* In a window loading code is set-up however short the call is, and so are allocations unless they
 * come all the time: those are another rule's. */
struct set_up {
    bool code, memory;
};

static struct set_up set_up_of(const struct facts *f)
{
    const struct timeline *t = f->tl;
    struct set_up s = {.code = analysis_of_window(f)};
    size_t n = 0;
    for (size_t i = 0; s.code && i < t->api_count; i++)
        n += about_memory(t->apis[i].kind) && query_step_at(f, t->apis[i].start_ns) != TL_NONE;
    s.memory = s.code && n < QUERY_MANY_ALLOCATIONS;
    return s;
}

static bool candidate(const struct facts *f, const struct set_up *set_up, const struct api *c)
{
    bool counts = c->end_ns - c->start_ns >= LONG_NS ? one_time_kind(c->kind)
                  : c->kind == API_MODULE            ? set_up->code
                                                     : set_up->memory && about_memory(c->kind);
    return counts && f->tl->threads[c->thread].process == f->steps.process;
}

static void count_call(struct query_warm *w, const struct api *c)
{
    int64_t ns = c->layer == 0 ? c->end_ns - c->start_ns : 0;
    w->calls++;
    if (about_memory(c->kind))
        w->memory_ns += ns;
    else if (c->kind == API_MODULE)
        w->code_ns += ns;
    else
        w->first_ns += ns;
}

/* A thread that stands in line for a core makes long calls of all kinds. */
static bool lacks_core(const struct facts *f)
{
    return f->host.starved_ns * 10 >= f->step_ns && f->step_ns > 0;
}

/* Long first calls, merged. -1: out of memory. */
static int long_calls(const struct facts *f, struct spans *out, struct query_warm *w)
{
    const struct timeline *t = f->tl;
    struct VEC(struct span) found = {0};
    uint32_t *seen = calloc((size_t)t->strings.n + 1, sizeof *seen);
    const struct set_up set_up = set_up_of(f);
    int rc = seen ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < t->api_count; i++)
        seen[t->apis[i].name] += candidate(f, &set_up, &t->apis[i]);
    for (uint32_t i = 0; rc == 0 && i < t->api_count; i++) {
        const struct api *c = &t->apis[i];
        if (!candidate(f, &set_up, c) || (f->steps.used > 1 && seen[c->name] > SEVERAL) ||
            query_step_at(f, c->start_ns) == TL_NONE)
            continue;
        struct span *s = vec_push(&found);
        if (!s) {
            rc = -1;
            break;
        }
        *s = (struct span){c->start_ns, c->end_ns};
        count_call(w, c);
        if (w->longest == TL_NONE ||
            c->end_ns - c->start_ns > t->apis[w->longest].end_ns - t->apis[w->longest].start_ns)
            w->longest = i;
    }
    /* Calls come by thread and start: a thread's spans are in order, those of several are not. */
    for (size_t i = 1; i < found.n; i++)
        for (size_t j = i; j > 0 && found.at[j].start_ns < found.at[j - 1].start_ns; j--) {
            struct span swap = found.at[j];
            found.at[j] = found.at[j - 1];
            found.at[j - 1] = swap;
        }
    for (size_t i = 0; rc == 0 && i < found.n; i++)
        rc = spans_add(out, found.at[i].start_ns, found.at[i].end_ns);
    vec_release(&found);
    free(seen);
    return rc < 0 ? -1 : spans_index(out);
}

/* Names under which frameworks run what they have just compiled, or compile. */
static bool compiles(const char *name)
{
    return strcmp(name, "fallback_function") == 0 || strstr(name, "_compile.<locals>") ||
           strstr(name, "compile_fx") || strstr(name, "nvrtcCompile") ||
           strstr(name, "convert_frame") || strstr(name, "triton.compile");
}

/* A range of that kind that begins inside the gap, or just behind it; TL_NONE without. */
static uint32_t compiled_at(const struct timeline *t, const uint32_t *marks, size_t n,
                            const struct gap *g)
{
    for (size_t i = 0; i < n; i++) {
        const struct range *r = &t->ranges[marks[i]];
        if (r->start_ns >= g->start_ns && r->start_ns < g->end_ns + NEAR_NS)
            return marks[i];
    }
    return TL_NONE;
}

static void take_gap(const struct facts *f, const struct gap *g, const struct spans *calls,
                     const uint32_t *marks, size_t n, struct query_warm *w)
{
    int64_t covered = spans_covered(calls, g->start_ns, g->end_ns);
    int64_t host = gap_ns(f, g, PART_IDLE_HOST),
            idle = host + gap_ns(f, g, PART_IDLE_ALLOC) + gap_ns(f, g, PART_IDLE_LAUNCH);
    covered = covered < idle ? covered : idle;
    w->calls_ns += covered;
    w->host_ns += covered < host ? covered : host;
    int64_t rest = host - (covered < host ? covered : host);
    uint32_t mark = rest >= LONG_NS ? compiled_at(f->tl, marks, n, g) : TL_NONE;
    if (mark == TL_NONE)
        return;
    w->compile_ns += rest;
    w->host_ns += rest;
    w->compiled = mark;
}

struct query_warm query_warm_up(const struct facts *f)
{
    enum { MARKS = 64 };
    const struct timeline *t = f->tl;
    struct query_warm w = {.longest = TL_NONE, .compiled = TL_NONE};
    struct spans calls = {0};
    uint32_t marks[MARKS];
    size_t n = 0;
    for (uint32_t i = 0; i < t->range_count && n < MARKS; i++)
        if (compiles(tl_text(t, t->ranges[i].name)))
            marks[n++] = i;
    if ((lacks_core(f) ? spans_index(&calls) : long_calls(f, &calls, &w)) == 0)
        for (size_t i = 0; i < f->gap_count; i++) {
            uint32_t step = f->gaps[i].step;
            if (step != TL_NONE && f->steps.at[step].used)
                take_gap(f, &f->gaps[i], &calls, marks, n < SEVERAL || f->steps.used <= 1 ? n : 0,
                         &w);
        }
    spans_release(&calls);
    w.ns = w.calls_ns + w.compile_ns;
    return w;
}
