/* Divides a step's time when no GPU works. The parts are activities of the training thread, taken
 * from the ranges and loader records that the framework's hook writes. A moment inside several of
 * them belongs to the first part in the order of `layer`. Cost: O(n log n) over the thread's ranges
 * and the loader's records. */
#include "analyzer/facts/health_kinds.h"
#include "analyzer/facts/limits.h"
#include "analyzer/facts/passes.h"
#include "analyzer/timeline/sort.h"

#include "base/vec.h"
#include "wire/fact_keys.h"
#include "wire/spool_format.h"
#include "wire/step_mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In order of priority: the first layer that covers a moment gets it. PART_DATA stands behind
 * PART_BACKWARD because a backward pass may itself load data again, which is part of the pass. */
static const enum part layer[] = {PART_GC,        PART_VALIDATION, PART_WORKERS,
                                  PART_COLLATE,   PART_DATA,       PART_BACKWARD,
                                  PART_OPTIMIZER, PART_FORWARD,    PART_EXCHANGE};
enum { LAYERS = sizeof layer / sizeof *layer };

struct cpu_spans {
    struct spans until[LAYERS]; /* [i]: the union of the spans of layers 0 to i */
};

struct found {
    struct VEC(struct span) of[PART_COUNT]; /* spans per part; PART_OTHER holds the marked steps */
};

/* Without a loader the hook does not record where the forward pass begins: the program may first
 * make its batch or play a game. Nor is work after model.eval() certainly a validation. So the
 * titles of these parts then claim less. */
const char *analysis_part_title(const struct facts *f, int part)
{
    if (part == PART_VALIDATION && !f->tl->loader_count)
        return "after model.eval()";
    if (part != PART_FORWARD)
        return part_title[part];
    if (!f->breakdown_ns[PART_BACKWARD])
        return "forward and what follows it";
    bool data = f->tl->loader_count || f->breakdown_ns[PART_DATA];
    return data ? part_title[part] : "work before backward";
}

static bool launched(const struct timeline *t)
{
    for (size_t i = 0; i < t->api_count; i++)
        if (t->apis[i].kind == API_LAUNCH || t->apis[i].kind == API_GRAPH_LAUNCH)
            return true;
    return false;
}

bool cpu_is_all(const struct timeline *t)
{
    const char *source = timeline_meta(t, "source"), *on = timeline_meta(t, FACT_TORCH_PARAMETERS);
    if (t->op_count || launched(t))
        return false;
    if (source && strcmp(source, "run") != 0) /* other profilers may have recorded only the host */
        return cpu_trace(t);
    if (on)
        return strstr(on, ", on cpu") != NULL;
    return !health_hides_gpu(t);
}

/* The part that a range of the training thread belongs to; PART_OTHER: no part of its own. */
static enum part part_of_range(const char *name)
{
    static const struct {
        const char *start;
        enum part part;
    } of[] = {{"backward", PART_BACKWARD},     {"optimizer.step", PART_OPTIMIZER},
              {"zero_grad", PART_OPTIMIZER},   {"clip_grad", PART_OPTIMIZER},
              {"validation", PART_VALIDATION}, {"forward", PART_FORWARD},
              {"Optimizer.", PART_OPTIMIZER}}; /* the name that PyTorch's profiler uses */
    if (strcmp(name, "gc") == 0)
        return PART_GC;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (strncmp(name, of[i].start, strlen(of[i].start)) == 0)
            return of[i].part;
    return PART_OTHER;
}

static int push(struct found *f, enum part part, int64_t start_ns, int64_t end_ns)
{
    struct span *s = end_ns > start_ns ? vec_push(&f->of[part]) : NULL;
    if (s)
        *s = (struct span){start_ns, end_ns};
    return s || end_ns <= start_ns ? 0 : -1;
}

/* Adds a range of one node of the backward pass. Nodes of one pass follow each other at once, so a
 * node that begins within FACTS_ONE_BACKWARD_NS extends the last span. */
static int extend(struct found *f, enum part part, int64_t start_ns, int64_t end_ns)
{
    struct span *last = f->of[part].n ? &f->of[part].at[f->of[part].n - 1] : NULL;
    if (!last || start_ns - last->end_ns > FACTS_ONE_BACKWARD_NS)
        return push(f, part, start_ns, end_ns);
    last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
    return 0;
}

