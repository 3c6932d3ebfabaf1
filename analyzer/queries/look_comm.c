#include "analyzer/queries/look_comm.h"

static enum look_take is_collective(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return o->kind == OP_KERNEL && o->class.family == FAMILY_COMM ? LOOK_ALL : LOOK_NO;
}

/* A copy within the device right before a collective fills that collective's buffer: one for each
 * parameter where gradients are not bucketed. */
bool look_fills_buffer(const struct facts *f, uint32_t op)
{
    const struct timeline *t = f->tl;
    if (t->ops[op].kind != OP_COPY || t->ops[op].copy_kind != COPY_D2D)
        return false;
    for (uint32_t next = op + 1; next < t->op_count; next++)
        if (tl_op_device(t, next) == tl_op_device(t, op))
            return is_collective(f, next) != LOOK_NO;
    return false;
}

static enum look_take fills_buffer(const struct facts *f, uint32_t op)
{
    return look_fills_buffer(f, op) ? LOOK_ALL : LOOK_NO;
}

bool look_collectives_scattered(const struct facts *f, struct look_ops *ops)
{
    *ops = look_ops(f, is_collective);
    if (per_step(f, ops->count) < LOOK_MANY_COLLECTIVES)
        return false;
    ops->idle_ns += look_ops(f, fills_buffer).idle_ns;
    return true;
}

const struct rank_facts *look_own_rank(const struct facts *f)
{
    for (size_t i = 0; i < f->ranks.count; i++)
        if (f->ranks.at[i].device == f->steps.device)
            return &f->ranks.at[i];
    return NULL;
}
