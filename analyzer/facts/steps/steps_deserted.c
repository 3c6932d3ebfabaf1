/* Stops using steps that wait for a rank that has ended. When a rank dies, the next collective of
 * the other ranks lasts until the program gives up, which takes minutes if a watchdog has to
 * notice. That is no cost of the loop, so that step and all later ones are not used.
 *
 *   numbers of the collectives of each communicator and process -> the first one that a rank never
 *   called -> its step
 *
 * Works only if the numbers are recorded, for ranks on the same host, and if the analysed rank
 * called at most two more collectives (FACTS_FURTHER): no rank gets further without the others.
 * Cost: the collectives are sorted. */
#include "analyzer/facts/steps/steps.h"

#include "analyzer/facts/limits.h"
#include "base/vec.h"

#include <stdlib.h>

struct line { /* the last number of one process on one communicator */
    int64_t communicator, process, last;
};
struct lines VEC(struct line);

static int by_place(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->communicator != y->communicator)
        return x->communicator < y->communicator ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

static const struct line *line_of(const struct lines *v, const struct row_collective *c)
{
    struct line key = {c->communicator, c->process, 0};
    return v->n ? bsearch(&key, v->at, v->n, sizeof key, by_place) : NULL;
}

/* True for a call that a thread made. Other profilers number the kernels that ran,
 * which cannot be compared. */
static bool numbered(const struct row_collective *c)
{
    return c->thread >= 0 && c->sequence > 0 && c->communicator != 0 && c->communicator != -1;
}

/* Fills v: one entry per communicator and process, sorted, with its largest
 * number. -1: out of memory. */
static int find_lines(const struct timeline *t, struct lines *v)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->collective_count; i++) {
        const struct row_collective *c = &t->collectives[i].row;
        struct line *l = numbered(c) ? vec_push(v) : NULL;
        if (l)
            *l = (struct line){c->communicator, c->process, c->sequence};
        else if (numbered(c))
            return -1;
    }
    if (v->n)
        qsort(v->at, v->n, sizeof *v->at, by_place);
    for (size_t i = 0; i < v->n; i++) {
        struct line *l = kept ? &v->at[kept - 1] : NULL;
        if (!l || by_place(l, &v->at[i]) != 0)
            v->at[kept++] = v->at[i];
        else if (v->at[i].last > l->last)
            l->last = v->at[i].last;
    }
    v->n = kept;
    return 0;
}

/* The last number that a rank on the same host reached on the communicator before it ended, if it
 * ended before `ns` and is at most FACTS_FURTHER behind; otherwise our own last number. */
static int64_t last_of_all(const struct timeline *t, const struct lines *v, const struct line *ours,
                           const struct row_process *me, int64_t ns)
{
    int64_t last = ours->last;
    for (size_t i = 0; i < v->n; i++) {
        if (v->at[i].communicator != ours->communicator || v->at[i].process == ours->process)
            continue;
        uint32_t other = timeline_process_index(t, v->at[i].process);
        const struct row_process *p = other == TL_NONE ? me : &t->processes[other];
        if (p != me && p->host == me->host && p->end_ns > 0 && p->end_ns < ns &&
            v->at[i].last < last && ours->last - v->at[i].last <= FACTS_FURTHER)
            last = v->at[i].last;
    }
    return last;
}

static uint32_t step_of(const struct facts *f, const struct collective *c)
{
    return c->op != TL_NONE ? f->steps.op_step[c->op] : facts_step_at(f, c->row.start_ns);
}

int steps_drop_after_rank_death(struct facts *f)
{
    const struct timeline *t = f->tl;
    struct steps *s = &f->steps;
    struct lines v = {0};
    uint32_t first = TL_NONE;
    if (t->collective_count == 0 || s->process >= t->process_count)
        return 0;
    const struct row_process *me = &t->processes[s->process];
    int rc = find_lines(t, &v);
    for (size_t i = 0; rc == 0 && i < t->collective_count; i++) {
        const struct collective *c = &t->collectives[i];
        const struct line *ours =
            c->row.process == me->id && numbered(&c->row) ? line_of(&v, &c->row) : NULL;
        if (!ours || ours->last - c->row.sequence >= FACTS_FURTHER)
            continue; /* all ranks came this far */
        int64_t ended = c->op != TL_NONE ? t->ops[c->op].end_ns : me->end_ns;
        uint32_t step = step_of(f, c);
        if (step < first && c->row.sequence > last_of_all(t, &v, ours, me, ended))
            first = step;
    }
    for (uint32_t i = first; i < s->count; i++) /* if even the first step waits, keep
                                                   all: no others are left */
        s->at[i].used &= first == 0;
    vec_release(&v);
    return rc;
}
