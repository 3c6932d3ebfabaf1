/* Finds collectives that are launched one by one, and sums up collectives by what they exchange. */
#include "analyzer/queries/ranks/comm.h"

#include "analyzer/measure/spans.h"

#include <string.h>

static enum query_take is_collective(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return o->kind == OP_KERNEL && o->class.family == FAMILY_COMM ? QUERY_ALL : QUERY_NO;
}

static enum query_take is_exchange(const struct facts *f, uint32_t op)
{
    return f->tl->ops[op].comm == COMM_GRADIENTS ? is_collective(f, op) : QUERY_NO;
}

static enum query_take is_of_model(const struct facts *f, uint32_t op)
{
    return f->tl->ops[op].comm == COMM_MODEL ? is_collective(f, op) : QUERY_NO;
}

static enum query_take is_of_pair(const struct facts *f, uint32_t op)
{
    return f->tl->ops[op].comm == COMM_PAIR ? is_collective(f, op) : QUERY_NO;
}

bool query_is_broadcast(const struct facts *f, uint32_t op)
{
    const struct timeline *t = f->tl;
    if (is_collective(f, op) == QUERY_NO)
        return false;
    if (strcasestr(tl_text(t, t->ops[op].name), "broadcast"))
        return true;
    /* RCCL uses one kernel for all kinds of collectives */
    for (size_t i = 0; i < t->collective_count; i++)
        if (t->collectives[i].op == op)
            return strcasestr(tl_text(t, t->collectives[i].row.name), "broadcast") != NULL;
    return false;
}

static bool copies_within(const struct op *o)
{
    return o->kind == OP_KERNEL ? o->class.family == FAMILY_COPY || o->class.family == FAMILY_CAST
                                : o->kind == OP_COPY && o->copy_kind == COPY_D2D;
}

/* The next operation on op's device in direction `step` that is no copy within
 * the device, or TL_NONE. */
static uint32_t beyond_copies(const struct timeline *t, uint32_t op, int step)
{
    enum { MOST = 2048 };
    int64_t i = op;
    for (int n = 0; n < MOST; n++) {
        i += step;
        if (i < 0 || i >= (int64_t)t->op_count)
            return TL_NONE;
        if (tl_op_device(t, (uint32_t)i) == tl_op_device(t, op) && !copies_within(&t->ops[i]))
            return (uint32_t)i;
    }
    return TL_NONE;
}

bool query_fills_buffer(const struct facts *f, uint32_t op)
{
    const struct timeline *t = f->tl;
    if (!copies_within(&t->ops[op]))
        return false;
    uint32_t before = beyond_copies(t, op, -1), behind = beyond_copies(t, op, 1);
    if ((before != TL_NONE && query_is_broadcast(f, before)) ||
        (behind != TL_NONE && query_is_broadcast(f, behind)))
        return true;
    if (t->ops[op].kind != OP_COPY)
        return false;
    for (uint32_t next = op + 1; next < t->op_count; next++)
        if (tl_op_device(t, next) == tl_op_device(t, op))
            return is_collective(f, next) != QUERY_NO;
    return false;
}

static enum query_take fills_buffer(const struct facts *f, uint32_t op)
{
    return query_fills_buffer(f, op) ? QUERY_ALL : QUERY_NO;
}

bool query_collectives_scattered(const struct facts *f, struct query_ops *ops)
{
    *ops = query_ops(f, is_exchange);
    if (each_step(f, ops->count) < QUERY_MANY_COLLECTIVES)
        return false;
    ops->idle_ns += query_ops(f, fills_buffer).idle_ns;
    return true;
}

/* Fills *s with the compute kernels of the analysed device; the caller releases
 * it. -1: out of memory. */
static int computing(const struct facts *f, struct spans *s)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < f->tl->op_count; i++) {
        const struct op *o = &f->tl->ops[i];
        if (o->kind == OP_KERNEL && o->class.family != FAMILY_COMM &&
            tl_op_device(f->tl, i) == f->steps.device)
            rc = spans_add(s, o->start_ns, o->end_ns);
    }
    return rc == 0 ? spans_index(s) : rc;
}

struct query_comm query_comm(const struct facts *f, enum comm_kind kind)
{
    struct spans compute = {0};
    struct query_comm c = {.ops = query_ops(f, kind == COMM_PAIR    ? is_of_pair
                                               : kind == COMM_MODEL ? is_of_model
                                                                    : is_exchange)};
    if (c.ops.count == 0 || computing(f, &compute) < 0) {
        spans_release(&compute);
        return c;
    }
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        const struct op *o = &f->tl->ops[i];
        if (o->comm == kind && is_collective(f, i) != QUERY_NO && query_used(f, i))
            c.exposed_ns +=
                o->end_ns - o->start_ns - spans_covered(&compute, o->start_ns, o->end_ns);
    }
    spans_release(&compute);
    for (size_t i = 0; i < f->ranks.wait_count; i++) /* the straggler rule reports this part */
        if (f->tl->ops[f->ranks.waits[i].op].comm == kind)
            c.late_ns += f->ranks.waits[i].spare_ns;
    c.exposed_ns = per_step(f, c.exposed_ns);
    c.late_ns = per_step(f, c.late_ns);
    if (c.exposed_ns > f->breakdown_ns[PART_COMM])
        c.exposed_ns = f->breakdown_ns[PART_COMM];
    c.late_ns = c.late_ns < c.exposed_ns ? c.late_ns : c.exposed_ns;
    c.exposed_ns -= c.late_ns;
    return c;
}

const struct rank_facts *query_own_rank(const struct facts *f)
{
    for (size_t i = 0; i < f->ranks.count; i++)
        if (f->ranks.at[i].device == f->steps.device)
            return &f->ranks.at[i];
    return NULL;
}

bool query_sends_to_ranks(const struct facts *f, uint32_t op)
{
    const struct timeline *t = f->tl;
    return t->ops[op].kind == OP_KERNEL && t->ops[op].comm == COMM_GRADIENTS &&
           query_name_has(tl_text(t, t->ops[op].name),
                          "SendRecv|AllToAll|AlltoAll|alltoall|all_to_all|dispatch|combine|"
                          "moeA2A|moe_a2a|deep_ep|hybrid_ep|pplx::");
}

static enum query_take sends_to_ranks(const struct facts *f, uint32_t op)
{
    return query_sends_to_ranks(f, op) ? QUERY_BUSY : QUERY_NO;
}

struct query_ops query_all_with_all(const struct facts *f)
{
    return query_ops(f, sends_to_ranks);
}

/* True if a name shows that the program uses all-to-all: PyTorch's operators, annotations of the
 * process group, or functions. */
static bool names_all_with_all(const struct facts *f)
{
    for (uint32_t i = 0; i < f->tl->strings.n; i++)
        if (query_name_has(f->tl->strings.text[i], "all_to_all|alltoall"))
            return true;
    return false;
}

int64_t query_unnamed_sends(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    int64_t sum = 0;
    bool *named = arena_array(arena, t->op_count + 1, sizeof *named);
    for (size_t i = 0; named && i < t->collective_count; i++)
        if (t->collectives[i].op != TL_NONE)
            named[t->collectives[i].op] = true;
    for (uint32_t i = 0; named && i < t->op_count; i++)
        if (t->ops[i].kind == OP_KERNEL && !named[i] && query_used(f, i) &&
            query_name_has(tl_text(t, t->ops[i].name),
                           "ncclDevKernel_SendRecv|ncclKernel_SendRecv"))
            sum += t->ops[i].end_ns - t->ops[i].start_ns;
    return sum && !names_all_with_all(f) ? per_step(f, sum) : 0;
}
