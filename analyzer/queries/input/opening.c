/* Finds the batches that are made while a loop waits for its first one. */
#include "analyzer/queries/input/opening.h"

#include "wire/spool_format.h"

/* The last wait that begins before `ns`; NULL: none. */
static struct opening_wait *wait_before(struct opening_wait *waits, size_t n, int64_t ns)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (waits[middle].start_ns < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &waits[low - 1] : NULL;
}

struct opening query_opening(const struct facts *facts, const struct feed *f,
                             struct opening_wait *waits, size_t n)
{
    struct opening o = {0};
    for (size_t i = 0; i < facts->tl->loader_count; i++) {
        const struct row_loader *l = &facts->tl->loaders[i];
        if (l->what != SPOOL_LOADER_FETCH || (l->batch > 0 && f->loader && l->batch != f->loader) ||
            l->end_ns <= l->start_ns)
            continue;
        struct opening_wait *w = wait_before(waits, n, l->end_ns);
        double from = w && w->start_ns > l->start_ns ? (double)w->start_ns : (double)l->start_ns;
        double to = w && w->end_ns < l->end_ns ? (double)w->end_ns : (double)l->end_ns;
        double length = (double)l->end_ns - (double)l->start_ns;
        if (!w || (to - from) * 2 <= length)
            continue;
        o.made++;
        o.making_ns += length;
        o.cpus += l->cpu_ns >= 0;
        o.cpu_ns += l->cpu_ns >= 0 ? (double)l->cpu_ns : 0;
        w->making_ns = to - from > w->making_ns ? to - from : w->making_ns;
    }
    for (size_t i = 0; i < n; i++)
        o.waited_ns += waits[i].used ? waits[i].making_ns : 0;
    return o;
}
