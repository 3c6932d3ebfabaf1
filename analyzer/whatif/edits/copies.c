/* Shared by edit_pin and edit_overlap: copies of batches to the GPU no longer block the host or the
 * stream that computes. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"

/* Returns the copy that the call issues if it goes from memory of kind `from` to the GPU, or
 * NULL. */
static const struct op *upload_of(const struct timeline *t, uint32_t api, uint8_t from)
{
    const struct op *o = t->apis[api].op == TL_NONE ? NULL : &t->ops[t->apis[api].op];
    return o && o->kind == OP_COPY && o->copy_kind == COPY_H2D && o->src_kind == from ? o : NULL;
}

/* A small copy (such as labels) belongs to a batch if a large copy is issued shortly before or
 * after it, with only small copies and waits for them in between. */
static bool of_batch(const struct timeline *t, uint32_t api, uint8_t from)
{
    const struct thread *th = &t->threads[t->apis[api].thread];
    int64_t first = th->first_api, end = first + th->apis;
    for (int step = -1; step <= 1; step += 2)
        for (int64_t i = api;
             i >= first && i < end && i != (int64_t)api + step * ASSUMED_BATCH_CALLS; i += step) {
            const struct op *o = upload_of(t, (uint32_t)i, from);
            if (o && o->bytes > QUERY_SMALL_COPY)
                return true;
            if (!o && t->apis[i].kind != API_SYNC_STREAM)
                break;
        }
    return false;
}

/* Returns true if the call waits for the stream right behind a copy of a batch. Without
 * non_blocking=True PyTorch does so after every copy, pinned or not. */
static bool awaits_upload(const struct timeline *t, uint32_t api, uint8_t from)
{
    const struct api *c = &t->apis[api];
    if (c->kind != API_SYNC_STREAM || api == t->threads[c->thread].first_api ||
        c->start_ns - c[-1].end_ns > ASSUMED_BEHIND_NS)
        return false;
    const struct op *o = upload_of(t, api - 1, from);
    uint32_t stream = c->sync == TL_NONE ? TL_NONE : t->syncs[c->sync].stream;
    return o && (stream == TL_NONE || stream == o->stream) && of_batch(t, api - 1, from);
}

bool edit_copies_touch(const struct edit *x, const struct graph *g, uint32_t i)
{
    (void)x;
    return g->classes[i].kind == TASK_COPY || g->classes[i].kind == TASK_WAIT;
}

/* See edits.h. Frameworks of Python copy pinned batches in the stream that computes, and with
 * non_blocking=True wait for none of the copies. Only a prefetcher has a stream of its own
 * (same_stream false). */
void edit_copies(const struct edit *x, const struct graph *g, struct plan *p, uint8_t from,
                 bool same_stream, double rate)
{
    const struct timeline *t = g->a->tl;
    uint32_t i;
    for (size_t k = 0; edit_next(x, g, &k, &i);) {
        if (same_stream && g->tasks[i].kind == TASK_WAIT &&
            awaits_upload(t, g->tasks[i].source, from))
            p->mark[i] |= PLAN_DROP;
        const struct op *o = g->tasks[i].kind == TASK_COPY ? edit_op(g, i) : NULL;
        if (!o || o->copy_kind != COPY_H2D || o->src_kind != from)
            continue;
        uint32_t w = i + 1; /* the copy's wait stands right behind it */
        bool waits = w < g->count && g->tasks[w].kind == TASK_WAIT &&
                     g->tasks[w].flags & TASK_COPY_WAIT && g->tasks[w].source == o->api;
        if (o->bytes <= QUERY_SMALL_COPY) {
            if (waits && same_stream && of_batch(t, o->api, from))
                p->mark[w] |= PLAN_DROP;
            continue;
        }
        if (from == MEMORY_PINNED && !waits && (same_stream || !g->computes[g->tasks[i].lane]))
            continue;
        if (!same_stream)
            p->mark[i] |= PLAN_DETACH;
        if (waits)
            p->mark[w] |= PLAN_DROP;
        if (rate > 0)
            p->dur[i] = (int64_t)((double)o->bytes / rate);
        uint32_t call = g->tasks[i].issue;
        if (call != TASK_NONE && p->dur[call] > ASSUMED_QUEUE_COPY_NS)
            p->dur[call] = ASSUMED_QUEUE_COPY_NS;
    }
}
