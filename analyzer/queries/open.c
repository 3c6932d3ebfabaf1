/* Tracks which ranges of a thread are open at each of its calls. */
#include "analyzer/queries/open.h"

struct query_open query_open_start(const struct timeline *t, uint32_t thread)
{
    const struct thread *th = &t->threads[thread];
    return (struct query_open){
        .t = t, .next = th->first_range, .end = th->first_range + th->ranges};
}

void query_open_until(struct query_open *o, int64_t time_ns)
{
    for (;;) {
        while (o->n && o->t->ranges[o->at[o->n - 1]].end_ns <= time_ns)
            o->n--;
        if (o->next == o->end || o->t->ranges[o->next].start_ns > time_ns)
            return;
        if (o->n < QUERY_OPEN_DEPTH)
            o->at[o->n++] = o->next;
        o->next++;
    }
}