static int find_ranges(struct found *f, const struct timeline *t, uint32_t thread)
{
    const struct thread *th = &t->threads[thread];
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        const char *name = tl_text(t, r->name);
        enum part part = part_of_range(name);
        bool step = spool_step_mark(name) != SPOOL_STEP_NONE;
        if (cpu_backward(name)
                ? extend(f, PART_BACKWARD, r->start_ns, r->end_ns) < 0
                : (step || part != PART_OTHER) && push(f, part, r->start_ns, r->end_ns) < 0)
            return -1;
    }
    return 0;
}

/* Adds the collectives of gloo, which run on threads of their own. The agent does not record gloo,
 * but PyTorch's profiler does, as ranges. */
static int find_exchange(struct found *f, const struct timeline *t, uint32_t process)
{
    for (size_t i = 0; i < t->range_count; i++) {
        const struct range *r = &t->ranges[i];
        if (t->threads[r->thread].process == process &&
            strncmp(tl_text(t, r->name), "gloo:", 5) == 0 &&
            push(f, PART_EXCHANGE, r->start_ns, r->end_ns) < 0)
            return -1;
    }
    return 0;
}

/* True if batches were recorded and no worker process made one: the training
 * threads made them all. */
static bool made_by_trainers(const struct timeline *t)
{
    bool made = false;
    for (size_t i = 0; i < t->loader_count; i++) {
        if (t->loaders[i].what == SPOOL_LOADER_FETCH && t->loaders[i].worker >= 0)
            return false;
        made |= t->loaders[i].what == SPOOL_LOADER_FETCH;
    }
    return made;
}

/* True if a loop over loader `number` starts worker processes, by the settings that the hook
 * recorded, or, without these, if the training threads do not make the batches themselves. */
static bool starts_workers(const struct timeline *t, int64_t number, bool trainers)
{
    char key[48] = FACT_TORCH_LOADER;
    if (number > 0)
        snprintf(key, sizeof key, FACT_TORCH_LOADER ".%lld", (long long)number);
    const char *settings = timeline_meta(t, key);
    const char *workers = settings ? strstr(settings, "num_workers=") : NULL;
    return workers ? atoi(workers + strlen("num_workers=")) > 0 : !trainers;
}

static int find_loading(struct found *f, const struct timeline *t, uint32_t thread)
{
    struct spans input = {0};
    bool trainers = made_by_trainers(t);
    int rc = input_spans(&input, t, thread, true);
    for (size_t i = 0; rc == 0 && i < input.n; i++)
        rc = push(f, PART_DATA, input.at[i].start_ns, input.at[i].end_ns);
    spans_release(&input);
    for (size_t i = 0; rc == 0 && i < t->loader_count; i++) {
        const struct row_loader *l = &t->loaders[i];
        bool around = l->what == SPOOL_LOADER_BEGIN || l->what == SPOOL_LOADER_END;
        bool collates = l->what == SPOOL_LOADER_COLLATE && l->worker < 0;
        if ((!around && !collates) || timeline_thread_index(t, l->thread) != thread)
            continue;
        bool workers = around && starts_workers(t, l->batch, trainers);
        if (workers || collates) /* making the samples is in PART_DATA already */
            rc = push(f, workers ? PART_WORKERS : PART_COLLATE, l->start_ns, l->end_ns);
    }
    return rc;
}

static int sort_found(struct found *f, enum part part)
{
    size_t n = f->of[part].n;
    struct sort_key *keys = malloc((n + 1) * sizeof *keys);
    if (!keys)
        return -1;
    for (size_t i = 0; i < n; i++)
        keys[i] = (struct sort_key){.time = f->of[part].at[i].start_ns, .index = (uint32_t)i};
    int rc = sort_keys(keys, n); /* 1: the order changed */
    if (rc > 0)
        rc = sort_apply(keys, n, f->of[part].at, sizeof *f->of[part].at);
    free(keys);
    return rc < 0 ? -1 : 0;
}

