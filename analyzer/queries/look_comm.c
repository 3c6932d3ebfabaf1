#include "analyzer/queries/look_comm.h"

static enum look_take is_collective(const struct analysis *a, uint32_t op)
{
    const struct op *o = &a->tl->ops[op];
    return o->kind == OP_KERNEL && o->class.family == FAMILY_COMM ? LOOK_ALL : LOOK_NO;
}

/* A copy within the device right before a collective fills that collective's buffer: one for each
 * parameter where gradients are not bucketed. */
bool look_fills_buffer(const struct analysis *a, uint32_t op)
{
    const struct timeline *t = a->tl;
    if (t->ops[op].kind != OP_COPY || t->ops[op].copy_kind != COPY_D2D)
        return false;
    for (uint32_t next = op + 1; next < t->op_count; next++)
        if (tl_op_device(t, next) == tl_op_device(t, op))
            return is_collective(a, next) != LOOK_NO;
    return false;
}

static enum look_take fills_buffer(const struct analysis *a, uint32_t op)
{
    return look_fills_buffer(a, op) ? LOOK_ALL : LOOK_NO;
}

bool look_collectives_scattered(const struct analysis *a, struct look_ops *ops)
{
    *ops = look_ops(a, is_collective);
    if (per_step(a, ops->count) < LOOK_MANY_COLLECTIVES)
        return false;
    ops->idle_ns += look_ops(a, fills_buffer).idle_ns;
    return true;
}

const struct rank_facts *look_own_rank(const struct analysis *a)
{
    for (size_t i = 0; i < a->ranks.count; i++)
        if (a->ranks.at[i].device == a->steps.device)
            return &a->ranks.at[i];
    return NULL;
}
