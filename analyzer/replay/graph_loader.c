/* Finds batches in the rows of a framework's hook: the waits of the training thread, and the
 * fetches. */
#include "analyzer/replay/graph_make.h"

#include "wire/spool_format.h"

#include <stdlib.h>

static int by_mark(const void *a, const void *b)
{
    const struct batch_mark *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns > y->start_ns ? 1 : -1;
    return (int)x->makes - (int)y->makes; /* a wait sorts before a fetch that it contains */
}

/* Joins marks that overlap. If a wait contains a fetch, the training thread makes the batch
 * itself. */
static void merge(struct maker *m)
{
    size_t kept = 0;
    qsort(m->marks.at, m->marks.n, sizeof *m->marks.at, by_mark);
    for (size_t i = 0; i < m->marks.n; i++) {
        struct batch_mark k = m->marks.at[i], *last = kept ? &m->marks.at[kept - 1] : NULL;
        if (last && k.start_ns < last->end_ns) {
            last->makes |= k.makes;
            continue;
        }
        k.number = (uint32_t)kept;
        m->marks.at[kept++] = k;
    }
    m->marks.n = kept;
}

/* Lists the training thread's waits for batches and its own fetches as marks. Returns -1 without
 * memory. */
static int find_waits(struct maker *m)
{
    const struct timeline *t = m->t;
    for (size_t i = 0; i < t->loader_count; i++) {
        const struct row_loader *l = &t->loaders[i];
        bool makes = l->what == SPOOL_LOADER_FETCH && l->worker < 0;
        if ((!makes && l->what != SPOOL_LOADER_WAIT) ||
            timeline_thread_index(t, l->thread) != m->a->steps.main_thread)
            continue;
        struct batch_mark *k = vec_push(&m->marks);
        if (!k)
            return -1;
        *k = (struct batch_mark){.start_ns = l->start_ns, .end_ns = l->end_ns, .makes = makes};
    }
    if (m->marks.n)
        merge(m);
    return 0;
}

/* Lists the fetches of workers of this rank. Workers of another rank feed that rank's training
 * thread. */
static int find_fetches(const struct maker *m, struct loads *loads)
{
    const struct timeline *t = m->t;
    int64_t rank = t->processes[m->a->steps.process].rank;
    for (size_t i = 0; i < t->loader_count; i++) {
        const struct row_loader *l = &t->loaders[i];
        uint32_t thread = timeline_thread_index(t, l->thread);
        if (l->what != SPOOL_LOADER_FETCH || l->worker < 0 || thread == TL_NONE ||
            thread == m->a->steps.main_thread ||
            t->processes[t->threads[thread].process].rank != rank)
            continue;
        struct load *load = vec_push(loads);
        if (!load)
            return -1;
        *load = (struct load){l->start_ns, l->end_ns, thread};
    }
    return 0;
}

int graph_loader(struct maker *m, struct loads *loads)
{
    if (find_waits(m) < 0 || find_fetches(m, loads) < 0)
        return -1;
    bool makes = false;
    for (size_t i = 0; i < m->marks.n; i++)
        makes |= m->marks.at[i].makes;
    if (m->marks.n && (makes || loads->n))
        return 1;
    m->marks.n = loads->n = 0; /* waits alone do not show who makes the batches */
    return 0;
}
