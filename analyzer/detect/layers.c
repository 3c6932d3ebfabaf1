/* Distinguishes the layers of a network, and the parameters of an update, from steps: by what a
 * segment computes, and by ranges of modules and updates that contain all segments. See
 * layers.h. */
#include "analyzer/detect/layers.h"

#include "analyzer/detect/limits.h"
#include "analyzer/measure/spans.h"
#include "analyzer/timeline/name_test.h"

#include <stdlib.h>
#include <string.h>

bool layers_alike(const struct cut *c)
{
    return c->layers >= DETECT_MOST && cut_hint(c) == HINT_NONE;
}

bool layers_once(const struct cut *c)
{
    return c->k <= DETECT_LAYERS_MOST && cut_hint(c) == HINT_NONE && c->whole < DETECT_PASS_WHOLE;
}

const struct cut *layers_pass(const struct cut *cuts, size_t n, const struct cut *c)
{
    const struct cut *best = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct cut *o = &cuts[i];
        bool holds = (double)o->k * DETECT_TWICE <= (double)c->k && o->whole >= c->whole;
        if (holds && layers_alike(o) && o->alike >= DETECT_NEARLY_ALL * c->alike &&
            (!best || o->votes > best->votes))
            best = o;
    }
    return best;
}

bool layers_perhaps(const struct cut *cuts, size_t n, const struct cut *c)
{
    bool inside = false;
    for (size_t i = 0; i < n; i++)
        inside |= (double)cuts[i].k >= DETECT_TWICE * (double)c->k && layers_alike(&cuts[i]);
    return layers_alike(c) && !inside;
}

/* ---- calls of modules and updates ---- */

struct calls VEC(struct span);

static bool is_module(const char *name)
{
    static const char prefix[] = "nn.Module: "; /* the prefix that PyTorch's profiler writes */
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Finds the outermost calls of modules, and the updates, in ranges that are sorted by thread, then
 * by start, and nested. Returns -1 without memory. */
static int find_calls(struct calls *modules, struct calls *updates, const struct timeline *t,
                      uint32_t process)
{
    struct name_test module = name_test_open(t, is_module);
    struct name_test update = name_test_open(t, timeline_names_update);
    int rc = 0;
    for (uint32_t i = 0; i < t->thread_count && rc == 0; i++) {
        const struct thread *th = &t->threads[i];
        int64_t end = INT64_MIN;
        for (uint32_t k = th->first_range;
             th->process == process && k < th->first_range + th->ranges && rc == 0; k++) {
            const struct range *r = &t->ranges[k];
            bool updates_it = name_test(&update, r->name);
            if (!updates_it && (r->end_ns <= end || !name_test(&module, r->name)))
                continue;
            struct span *call = vec_push(updates_it ? updates : modules);
            rc = call ? 0 : -1;
            if (call)
                *call = (struct span){updates_it ? timeline_update_start(t, r) : r->start_ns,
                                      r->end_ns};
            end = updates_it ? end : r->end_ns; /* a closure may call modules */
        }
    }
    name_test_close(&module);
    name_test_close(&update);
    if (updates->n)
        qsort(updates->at, updates->n, sizeof *updates->at, by_start);
    return rc;
}

/* True if one call launched all operations that begin segments. */
static bool in_one_call(const struct calls *calls, const struct sequence *s, uint32_t token)
{
    const uint32_t *p = s->position + s->first[token];
    int64_t from = s->time[p[0]], to = s->time[p[count_of(s, token) - 1]];
    for (size_t i = 0; i < calls->n; i++)
        if (calls->at[i].start_ns <= from && calls->at[i].end_ns > to)
            return true;
    return false;
}

/* True if `least` segments begin in such calls, and several in the same one: these are the
 * parameters of an update, or the layers of a backward pass. */
static bool in_same_calls(const struct calls *calls, const struct sequence *s, uint32_t token,
                          size_t least)
{
    const uint32_t *p = s->position + s->first[token];
    size_t n = count_of(s, token), inside = 0, hit = 0, at = 0, last = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        int64_t ns = s->time[p[i]];
        while (at < calls->n && calls->at[at].end_ns <= ns)
            at++;
        if (at == calls->n || calls->at[at].start_ns > ns)
            continue;
        inside++;
        hit += at != last;
        last = at;
    }
    return inside >= least && inside >= DETECT_SEVERAL * hit;
}

static bool is_backward(const char *name)
{
    return strncmp(name, "autograd::engine::evaluate_function", 35) == 0;
}

static bool launches_between(const struct timeline *t, uint32_t process, int64_t from, int64_t to)
{
    for (uint32_t i = 0; i < t->thread_count; i++) {
        const struct thread *th = &t->threads[i];
        if (th->process != process || !th->apis)
            continue;
        uint32_t end = th->first_api + th->apis;
        for (uint32_t k = timeline_api_from(t, th, from); k < end && t->apis[k].start_ns < to; k++)
            if (t->apis[k].op != TL_NONE || t->apis[k].kind == API_GRAPH_LAUNCH)
                return true;
    }
    return false;
}

/* Finds the backward passes: the nodes of PyTorch's graph that a thread works on, one after the
 * other, while nothing else gives the GPU work. Returns -1 without memory. */
static int find_backward(struct calls *passes, const struct timeline *t, uint32_t process)
{
    struct name_test node = name_test_open(t, is_backward);
    int rc = 0;
    for (uint32_t i = 0; i < t->thread_count && rc == 0; i++) {
        const struct thread *th = &t->threads[i];
        struct span *pass = NULL;
        for (uint32_t k = th->first_range;
             th->process == process && k < th->first_range + th->ranges && rc == 0; k++) {
            const struct range *r = &t->ranges[k];
            if (!name_test(&node, r->name) || (pass && r->end_ns <= pass->end_ns))
                continue;
            if (!pass || launches_between(t, process, pass->end_ns, r->start_ns)) {
                pass = vec_push(passes);
                rc = pass ? 0 : -1;
                if (pass)
                    pass->start_ns = r->start_ns;
            }
            if (pass)
                pass->end_ns = r->end_ns;
        }
    }
    name_test_close(&node);
    if (passes->n)
        qsort(passes->at, passes->n, sizeof *passes->at, by_start);
    return rc;
}

int drop_cuts_in_calls(struct cut *cuts, int n, const struct sequence *s, const struct timeline *t,
                       uint32_t process)
{
    struct calls modules = {0}, updates = {0}, backward = {0};
    int left = 0, rc = n > 0 ? find_calls(&modules, &updates, t, process) : 0;
    if (n > 0 && rc == 0)
        rc = find_backward(&backward, t, process);
    for (int i = 0; i < n && rc == 0; i++) {
        uint32_t x = cuts[i].token;
        if (!in_one_call(&modules, s, x) &&
            !in_same_calls(&updates, s, x, count_of(s, x) / 2 + 1) &&
            !in_same_calls(&backward, s, x, DETECT_OFTEN))
            cuts[left++] = cuts[i];
    }
    vec_release(&modules);
    vec_release(&updates);
    vec_release(&backward);
    return rc < 0 ? -1 : left;
}
