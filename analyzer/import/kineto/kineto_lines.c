/* Finds the Python line that each thread launches from, as the agent records it: the line of the
 * thread's own frames; in a backward pass the line of the operator with the same sequence number,
 * which PyTorch gives to each node of its graph and to the call that created it. The whole trace
 * counts as one stretch.
 *
 * Cost: two sorts of the noted entries, one search per operator. */
#include "analyzer/import/kineto/kineto.h"

#include "wire/spool_format.h"

#include <string.h>

#define PUT(kind, row) k->out->put(k->out->self, kind, &(row), k->e)

int kineto_lines_note(struct kineto *k, const struct kineto_event *v, int64_t start_ns)
{
    if (v->sequence < 0 && !v->is_node)
        return 0;
    int64_t thread = kineto_thread_id(k, v->tid);
    struct kineto_line *l = thread < 0   ? NULL
                            : v->is_node ? vec_push(&k->frames.nodes)
                                         : vec_push(&k->frames.forward);
    if (!l)
        return thread < 0 ? -1 : err_set(k->e, "out of memory");
    *l = (struct kineto_line){.start_ns = start_ns,
                              .end_ns = start_ns + v->dur_ns,
                              .sequence = v->sequence,
                              .thread = (uint32_t)thread - 1};
    return 0;
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_time(const void *a, const void *b)
{
    const struct kineto_line *x = a, *y = b;
    return x->thread != y->thread ? compare(x->thread, y->thread)
                                  : compare(x->start_ns, y->start_ns);
}

static int by_number(const void *a, const void *b)
{
    const struct kineto_line *x = a, *y = b;
    return x->sequence != y->sequence ? compare(x->sequence, y->sequence)
                                      : compare(x->start_ns, y->start_ns);
}

static void sort(struct kineto_line_list *l, int (*order)(const void *, const void *))
{
    if (l->n)
        qsort(l->at, l->n, sizeof *l->at, order);
}

/* The last entry that is not after `at`; NULL: there is none. */
static const struct kineto_line *last_until(const struct kineto_line_list *l,
                                            const struct kineto_line *at,
                                            int (*order)(const void *, const void *))
{
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order(&l->at[middle], at) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &l->at[low - 1] : NULL;
}

/* The line that the thread's own frames were in at `ns`: id of a stack, 0 = none. */
static uint32_t own_line(const struct kineto *k, uint32_t thread, int64_t ns)
{
    const struct kineto_line at = {.start_ns = ns, .thread = thread},
                             *found = last_until(&k->frames.changes, &at, by_time);
    return found && found->thread == thread ? found->stack : 0;
}

/* Keeps the forward operators that have a line, sorted by sequence number. The last
 * one with a number counts. */
static void keep_lined(struct kineto *k)
{
    struct kineto_line_list *f = &k->frames.forward;
    size_t kept = 0;
    for (size_t i = 0; i < f->n; i++) {
        f->at[i].stack = own_line(k, f->at[i].thread, f->at[i].start_ns);
        if (f->at[i].stack)
            f->at[kept++] = f->at[i];
    }
    f->n = kept;
    sort(f, by_number);
}

/* ---- rows ---- */

static int put_line(struct kineto *k, uint32_t thread, int64_t ns, enum spool_line what,
                    uint32_t stack)
{
    struct row_launch_line row = {.id = ++k->ids[ROW_LAUNCH_LINE],
                                  .process = (int64_t)k->threads.at[thread].process + 1,
                                  .thread = (int64_t)thread + 1,
                                  .start_ns = ns,
                                  .end_ns = -1,
                                  .stretch = 1,
                                  .what = stack ? what : SPOOL_LINE_NONE,
                                  .stack = stack};
    return PUT(ROW_LAUNCH_LINE, row);
}

/* Puts the line for a backward node: that of its forward operator, otherwise the line
 * that called backward(). */
static int put_node(struct kineto *k, const struct kineto_line *node, int64_t from_ns)
{
    const struct kineto_line_list *f = &k->frames.forward;
    const struct kineto_line *found = node->sequence < 0 ? NULL : last_until(f, node, by_number);
    if (found && found->sequence == node->sequence)
        return put_line(k, node->thread, from_ns, SPOOL_LINE_FORWARD, found->stack);
    uint32_t caller = f->n ? own_line(k, f->at[f->n - 1].thread, node->start_ns) : 0;
    return put_line(k, node->thread, from_ns, SPOOL_LINE_BACKWARD, caller);
}

/* Merges one thread's changes of line and its nodes, by time. If the thread has a line of
 * its own, that one counts. */
static int put_thread(struct kineto *k, size_t *change, size_t *node, uint32_t thread)
{
    const struct kineto_line_list *c = &k->frames.changes, *n = &k->frames.nodes;
    const struct kineto_line *in = NULL; /* the node that the thread evaluates */
    uint32_t own = 0;
    for (;;) {
        const struct kineto_line *a = *change < c->n && c->at[*change].thread == thread
                                          ? &c->at[*change]
                                          : NULL,
                                 *b = *node < n->n && n->at[*node].thread == thread ? &n->at[*node]
                                                                                    : NULL;
        if (!a && !b)
            return 0;
        bool is_node = b && (!a || b->start_ns < a->start_ns);
        if (is_node) {
            in = b;
            ++*node;
        } else {
            own = a->stack;
            ++*change;
        }
        int64_t ns = is_node ? b->start_ns : a->start_ns;
        bool inside = in && ns < in->end_ns;
        if (own && is_node)
            continue;
        if ((own || !inside) ? put_line(k, thread, ns, SPOOL_LINE_OWN, own) < 0
                             : put_node(k, in, ns) < 0)
            return -1;
    }
}

static int put_stretch(struct kineto *k, size_t process)
{
    const struct kineto_process *p = &k->processes.at[process];
    struct row_launch_line row = {.id = ++k->ids[ROW_LAUNCH_LINE],
                                  .process = (int64_t)process + 1,
                                  .thread = -1,
                                  .start_ns = p->first_ns,
                                  .end_ns = p->last_ns,
                                  .stretch = 1,
                                  .what = SPOOL_LINE_STRETCH};
    return PUT(ROW_LAUNCH_LINE, row);
}

/* ---- passes through one graph ---- */

/* The call that goes through nodes again that a pass before went through. A node's number is that of
 * one operator of its thread: with several such threads, equal numbers say nothing. */
static int put_passes(struct kineto *k)
{
    enum { A_NODE = 60 }; /* bits of a number; nodes that sum gradients up have larger ones */
    const struct kineto_line_list *n = &k->frames.nodes, *f = &k->frames.forward;
    const struct kineto_line *again = NULL;
    size_t most = 1, all = 0, more = 0;
    for (size_t i = 1; i < f->n; i++)
        if (f->at[i].thread != f->at[0].thread)
            return 0;
    for (size_t i = 0, next; i < n->n; i = next) {
        for (next = i + 1; next < n->n && n->at[next].sequence == n->at[i].sequence;)
            next++;
        if (n->at[i].sequence < 0 || n->at[i].sequence >> A_NODE)
            continue;
        all += next - i;
        more += next - i - 1;
        if (next - i > most) {
            most = next - i;
            again = &n->at[next - 1];
        }
    }
    size_t behind = all - all / most; /* in all passes but the first of each graph */
    if (most < 2 || f->n == 0 || more * 5 < behind)
        return 0;
    return kineto_tells_again(k, most, 100 * more / behind,
                              own_line(k, f->at[0].thread, again->start_ns));
}

int kineto_lines_end(struct kineto *k)
{
    size_t change = 0, node = 0;
    if (k->frames.changes.n == 0)
        return 0;
    sort(&k->frames.changes, by_time);
    keep_lined(k);
    sort(&k->frames.nodes, by_number);
    if (put_passes(k) < 0)
        return -1;
    sort(&k->frames.nodes, by_time);
    for (size_t i = 0; i < k->processes.n; i++)
        if (put_stretch(k, i) < 0)
            return -1;
    for (uint32_t i = 0; i < k->threads.n; i++)
        if (put_thread(k, &change, &node, i) < 0)
            return -1;
    return 0;
}
