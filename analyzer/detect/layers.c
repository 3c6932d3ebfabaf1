#include "analyzer/detect/layers.h"

#include "analyzer/measure/spans.h"
#include "analyzer/timeline/name_test.h"

#include <string.h>

bool layers_alike(const struct cut *c)
{
    const double MOST = 0.8;
    return c->layers >= MOST && cut_hint(c) == HINT_NONE;
}

bool layers_once(const struct cut *c)
{
    const double NEARLY_ALL = 0.7;
    return c->k <= CUT_FEW && cut_hint(c) == HINT_NONE && c->whole < NEARLY_ALL;
}

static const double TWICE = 1.8; /* as many segments, nearly */

const struct cut *layers_pass(const struct cut *cuts, size_t n, const struct cut *c)
{
    const double ALIKE = 0.9;
    const struct cut *best = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct cut *o = &cuts[i];
        bool holds = (double)o->k * TWICE <= (double)c->k && o->whole >= c->whole;
        if (holds && layers_alike(o) && o->alike >= ALIKE * c->alike &&
            (!best || o->votes > best->votes))
            best = o;
    }
    return best;
}

bool layers_perhaps(const struct cut *cuts, size_t n, const struct cut *c)
{
    bool inside = false;
    for (size_t i = 0; i < n; i++)
        inside |= (double)cuts[i].k >= TWICE * (double)c->k && layers_alike(&cuts[i]);
    return layers_alike(c) && !inside;
}

/* ---- calls of modules ---- */

struct calls VEC(struct span);

static bool is_module(const char *name)
{
    static const char prefix[] = "nn.Module: "; /* as PyTorch's profiler writes it */
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}

/* The outermost: ranges come by thread, then by start, and nest. -1: out of memory. */
static int find_calls(struct calls *calls, const struct timeline *t, uint32_t process)
{
    struct name_test module = name_test_open(t, is_module);
    int rc = 0;
    for (uint32_t i = 0; i < t->thread_count && rc == 0; i++) {
        const struct thread *th = &t->threads[i];
        int64_t end = INT64_MIN;
        for (uint32_t k = th->first_range;
             th->process == process && k < th->first_range + th->ranges && rc == 0; k++) {
            const struct range *r = &t->ranges[k];
            if (r->end_ns <= end || !name_test(&module, r->name))
                continue;
            struct span *call = vec_push(calls);
            rc = call ? 0 : -1;
            if (call)
                *call = (struct span){r->start_ns, end = r->end_ns};
        }
    }
    name_test_close(&module);
    return rc;
}

/* One call launched whatever begins a segment. */
static bool in_one_call(const struct calls *calls, const struct sequence *s, uint32_t token)
{
    const uint32_t *p = s->position + s->first[token];
    int64_t from = s->time[p[0]], to = s->time[p[count_of(s, token) - 1]];
    for (size_t i = 0; i < calls->n; i++)
        if (calls->at[i].start_ns <= from && calls->at[i].end_ns > to)
            return true;
    return false;
}

int layers_left_out(struct cut *cuts, int n, const struct sequence *s, const struct timeline *t,
                    uint32_t process)
{
    struct calls calls = {0};
    int left = 0, rc = n > 0 ? find_calls(&calls, t, process) : 0;
    for (int i = 0; i < n && rc == 0; i++)
        if (!in_one_call(&calls, s, cuts[i].token))
            cuts[left++] = cuts[i];
    vec_release(&calls);
    return rc < 0 ? -1 : left;
}
