/* Finds why the host waits for the GPU, from the ranges and calls around the waiting call. Cost:
 * one pass over the calls and ranges of each thread. */
#include "analyzer/queries/waits.h"

#include "analyzer/queries/limits.h"
#include "analyzer/queries/open.h"

#include <string.h>

bool query_reads_back(const struct timeline *t, const struct api *c)
{
    return c->op != TL_NONE && t->ops[c->op].kind == OP_COPY && t->ops[c->op].copy_kind == COPY_D2H;
}

enum call_wait query_call_wait(const struct timeline *t, const struct api *c)
{
    const struct op *o = c->op == TL_NONE ? NULL : &t->ops[c->op];
    switch (c->kind) {
    case API_SYNC_DEVICE:
    case API_SYNC_STREAM:
    case API_SYNC_EVENT:
        return CALL_AWAITS_GPU;
    case API_COPY_SYNC:
        return query_reads_back(t, c) ? CALL_AWAITS_GPU : CALL_AWAITS_COPY;
    case API_COPY_ASYNC: /* a copy through pageable memory is staged */
        if (!o || (o->src_kind != MEMORY_PAGEABLE && o->dst_kind != MEMORY_PAGEABLE))
            return CALL_GOES_ON;
        return query_reads_back(t, c) && o->dst_kind == MEMORY_PAGEABLE ? CALL_AWAITS_GPU
                                                                        : CALL_AWAITS_COPY;
    default:
        return CALL_GOES_ON;
    }
}

bool query_stops_capture(const struct timeline *t, const struct api *c)
{
    return c->kind == API_ALLOC || c->kind == API_FREE || query_call_wait(t, c) != CALL_GOES_ON;
}

static enum wait_cause cause_of(const char *name)
{
    static const struct {
        const char *part;
        enum wait_cause cause;
    } known[] = {
        {"aten::nonzero_static", WAIT_OTHER}, /* its result has a fixed size, so it does not wait */
        {"aten::is_nonzero", WAIT_SCALAR},
        {"aten::_local_scalar_dense", WAIT_SCALAR},
        {"aten::item", WAIT_SCALAR},
        {"aten::nonzero", WAIT_MASK},
        {"aten::masked_select", WAIT_MASK},
        {"aten::unique", WAIT_MASK},
        {"aten::_unique2", WAIT_MASK},
        {"aten::bincount", WAIT_MASK},
        {"aten::copy_", WAIT_READ},
        {"aten::_to_copy", WAIT_READ},
        /* ranges of the hook, which add the program's line */
        {"sync .item(", WAIT_SCALAR},
        {"sync bool(", WAIT_SCALAR},
        {"sync int(", WAIT_SCALAR},
        {"sync float(", WAIT_SCALAR},
        {"sync .nonzero(", WAIT_MASK},
        {"sync .masked_select(", WAIT_MASK},
        {"sync torch.cuda.", WAIT_EXPLICIT},
        {"sync ", WAIT_READ},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(name, known[i].part, strlen(known[i].part)) == 0)
            return known[i].cause;
    return WAIT_OTHER;
}

/* Asks the innermost range first: the operator next to the call knows the reason;
 * "aten::to" alone says little. */
static enum wait_cause cause_at(const struct query_open *o)
{
    for (size_t i = o->n; i-- > 0;) {
        enum wait_cause c = cause_of(tl_text(o->t, o->t->ranges[o->at[i]].name));
        if (c != WAIT_OTHER)
            return c;
    }
    return WAIT_OTHER;
}

/* Kernels that compute the size of a result, or a condition that decides how a function continues,
 * and the operators that launch them in the framework's words. */
static const struct counting {
    const char *kernels, *operator;
    enum wait_cause cause;
} counting[] = {
    {"adjacent_difference|AdjacentDifference|unique|DeviceRunLengthEncode|UniqueByKey", "unique",
     WAIT_MASK},
    {"DeviceSelect|DeviceCompact|Nonzero|nonzero|DeviceReduceSingleTile", "nonzero", WAIT_MASK},
    {"histogram|Histogram", "bincount", WAIT_MASK},
    {"DeviceScan|cumsum", "repeat_interleave", WAIT_OTHER},
    {"or_kernel|and_kernel", "any", WAIT_OTHER},
};

