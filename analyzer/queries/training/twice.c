/* Finds gradients that later backward passes go through (twice.h). The engine launches from threads of
 * its own, so what is launched meanwhile counts, from whichever thread. */
#include "analyzer/queries/training/twice.h"

#include "base/order.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct interval {
    int64_t start_ns, end_ns;
};
struct intervals VEC(struct interval);

/* Is the name that of a function of torch.autograd, "torch/autograd/__init__.py(448): grad"? */
static bool is_call(const char *name, const char *function)
{
    static const char file[] = "torch/autograd/__init__.py(";
    const char *behind = strncmp(name, file, sizeof file - 1) == 0 ? strstr(name, "): ") : NULL;
    return behind && strcmp(behind + 3, function) == 0;
}

static bool is_twice(const char *name)
{
    return strncmp(name, QUERY_TWICE, sizeof QUERY_TWICE - 1) == 0 || is_call(name, "grad");
}

static bool is_backward(const char *name)
{
    return strcmp(name, "backward") == 0 || is_call(name, "backward");
}

bool query_goes_twice(const struct facts *f)
{
    bool called = false, second = false;
    for (uint32_t i = 0; i < f->tl->strings.n; i++) {
        const char *name = tl_text(f->tl, i);
        if (strncmp(name, QUERY_TWICE, sizeof QUERY_TWICE - 1) == 0)
            return true;
        called |= is_call(name, "grad");
        second |= strstr(name, "BackwardBackward") != NULL;
    }
    return called && second;
}

/* "train.py:12": the hook's, or the function of the program that calls. NULL: not known. */
static const char *place_of(const struct timeline *t, const struct range *r, struct arena *arena)
{
    const char *name = tl_text(t, r->name);
    if (strncmp(name, QUERY_TWICE, sizeof QUERY_TWICE - 1) == 0)
        return name[sizeof QUERY_TWICE - 1] == ' ' ? name + sizeof QUERY_TWICE : NULL;
    for (uint32_t up = r->parent; up != TL_NONE; up = t->ranges[up].parent) {
        const char *by = tl_text(t, t->ranges[up].name), *line = strstr(by, ".py(");
        if (line && strncmp(by, "torch/", 6) != 0)
            return arena_printf(arena, "%.*s:%d", (int)(line + 3 - by), by, atoi(line + 4));
    }
    return NULL;
}

static void add(struct intervals *list, const struct range *r)
{
    struct interval *x = vec_push(list);
    if (x)
        *x = (struct interval){r->start_ns, r->end_ns};
}

static int by_start(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* True if an interval of the sorted list holds the moment; they do not overlap within a thread. */
static bool holds(const struct intervals *list, int64_t ns)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->at[middle].start_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && ns < list->at[low - 1].end_ns;
}

/* Of each thread of the process: calls of this kind, and the first backward pass behind each row of
 * them. Returns the longest. */
static const struct range *find(const struct facts *f, struct intervals *first,
                                struct intervals *then, size_t *calls)
{
    const struct timeline *t = f->tl;
    const struct range *longest = NULL;
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct thread *th = &t->threads[i];
        int64_t open_ns = INT64_MAX; /* the end of a call whose backward pass is yet to come */
        for (uint32_t k = th->first_range;
             th->process == f->steps.process && k < th->first_range + th->ranges; k++) {
            const struct range *r = &t->ranges[k];
            const char *name = tl_text(t, r->name);
            if (is_twice(name)) {
                add(first, r);
                open_ns = r->end_ns;
                *calls += query_step_at(f, r->start_ns) != TL_NONE;
                if (!longest || r->end_ns - r->start_ns > longest->end_ns - longest->start_ns)
                    longest = r;
            } else if (r->start_ns >= open_ns && is_backward(name)) {
                add(then, r);
                open_ns = INT64_MAX;
            }
        }
    }
    return longest;
}

struct query_twice query_twice(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    struct query_twice out = {0};
    struct intervals first = {0}, then = {0};
    if (!query_goes_twice(f))
        return out;
    bool *firsts = arena_array(arena, t->op_count + 1, sizeof *firsts),
         *all = arena_array(arena, t->op_count + 1, sizeof *all);
    if (!firsts || !all)
        return out;
    const struct range *longest = find(f, &first, &then, &out.calls);
    out.place = longest ? place_of(t, longest, arena) : NULL;
    if (first.n)
        qsort(first.at, first.n, sizeof *first.at, by_start);
    if (then.n)
        qsort(then.at, then.n, sizeof *then.at, by_start);
    for (size_t i = 0; i < t->op_count; i++) {
        const struct api *c = t->ops[i].api == TL_NONE ? NULL : &t->apis[t->ops[i].api];
        if (!c || t->threads[c->thread].process != f->steps.process)
            continue;
        firsts[i] = holds(&first, c->start_ns);
        all[i] = firsts[i] || holds(&then, c->start_ns);
    }
    vec_release(&first);
    vec_release(&then);
    out.first_marks = firsts;
    out.marks = all;
    return out;
}