/* Advances the cursor `at` past the spans of `part` that end by `ns`, and returns the latest of
 * their ends, or `from` if that is later. */
static int64_t end_before(const struct found *f, enum part part, size_t *at, int64_t ns,
                          int64_t from)
{
    for (; *at < f->of[part].n && f->of[part].at[*at].end_ns <= ns; ++*at)
        if (f->of[part].at[*at].end_ns > from)
            from = f->of[part].at[*at].end_ns;
    return from;
}

/* Drops loading spans that contain a backward pass. A dataset may train while it makes a batch (in
 * reinforcement learning an agent plays, and its games are the data): that is no loading. */
static void drop_loops(struct found *f, enum part part)
{
    size_t b = 0, kept = 0;
    const struct span *backward = f->of[PART_BACKWARD].at;
    for (size_t i = 0; i < f->of[part].n; i++) {
        struct span s = f->of[part].at[i];
        while (b < f->of[PART_BACKWARD].n && backward[b].start_ns < s.start_ns)
            b++;
        if (b == f->of[PART_BACKWARD].n || backward[b].end_ns > s.end_ns)
            f->of[part].at[kept++] = s;
    }
    f->of[part].n = kept;
}

/* Shortens validation spans that end in a training step. The hook begins a validation where
 * model.eval() is called, but may record its end only when a backward pass begins. Then the
 * validation ended when the last batch before that pass was requested. Without such a batch the
 * span becomes empty: model.eval() was called on some other model. */
static void cut_validation(struct found *f)
{
    size_t b = 0, d = 0;
    for (size_t i = 0; i < f->of[PART_VALIDATION].n; i++) {
        struct span *v = &f->of[PART_VALIDATION].at[i];
        int64_t last = v->start_ns;
        while (b < f->of[PART_BACKWARD].n && f->of[PART_BACKWARD].at[b].start_ns < v->end_ns)
            b++;
        if (b == f->of[PART_BACKWARD].n ||
            f->of[PART_BACKWARD].at[b].start_ns - v->end_ns > FACTS_AT_ONCE_NS)
            continue;
        for (; d < f->of[PART_DATA].n && f->of[PART_DATA].at[d].start_ns < v->end_ns; d++)
            if (f->of[PART_DATA].at[d].start_ns > v->start_ns)
                last = f->of[PART_DATA].at[d].start_ns;
        v->end_ns = last;
    }
}

/* Lets the optimizer's part begin after the backward pass inside it. An optimizer that is given a
 * closure (as Lightning does) runs the forward and backward passes inside optimizer.step(). */
static int cut_closures(struct found *f)
{
    size_t b = 0;
    for (size_t i = 0; i < f->of[PART_OPTIMIZER].n; i++) {
        struct span *o = &f->of[PART_OPTIMIZER].at[i];
        while (b < f->of[PART_BACKWARD].n && f->of[PART_BACKWARD].at[b].end_ns <= o->start_ns)
            b++;
        if (b < f->of[PART_BACKWARD].n && f->of[PART_BACKWARD].at[b].start_ns >= o->start_ns &&
            f->of[PART_BACKWARD].at[b].end_ns < o->end_ns)
            o->start_ns = f->of[PART_BACKWARD].at[b].end_ns;
    }
    return sort_found(f, PART_OPTIMIZER);
}

/* Adds the forward pass before each backward pass. It begins when its batch arrived, or at the end
 * of the previous step, backward pass or validation, whichever is latest. */
static int find_forward(struct found *f)
{
    const enum part ends[] = {PART_DATA, PART_BACKWARD, PART_VALIDATION, PART_OTHER};
    size_t at[4] = {0};
    int64_t from = INT64_MIN;
    for (size_t i = 0; i < f->of[PART_BACKWARD].n; i++) {
        int64_t to = f->of[PART_BACKWARD].at[i].start_ns;
        for (int k = 0; k < 4; k++)
            from = end_before(f, ends[k], &at[k], to, from);
        if (from == INT64_MIN) /* before the first backward pass no such event was recorded */
            from = to;
        if (push(f, PART_FORWARD, from, to) < 0)
            return -1;
    }
    return 0;
}

