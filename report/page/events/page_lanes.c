/* Orders the lanes of the page's timeline by rank, and names them. */
#include "report/page/events/page_lanes.h"

#include "report/words/text.h"

#include <stdlib.h>

/* Process of a lane; NULL: unknown. */
static const struct row_process *process_of(const struct timeline *t, uint32_t process)
{
    return process < t->process_count ? &t->processes[process] : NULL;
}

static int by_rank(const void *a, const void *b)
{
    const struct lane_order *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

struct lane_order *page_lane_order(const struct timeline *t, bool threads, uint32_t *count)
{
    uint32_t n = (uint32_t)(threads ? t->thread_count : t->stream_count);
    struct lane_order *order = malloc(((size_t)n + 1) * sizeof *order);
    for (uint32_t i = 0; order && i < n; i++) {
        uint32_t process = threads ? t->threads[i].process : t->streams[i].process;
        const struct row_process *p = process_of(t, process);
        order[i] = (struct lane_order){p ? p->rank : -1, i};
    }
    if (order)
        qsort(order, n, sizeof *order, by_rank);
    *count = n;
    return order;
}

/* Its recorded rank, else its rank in the comparison of ranks if it is exactly one of them; else
 * -1. */
static int64_t rank_of(const struct page *p, uint32_t process)
{
    const struct row_process *row = process_of(p->t, process);
    const struct ranks *r = &p->a->facts->ranks;
    int64_t rank = row ? row->rank : -1;
    size_t n = 0;
    if (rank >= 0)
        return rank;
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].process == process) {
            rank = r->at[i].rank;
            n++;
        }
    return n == 1 ? rank : -1;
}

/* "rank 3: " for a lane of one of several processes; "" if there is one process. */
static const char *prefix(const struct page *p, uint32_t process, char *out, size_t n)
{
    const struct row_process *row = process_of(p->t, process);
    int64_t rank = rank_of(p, process);
    out[0] = 0;
    if (p->t->process_count < 2 || !row)
        return out;
    if (rank >= 0)
        snprintf(out, n, "rank %lld: ", (long long)rank);
    else
        snprintf(out, n, "process %lld: ", (long long)row->pid);
    return out;
}

bool *page_several_gpus(const struct timeline *t)
{
    uint32_t *first = malloc((t->process_count + 1) * sizeof *first);
    bool *several = calloc(t->process_count + 1, sizeof *several);
    for (size_t i = 0; first && i < t->process_count; i++)
        first[i] = TL_NONE;
    for (size_t i = 0; first && several && i < t->stream_count; i++) {
        const struct stream *s = &t->streams[i];
        if (!s->ops || s->process >= t->process_count)
            continue;
        if (first[s->process] == TL_NONE)
            first[s->process] = s->device;
        else if (first[s->process] != s->device)
            several[s->process] = true;
    }
    if (!first) {
        free(several);
        several = NULL;
    }
    free(first);
    return several;
}

void page_gpu_name(const struct page *p, uint32_t process, uint32_t device, char *out, size_t n)
{
    char rank[48], number[24] = "";
    if (device < p->t->device_count && process < p->t->process_count && p->several_gpus[process])
        snprintf(number, sizeof number, " %lld", (long long)p->t->devices[device].ordinal);
    snprintf(out, n, "%sGPU%s", prefix(p, process, rank, sizeof rank), number);
}

void page_stream_name(const struct page *p, uint32_t stream, char *out, size_t n)
{
    const struct stream *s = &p->t->streams[stream];
    long long device = s->device < p->t->device_count ? p->t->devices[s->device].ordinal : 0;
    char rank[48];
    snprintf(out, n, "%sGPU %lld, stream %lld", prefix(p, s->process, rank, sizeof rank), device,
             (long long)s->row.stream);
}

void page_thread_name(const struct page *p, uint32_t thread, char *out, size_t n)
{
    char rank[48];
    struct text name;
    snprintf(out, n, "%s%.150s", prefix(p, p->t->threads[thread].process, rank, sizeof rank),
             text_thread(&name, p->a, thread));
}
