/* Sums up copies between host and GPU: how many bytes, how exposed, and how much of it was
 * copied from the GPU before. Cost: the totals are facts; the return of data takes one
 * pass over all operations. */
#include "analyzer/queries/query.h"

static struct query_copies copies_of(const struct facts *f, uint8_t kind, enum memory_kind host)
{
    struct query_copies c = {.longest = TL_NONE};
    for (size_t i = 0; i < f->totals.copy_count; i++) {
        const struct copy_total *t = &f->totals.copies[i];
        if (t->kind != kind || (kind == COPY_H2D ? t->src_kind : t->dst_kind) != host)
            continue;
        c.count += t->count;
        c.bytes += t->bytes;
        c.total_ns += t->total_ns;
        c.exposed_ns += t->exposed_ns;
        c.blocked_ns += t->host_blocked_ns;
        c.longest = t->longest;
    }
    return c;
}

struct query_copies query_h2d(const struct facts *f, enum memory_kind from)
{
    struct query_copies c = copies_of(f, COPY_H2D, from);
    int64_t blocked_all = 0;
    /* a copy back to the host waits for a result, not for input */
    for (size_t i = 0; i < f->totals.copy_count; i++)
        if (f->totals.copies[i].kind != COPY_D2H)
            blocked_all += f->totals.copies[i].host_blocked_ns;
    if (blocked_all > 0)
        c.idle_ns = (int64_t)((double)f->breakdown_ns[PART_IDLE_COPY] * (double)c.blocked_ns /
                              (double)blocked_all);
    return c;
}

struct query_copies query_d2h(const struct facts *f, enum memory_kind to)
{
    return copies_of(f, COPY_D2H, to);
}

int64_t query_exposed(const struct facts *f, const struct query_copies *c)
{
    int64_t mean = per_step(f, c->exposed_ns), median = f->breakdown_ns[PART_COPY];
    return mean < median ? mean : median;
}

/* True if the call itself waits for the copy, or if the next call waits for the stream. */
static bool waited(const struct timeline *t, const struct op *o)
{
    const struct thread *th = &t->threads[t->apis[o->api].thread];
    bool last = o->api + 1 >= th->first_api + th->apis;
    return t->apis[o->api].kind == API_COPY_SYNC ||
           (!last && t->apis[o->api + 1].kind == API_SYNC_STREAM);
}

bool query_h2d_waited(const struct facts *f, enum memory_kind from)
{
    const struct timeline *t = f->tl;
    size_t all = 0, waiting = 0;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind != OP_COPY || o->copy_kind != COPY_H2D || o->src_kind != from ||
            o->bytes <= QUERY_SMALL_COPY || o->api == TL_NONE)
            continue;
        waiting += waited(t, o);
        all++;
    }
    return waiting * 2 > all;
}

/* ---- data that returns to the GPU ---- */

enum { SIZES = 64 };

struct size {
    int64_t bytes, down, up; /* copies of this size to the GPU, and back from it */
};

static struct size *size_of(struct size *of, size_t *n, int64_t bytes)
{
    for (size_t i = 0; i < *n; i++)
        if (of[i].bytes == bytes)
            return &of[i];
    if (*n == SIZES)
        return NULL;
    of[*n] = (struct size){.bytes = bytes};
    return &of[(*n)++];
}

/* True if sizes that occur at least QUERY_RECURS times make up most of the bytes copied in this
 * direction from or to this kind of host memory. */
static bool recurs(const struct facts *f, uint8_t kind, enum memory_kind host)
{
    struct size of[SIZES];
    size_t n = 0;
    int64_t all = 0, recur = 0;
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        const struct op *o = &f->tl->ops[i];
        if (o->kind != OP_COPY || o->copy_kind != kind ||
            (kind == COPY_H2D ? o->src_kind : o->dst_kind) != host)
            continue;
        struct size *s = size_of(of, &n, o->bytes);
        if (s)
            s->down++;
        all += o->bytes;
    }
    for (size_t i = 0; i < n; i++)
        recur += of[i].down >= QUERY_RECURS ? of[i].bytes * of[i].down : 0;
    return recur * 2 > all;
}

bool query_h2d_recurs(const struct facts *f, enum memory_kind from)
{
    return recurs(f, COPY_H2D, from);
}

bool query_d2h_recurs(const struct facts *f, enum memory_kind to)
{
    return recurs(f, COPY_D2H, to);
}

double query_comes_back_pct(const struct facts *f, size_t *sizes)
{
    struct size of[SIZES];
    size_t n = 0, agree = 0;
    int64_t all = 0, back = 0;
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        const struct op *o = &f->tl->ops[i];
        if (o->kind != OP_COPY || o->bytes <= QUERY_SMALL_COPY || !query_used(f, i) ||
            (o->copy_kind != COPY_H2D && o->copy_kind != COPY_D2H))
            continue;
        struct size *s = size_of(of, &n, o->bytes);
        if (s)
            *(o->copy_kind == COPY_H2D ? &s->down : &s->up) += 1;
        all += o->copy_kind == COPY_H2D ? o->bytes : 0;
    }
    for (size_t i = 0; i < n; i++) {
        back += of[i].bytes * (of[i].down < of[i].up ? of[i].down : of[i].up);
        agree += of[i].down && of[i].up;
    }
    if (sizes)
        *sizes = agree;
    return all ? 100.0 * (double)back / (double)all : 0;
}