/* Without backward passes: PART_FORWARD is the time from each batch to the next one. */
static int find_batches(struct found *f, int64_t end_ns)
{
    for (size_t i = 0; i < f->of[PART_DATA].n; i++) {
        bool last = i + 1 == f->of[PART_DATA].n;
        int64_t to = last ? end_ns : f->of[PART_DATA].at[i + 1].start_ns;
        if (push(f, PART_FORWARD, f->of[PART_DATA].at[i].end_ns, to) < 0)
            return -1;
    }
    return 0;
}

/* With PyTorch 1 the hook records when the optimizer ends, but not when it begins: assume that it
 * begins at the end of the last backward pass in the step. */
static int find_optimizer(struct found *f, const struct timeline *t, uint32_t thread)
{
    const struct thread *th = &t->threads[thread];
    size_t at = 0;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++)
        if (strcmp(tl_text(t, t->ranges[i].name), "optimizer.step") == 0)
            return 0;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        if (strcmp(tl_text(t, r->name), "gpuprof.step") != 0)
            continue;
        int64_t from = end_before(f, PART_BACKWARD, &at, r->end_ns, r->start_ns);
        if (from > r->start_ns && push(f, PART_OPTIMIZER, from, r->end_ns) < 0)
            return -1;
    }
    return sort_found(f, PART_OPTIMIZER);
}

/* Adds to `out` the union of the spans in `above` (may be NULL) and `at`, both sorted by start. */
static int merge(struct spans *out, const struct spans *above, const struct span *at, size_t n)
{
    size_t i = 0, k = 0;
    size_t m = above ? above->n : 0;
    while (i < m || k < n) {
        bool first = k == n || (i < m && above->at[i].start_ns <= at[k].start_ns);
        struct span s = first ? above->at[i++] : at[k++];
        if (s.end_ns > s.start_ns && spans_add(out, s.start_ns, s.end_ns) < 0)
            return -1;
    }
    return spans_index(out);
}

static int find_all(struct found *f, const struct timeline *t, uint32_t thread)
{
    int rc = find_ranges(f, t, thread) < 0 || find_loading(f, t, thread) < 0 ||
                     find_exchange(f, t, t->threads[thread].process) < 0
                 ? -1
                 : 0;
    for (int i = 0; rc == 0 && i < LAYERS; i++)
        rc = sort_found(f, layer[i]);
    if (rc == 0) {
        drop_loops(f, PART_WORKERS);
        drop_loops(f, PART_DATA);
        cut_validation(f);
        rc = cut_closures(f);
    }
    if (rc == 0 && sort_found(f, PART_OTHER) == 0 && f->of[PART_BACKWARD].n)
        rc = find_forward(f) < 0 ? -1 : find_optimizer(f, t, thread);
    else if (rc == 0)
        rc = find_batches(f, t->end_ns);
    return rc == 0 ? sort_found(f, PART_FORWARD) : -1;
}

struct cpu_spans *cpu_spans_find(const struct facts *facts, uint32_t thread)
{
    struct found f = {0};
    struct cpu_spans *s = calloc(1, sizeof *s);
    int rc = s ? find_all(&f, facts->tl, thread) : -1;
    for (int i = 0; rc == 0 && i < LAYERS; i++)
        rc = merge(&s->until[i], i ? &s->until[i - 1] : NULL, f.of[layer[i]].at, f.of[layer[i]].n);
    for (int i = 0; i < PART_COUNT; i++)
        vec_release(&f.of[i]);
    if (rc == 0)
        return s;
    cpu_spans_free(s);
    return NULL;
}

void cpu_spans_part(const struct cpu_spans *s, int64_t from_ns, int64_t to_ns,
                    int64_t parts[PART_COUNT])
{
    int64_t before = 0;
    for (int i = 0; i < LAYERS; i++) {
        int64_t until = spans_covered(&s->until[i], from_ns, to_ns);
        parts[layer[i]] = until - before;
        before = until;
    }
    parts[PART_OTHER] = to_ns - from_ns - before;
}

void cpu_spans_free(struct cpu_spans *s)
{
    for (int i = 0; s && i < LAYERS; i++)
        spans_release(&s->until[i]);
    free(s);
}
