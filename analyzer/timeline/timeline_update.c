/* timeline_finish: finds which operations an optimizer's step launched, and which its zero_grad(),
 * by the range around the launch. Names of kernels do not show this: a simple update consists of
 * pointwise kernels, and zeroing of fills, which other code uses as well. */
#include "analyzer/timeline/build.h"
#include "analyzer/timeline/name_test.h"

bool timeline_names_update(const char *name)
{
    return strncmp(name, "Optimizer.step#", 15) == 0 || strcmp(name, "optimizer.step") == 0;
}

static bool names_zeroing(const char *name)
{
    return strncmp(name, "Optimizer.zero_grad#", 20) == 0 || strcmp(name, "zero_grad") == 0;
}

/* True for the names that these two profilers give to the backward pass. */
static bool is_backward(const char *name)
{
    return strncmp(name, "autograd::engine::evaluate_function", 35) == 0 ||
           strcmp(name, "backward") == 0;
}

int64_t timeline_update_start(const struct timeline *t, const struct range *r)
{
    const struct thread *th = &t->threads[r->thread];
    for (uint32_t c = timeline_api_from(t, th, r->start_ns);
         c < th->first_api + th->apis && t->apis[c].start_ns < r->end_ns; c++)
        if (t->apis[c].op != TL_NONE && t->ops[t->apis[c].op].in_update)
            return t->apis[c].start_ns;
    return r->end_ns;
}

struct update {
    int64_t from_ns, start_ns, end_ns; /* from_ns: where the optimizer's own work begins */
};

struct updates { /* sorted by (thread, start); only the outermost ones */
    struct VEC(struct update) at;
    uint32_t *first; /* by thread: index of its first one; one more entry for the end */
};

/* Finds the outermost ranges, on each thread, whose names pass the test
 * `names`. -1: out of memory. */
static int find_updates(const struct timeline *t, bool (*names)(const char *), struct updates *u)
{
    struct name_test named = name_test_open(t, names);
    int rc = 0;
    for (uint32_t k = 0; k < t->thread_count && rc == 0; k++) {
        const struct thread *th = &t->threads[k];
        u->first[k] = (uint32_t)u->at.n;
        int64_t until = INT64_MIN;
        for (uint32_t i = th->first_range; i < th->first_range + th->ranges && rc == 0; i++) {
            const struct range *r = &t->ranges[i];
            if (r->start_ns < until || !name_test(&named, r->name))
                continue;
            struct update *x = vec_push(&u->at);
            rc = x ? 0 : -1;
            if (x)
                *x = (struct update){r->start_ns, r->start_ns, r->end_ns};
            until = r->end_ns;
        }
    }
    u->first[t->thread_count] = (uint32_t)u->at.n;
    name_test_close(&named);
    return rc;
}

/* The thread's update at that time, or NULL. */
static struct update *update_at(const struct updates *u, uint32_t thread, int64_t ns)
{
    size_t first = u->first[thread], low = first, high = u->first[thread + 1];
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (u->at.at[mid].start_ns <= ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low > first && u->at.at[low - 1].end_ns > ns ? &u->at.at[low - 1] : NULL;
}

/* Lets updates of `thread` begin after the backward passes that thread `k` runs inside them. */
static void leave_out(const struct timeline *t, const struct updates *u, uint32_t thread,
                      uint32_t k, const struct name_test *backward)
{
    const struct thread *th = &t->threads[k];
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        struct update *x = name_test(backward, r->name) ? update_at(u, thread, r->start_ns) : NULL;
        if (x && r->end_ns > x->from_ns)
            x->from_ns = r->end_ns;
    }
}

/* An optimizer that is given a closure (as Lightning does) runs the forward and backward passes
 * inside its step. Its own work comes after these, on whichever thread of the process they run. */
static void leave_out_closures(const struct timeline *t, const struct updates *u)
{
    struct name_test backward = name_test_open(t, is_backward);
    for (uint32_t own = 0; own < t->thread_count; own++)
        for (uint32_t k = 0; u->first[own] < u->first[own + 1] && k < t->thread_count; k++)
            if (t->threads[k].process == t->threads[own].process)
                leave_out(t, u, own, k, &backward);
    name_test_close(&backward);
}

static int build_zeroing(struct timeline *t)
{
    struct updates u = {.first = calloc(t->thread_count + 1, sizeof *u.first)};
    int rc = u.first ? find_updates(t, names_zeroing, &u) : -1;
    t->zeroing_told = u.at.n > 0;
    for (size_t i = 0; rc == 0 && u.at.n && i < t->op_count; i++) {
        const struct api *c = t->ops[i].api == TL_NONE ? NULL : &t->apis[t->ops[i].api];
        t->ops[i].in_zeroing = c && update_at(&u, c->thread, c->start_ns);
    }
    vec_release(&u.at);
    free(u.first);
    return rc;
}

int build_updates(struct timeline *t)
{
    struct updates u = {.first = calloc(t->thread_count + 1, sizeof *u.first)};
    int rc = u.first ? find_updates(t, timeline_names_update, &u) : -1;
    if (rc == 0 && u.at.n)
        leave_out_closures(t, &u);
    for (size_t i = 0; rc == 0 && u.at.n && i < t->op_count; i++) {
        if (t->ops[i].api == TL_NONE)
            continue;
        const struct api *c = &t->apis[t->ops[i].api];
        const struct update *x = update_at(&u, c->thread, c->start_ns);
        t->ops[i].in_update = x && c->start_ns >= x->from_ns;
    }
    vec_release(&u.at);
    free(u.first);
    return rc == 0 ? build_zeroing(t) : rc;
}
