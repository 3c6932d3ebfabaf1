/* Spans of time, and the unions of GPU activity. Cost: one pass over the operations, which are
 * sorted by start. */
#include "analyzer/measure/spans.h"
#include "base/vec.h"

int spans_add(struct spans *s, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return 0;
    if (s->n && start_ns <= s->at[s->n - 1].end_ns) {
        if (end_ns > s->at[s->n - 1].end_ns)
            s->at[s->n - 1].end_ns = end_ns;
        return 0;
    }
    struct span *p = vec_push(s);
    if (!p)
        return -1;
    *p = (struct span){start_ns, end_ns};
    return 0;
}

int spans_index(struct spans *s)
{
    s->before = malloc((s->n + 1) * sizeof *s->before);
    if (!s->before)
        return -1;
    s->before[0] = 0;
    for (size_t i = 0; i < s->n; i++)
        s->before[i + 1] = s->before[i] + s->at[i].end_ns - s->at[i].start_ns;
    return 0;
}

size_t spans_after(const struct spans *s, int64_t t)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->at[mid].end_ns <= t)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int64_t covered_before(const struct spans *s, int64_t t)
{
    size_t i = spans_after(s, t);
    int64_t inside = i < s->n && t > s->at[i].start_ns ? t - s->at[i].start_ns : 0;
    return s->before[i] + inside;
}

int64_t spans_covered(const struct spans *s, int64_t a, int64_t b)
{
    return b > a ? covered_before(s, b) - covered_before(s, a) : 0;
}

int64_t spans_total(const struct spans *s)
{
    return s->before[s->n];
}

void spans_release(struct spans *s)
{
    free(s->before);
    vec_release(s);
    s->before = NULL;
}

static int add_op(struct activity *act, const struct op *o)
{
    struct spans *own = o->kind != OP_KERNEL             ? &act->copy
                        : o->class.family == FAMILY_COMM ? &act->comm
                                                         : &act->compute;
    if (act->busy.n == 0)
        act->start_ns = o->start_ns;
    if (o->end_ns > act->end_ns || act->busy.n == 0)
        act->end_ns = o->end_ns;
    if (spans_add(own, o->start_ns, o->end_ns) < 0)
        return -1;
    return spans_add(&act->busy, o->start_ns, o->end_ns);
}

int activity_build(struct activity *act, const struct timeline *t, uint32_t device)
{
    *act = (struct activity){0};
    for (uint32_t i = 0; i < t->op_count; i++)
        if (tl_op_device(t, i) == device && add_op(act, &t->ops[i]) < 0)
            return -1;
    if (spans_index(&act->compute) < 0 || spans_index(&act->comm) < 0 ||
        spans_index(&act->copy) < 0 || spans_index(&act->busy) < 0)
        return -1;
    return 0;
}

void activity_release(struct activity *act)
{
    spans_release(&act->compute);
    spans_release(&act->comm);
    spans_release(&act->copy);
    spans_release(&act->busy);
}