/* The entry that matches one of the last few kernels launched before the call; NULL: none. *launch:
 * see query_wait_operator. */
static const struct counting *counted_before(const struct timeline *t, const struct thread *thread,
                                             uint32_t sync, uint32_t *launch)
{
    enum { LAUNCHES = 3 };
    int seen = 0;
    for (uint32_t i = sync + 1; i-- > thread->first_api && seen < LAUNCHES;) {
        uint32_t op = t->apis[i].op;
        if (op == TL_NONE || t->ops[op].kind != OP_KERNEL)
            continue;
        if (seen++ == 0)
            *launch = i;
        for (size_t k = 0; k < sizeof counting / sizeof *counting; k++)
            if (query_name_has(tl_text(t, t->ops[op].full_name), counting[k].kernels)) {
                *launch = i;
                return &counting[k];
            }
    }
    return NULL;
}

const char *query_wait_operator(const struct timeline *t, uint32_t sync, uint32_t *launch)
{
    *launch = TL_NONE;
    const struct counting *c = counted_before(t, &t->threads[t->apis[sync].thread], sync, launch);
    return c ? c->operator: NULL;
}

/* True if the last kernels compute a result's size. Used if no range gives a reason. */
static bool behind_count(const struct timeline *t, const struct thread *thread, uint32_t sync)
{
    uint32_t launch;
    const struct counting *c = counted_before(t, thread, sync, &launch);
    return c && c->cause == WAIT_MASK;
}

/* True if the wait directly follows a copy to the GPU. Without non_blocking, PyTorch waits for the
 * stream right after the copy. */
static bool behind_upload(const struct timeline *t, const struct thread *thread, uint32_t sync)
{
    const struct api *c = &t->apis[sync];
    while (c->kind == API_SYNC_STREAM && sync-- > thread->first_api) {
        const struct api *before = &t->apis[sync];
        if (before->layer != c->layer)
            continue;
        return (before->kind == API_COPY_ASYNC || before->kind == API_COPY_SYNC) &&
               before->op != TL_NONE && t->ops[before->op].kind == OP_COPY &&
               t->ops[before->op].copy_kind == COPY_H2D;
    }
    return false;
}

/* True if the host reads back more than a value or a size for which an operator would wait. */
static bool reads_much(const struct timeline *t, const struct api *c)
{
    return query_reads_back(t, c) && t->ops[c->op].bytes > QUERY_ANSWER_BYTES;
}

void query_waits(const struct facts *f, struct query_waits *w)
{
    const struct timeline *t = f->tl;
    *w = (struct query_waits){0};
    for (uint32_t th = 0; th < t->thread_count; th++) {
        const struct thread *thread = &t->threads[th];
        if (thread->process != f->steps.process)
            continue;
        struct query_open open = query_open_start(t, th);
        for (uint32_t i = thread->first_api; i < thread->first_api + thread->apis; i++) {
            const struct api *c = &t->apis[i];
            if (query_call_wait(t, c) != CALL_AWAITS_GPU ||
                query_step_at(f, c->start_ns) == TL_NONE)
                continue;
            query_open_until(&open, c->start_ns);
            enum wait_cause cause = behind_upload(t, thread, i) ? WAIT_UPLOAD : cause_at(&open);
            if (cause == WAIT_OTHER && c->kind == API_SYNC_DEVICE)
                cause = WAIT_EXPLICIT;
            else if (cause == WAIT_OTHER && reads_much(t, c))
                cause = WAIT_READ; /* torch.save(), say, which copies storages and not tensors */
            else if (cause == WAIT_OTHER && behind_count(t, thread, i))
                cause = WAIT_MASK;
            w->count[cause]++;
            w->ns[cause] += c->end_ns - c->start_ns;
        }
    }
    for (int i = 1; i < WAIT_CAUSES; i++)
        if (w->ns[i] > w->ns[w->most])
            w->most = (enum wait_cause)i;
}
