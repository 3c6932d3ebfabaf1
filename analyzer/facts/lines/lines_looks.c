/* Charges single looks to the line that each found, within stretches of time. One row may stand for
 * several looks that found the thread unchanged, because it did not run between them. They count as
 * spread evenly between the first and the last. */
#include "analyzer/facts/lines/lines_looks.h"

#include "analyzer/facts/limits.h"

#include <string.h>

bool looks_add_stretch(struct stretches *s, int64_t start_ns, int64_t end_ns, enum part part)
{
    struct stretch *new = vec_push(s);
    if (new)
        *new = (struct stretch){start_ns, end_ns, part};
    return new != NULL;
}

enum line_does looks_do(const struct looks *p, const struct row_stack_sample *s, uint32_t stack)
{
    switch (s->state) {
    case STACK_RUNNING:
        return LINE_COMPUTES;
    case STACK_READY:
        return LINE_STARVES;
    case STACK_DISK:
        return LINE_DISK;
    default:
        return p->stacks[stack].in_backward && !p->f->on_cpu ? LINE_BACKWARD : LINE_SLEEPS;
    }
}

void looks_charge(struct looks *p, const struct row_stack_sample *s, uint32_t stack, enum part part,
                  int64_t looks)
{
    struct charged *c = &p->charged[stack];
    enum line_does does = looks_do(p, s, stack);
    c->by_does[does] += looks;
    c->by_part[part] += looks;
    c->all += looks;
    if (does == LINE_SLEEPS && s->call && looks > c->call_looks) {
        c->call = s->call;
        c->call_looks = looks;
    }
}

/* Time of look number i of the row. */
int64_t looks_time_ns(const struct row_stack_sample *s, int64_t i)
{
    return s->looks > 1 ? s->start_ns + (int64_t)((double)(s->end_ns - s->start_ns) * (double)i /
                                                  (double)(s->looks - 1))
                        : s->start_ns;
}

/* How many of the row's looks lie before `ns`: the inverse of look_at_ns. */
static int64_t looks_before(const struct row_stack_sample *s, int64_t ns)
{
    if (ns <= s->start_ns)
        return 0;
    if (s->looks <= 1 || ns > s->end_ns)
        return s->looks;
    int64_t i = (int64_t)((double)(ns - s->start_ns) * (double)(s->looks - 1) /
                          (double)(s->end_ns - s->start_ns));
    while (i > 0 && looks_time_ns(s, i) >= ns)
        i--;
    while (i < s->looks && looks_time_ns(s, i) < ns)
        i++;
    return i;
}

/* Index of the first stretch that ends after ns. */
size_t looks_first_after(const struct stretches *at, int64_t ns)
{
    size_t low = 0, high = at->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (at->at[middle].end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* True for a thread's look at Python that PyTorch calls within a backward pass: a hook of a gradient, a
 * function's own backward(). Threads of Python begin in threading's bootstrap. */
bool looks_of_hook(const struct looks *p, const struct row_stack_sample *s, uint32_t stack)
{
    const struct timeline *t = p->f->tl;
    uint32_t thread = timeline_thread_index(t, s->thread), main = p->f->steps.main_thread;
    if (stack == TL_NONE || s->looks <= 0 || p->stacks[stack].line == TL_NONE ||
        thread == TL_NONE || thread == main ||
        t->threads[thread].process != t->threads[main].process)
        return false;
    uint32_t root = stack;
    for (uint32_t up = root; up != TL_NONE; up = timeline_stack_index(t, t->stacks[up].caller))
        root = up;
    return !strstr(tl_text(t, t->stacks[root].function), "_bootstrap");
}

/* Of the row's looks in the stretch: those at which a thread of autograd ran Python are that thread's. */
static int64_t charge_hooks(struct looks *p, const struct row_stack_sample *s,
                            const struct stretch *at)
{
    int64_t from = s->start_ns > at->start_ns ? s->start_ns : at->start_ns,
            to = s->end_ns < at->end_ns ? s->end_ns + FACTS_TOGETHER_NS : at->end_ns, all = 0;
    for (size_t i = 0; i < p->hook_count; i++) {
        const struct row_stack_sample *hook = &p->f->tl->stack_samples[p->hooks[i]];
        int64_t looks = looks_before(hook, to) - looks_before(hook, from);
        if (looks <= 0)
            continue;
        looks_charge(p, hook, p->stack_of[p->hooks[i]], at->part, looks);
        all += looks;
    }
    return all;
}

/* Charges each look of the row that lies in a stretch. The stretches are sorted by time. */
void looks_charge_sample(struct looks *p, const struct row_stack_sample *s, uint32_t stack,
                         const struct stretches *at)
{
    for (size_t i = looks_first_after(at, s->start_ns);
         i < at->n && at->at[i].start_ns <= s->end_ns; i++) {
        int64_t looks = looks_before(s, at->at[i].end_ns) - looks_before(s, at->at[i].start_ns);
        if (looks > 0 && p->hook_count && looks_do(p, s, stack) == LINE_BACKWARD)
            looks -= charge_hooks(p, s, &at->at[i]);
        if (looks > 0)
            looks_charge(p, s, stack, at->at[i].part, looks);
    }
}

void looks_forget(struct looks *p)
{
    memset(p->charged, 0, p->f->tl->stack_count * sizeof *p->charged);
}
