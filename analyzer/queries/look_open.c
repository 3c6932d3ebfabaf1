#include "analyzer/queries/look_open.h"

struct look_open look_open_start(const struct timeline *t, uint32_t thread)
{
    const struct thread *th = &t->threads[thread];
    return (struct look_open){.t = t, .next = th->first_range, .end = th->first_range + th->ranges};
}

void look_open_until(struct look_open *o, int64_t time_ns)
{
    for (;;) {
        while (o->n && o->t->ranges[o->at[o->n - 1]].end_ns <= time_ns)
            o->n--;
        if (o->next == o->end || o->t->ranges[o->next].start_ns > time_ns)
            return;
        if (o->n < LOOK_OPEN_DEPTH)
            o->at[o->n++] = o->next;
        o->next++;
    }
}
