/* Finds work that a framework does once: captures of CUDA graphs, kernels compiled on first use. */
#include "analyzer/queries/once.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct found VEC(struct span);

enum capture_call { OTHER, BEGINS, ENDS, INSTANTIATES };

static enum capture_call call_of(const char *name)
{
    return strstr(name, "StreamBeginCapture") ? BEGINS
           : strstr(name, "StreamEndCapture") ? ENDS
           : strstr(name, "GraphInstantiate") ? INSTANTIATES
                                              : OTHER;
}

/* Adds the thread's captures. Ignores a capture whose end was not recorded. -1: out of memory. */
static int captures_of(const struct timeline *t, const struct thread *th, const uint8_t *calls,
                       struct found *found)
{
    int64_t begun_ns = INT64_MIN;
    bool ended = false; /* the last capture found may still be instantiated */
    for (uint32_t i = th->first_api; i < th->first_api + th->apis; i++) {
        const struct api *c = &t->apis[i];
        switch (calls[c->name]) {
        case BEGINS:
            begun_ns = c->start_ns;
            ended = false;
            break;
        case ENDS: {
            struct span *s = begun_ns == INT64_MIN ? NULL : vec_push(found);
            if (begun_ns != INT64_MIN && !s)
                return -1;
            if (s)
                *s = (struct span){begun_ns, c->end_ns};
            ended = s != NULL;
            begun_ns = INT64_MIN;
            break;
        }
        case INSTANTIATES:
            if (ended)
                found->at[found->n - 1].end_ns = c->end_ns;
            ended = false;
            break;
        default:
            break;
        }
    }
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

int query_captures(const struct facts *f, struct query_captures *c)
{
    const struct timeline *t = f->tl;
    struct found found = {0};
    uint8_t *calls = calloc((size_t)t->strings.n + 1, sizeof *calls);
    bool any = false;
    int rc = calls ? 0 : -1;
    for (uint32_t i = 0; calls && i < t->strings.n; i++) {
        calls[i] = (uint8_t)call_of(tl_text(t, i));
        any |= calls[i] == BEGINS;
    }
    for (size_t i = 0; any && rc == 0 && i < t->thread_count; i++)
        if (t->threads[i].process == f->steps.process)
            rc = captures_of(t, &t->threads[i], calls, &found);
    if (found.n)
        qsort(found.at, found.n, sizeof *found.at, by_start);
    free(calls);
    *c = (struct query_captures){found.at, found.n};
    return rc;
}

size_t query_captures_seen(const struct facts *f)
{
    struct query_captures c;
    size_t n = 0;
    query_captures(f, &c);
    for (size_t i = 0; i < c.n; i++)
        n += query_step_at(f, c.at[i].start_ns) != TL_NONE;
    free(c.at);
    return n;
}

static bool waits_before(const struct facts *f, const struct gap *g, int64_t long_ns)
{
    return g->before_op != TL_NONE && gap_ns(f, g, PART_IDLE_HOST) >= long_ns;
}

uint32_t *query_first_compiled(const struct facts *f, int64_t long_ns)
{
    const struct timeline *t = f->tl;
    uint32_t *first = malloc(((size_t)t->strings.n + 1) * sizeof *first);
    if (!first)
        return NULL;
    memset(first, 0xff, ((size_t)t->strings.n + 1) * sizeof *first);
    for (uint32_t i = (uint32_t)t->op_count; i-- > 0;) {
        const struct op *o = &t->ops[i];
        if (o->kind == OP_KERNEL && t->streams[o->stream].process == f->steps.process &&
            strncmp(tl_text(t, o->name), "triton_", 7) == 0)
            first[o->name] = i;
    }
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        uint32_t name = waits_before(f, g, long_ns) ? t->ops[g->before_op].name : 0;
        if (name && first[name] != TL_NONE && first[name] != g->before_op)
            first[name] = TL_NONE;
    }
    return first;
}
