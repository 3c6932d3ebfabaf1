/* Pages of managed memory that move back to the host when host code reads what kernels have
 * written. No call waits for this, so an edit that removes the wait in front of the read leaves a
 * wait for the pages in its place. */
#include "analyzer/replay/graph.h"
#include "analyzer/replay/limits.h"

/* Returns when the first page moves back to the host in [from, to), in the profile's time, or -1 if
 * none does. */
int64_t graph_page_back(const struct facts *f, int64_t from, int64_t to)
{
    const struct timeline *t = f->tl;
    size_t low = 0, high = t->op_count;
    while (low < high) { /* finds the first operation that starts at or after `from` */
        size_t mid = low + (high - low) / 2;
        if (t->ops[mid].start_ns < from)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < t->op_count && t->ops[low].start_ns < to; low++)
        if (tl_migrates(&t->ops[low]) && t->ops[low].copy_kind == COPY_D2H &&
            t->streams[t->ops[low].stream].process == f->steps.process)
            return t->ops[low].start_ns;
    return -1;
}

/* Returns the latest work of the stream, from task `from` backwards, that had ended at at_ns (since
 * the window's start), or TASK_NONE. */
uint32_t graph_ended_by(const struct graph *g, uint32_t from, int64_t at_ns)
{
    for (int n = 0; from != TASK_NONE && n < REPLAY_PAGES_BACK; n++) {
        const struct task *t = &g->tasks[from];
        if (t->kind < TASK_EV_REC && task_end(t) <= at_ns)
            return from;
        from = t->prev;
    }
    return TASK_NONE;
}
