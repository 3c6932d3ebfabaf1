/* Finds reads of GPU results that an agent's environment waits for. */
#include "analyzer/queries/training/actions.h"

#include "analyzer/queries/waits.h"
#include "analyzer/timeline/name_test.h"
#include "base/vec.h"

#include <string.h>

enum kind { UPLOAD, TRAINING, READ, READ_LESS, VALIDATION_BEGINS, VALIDATION_ENDS };

struct event {
    int64_t time, wait_ns; /* of a read: how long the host waits */
    uint32_t step;         /* of a read and of the begin of a validation */
    enum kind kind;
    bool other; /* a read in a step with other work */
};

struct events VEC(struct event);

static int add(struct events *v, enum kind kind, int64_t time, int64_t wait_ns)
{
    struct event *e = vec_push(v);
    if (e)
        *e = (struct event){time, wait_ns, TL_NONE, kind, false};
    return e ? 0 : -1;
}

static bool of_training(const char *name)
{
    static const char *const begin[] = {"backward", "optimizer.step", "Optimizer.step",
                                        "autograd::engine::evaluate_function"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (strncmp(name, begin[i], strlen(begin[i])) == 0)
            return true;
    return false;
}

static int add_ranges(struct events *v, const struct facts *f)
{
    const struct timeline *t = f->tl;
    struct name_test trains = name_test_open(t, of_training);
    int rc = 0;
    for (size_t i = 0; i < t->range_count && rc == 0; i++) {
        const struct range *r = &t->ranges[i];
        if (t->threads[r->thread].process != f->steps.process)
            continue;
        bool training = name_test(&trains, r->name);
        bool validation = !training && strcmp(tl_text(t, r->name), "validation") == 0;
        if (training || validation)
            rc = add(v, training ? TRAINING : VALIDATION_BEGINS, r->start_ns, 0);
        if (rc == 0 && validation)
            v->at[v->n - 1].step = query_step_at(f, r->start_ns);
        if (rc == 0 && (training || validation))
            rc = add(v, training ? TRAINING : VALIDATION_ENDS, r->end_ns, 0);
    }
    name_test_close(&trains);
    return rc;
}

/* Time that the host waits in the reading call, and in the call directly after it if
 * that waits for the stream. */
static int64_t wait_of(const struct timeline *t, uint32_t call)
{
    const struct api *c = &t->apis[call], *next = c + 1;
    const struct thread *th = &t->threads[c->thread];
    int64_t ns = query_call_wait(t, c) == CALL_AWAITS_GPU ? c->end_ns - c->start_ns : 0;
    if (call + 1 < th->first_api + th->apis && next->kind == API_SYNC_STREAM)
        ns += next->end_ns - next->start_ns;
    return ns;
}

/* An evaluation, too, reads a number for each batch that it uploads, such as how many were right. */
static int add_read(struct events *v, const struct facts *f, const struct op *o,
                    const struct api *c)
{
    uint32_t step = facts_step_at(f, c->start_ns);
    bool other = step != TL_NONE && f->steps.at[step].other;
    if (step == TL_NONE || !(other || f->steps.at[step].used))
        return 0;
    bool action = o->kind != OP_COPY ||
                  (o->bytes >= QUERY_ACTION_BYTES && !(other && o->bytes <= QUERY_A_NUMBER));
    int rc = add(v, action ? READ : READ_LESS, c->start_ns, wait_of(f->tl, o->api));
    if (rc == 0) {
        v->at[v->n - 1].step = step;
        v->at[v->n - 1].other = other;
    }
    return rc;
}

static int add_work(struct events *v, const struct facts *f)
{
    const struct timeline *t = f->tl;
    int rc = 0;
    for (uint32_t i = 0; i < t->op_count && rc == 0; i++) {
        const struct op *o = &t->ops[i];
        if (t->streams[o->stream].process != f->steps.process || o->api == TL_NONE)
            continue;
        const struct api *c = &t->apis[o->api];
        if (o->kind == OP_KERNEL && (o->class.family == FAMILY_OPTIMIZER || o->in_update))
            rc = add(v, TRAINING, c->start_ns, 0);
        else if (o->kind == OP_COPY && o->copy_kind == COPY_H2D && o->bytes > QUERY_A_NUMBER)
            rc = add(v, UPLOAD, c->start_ns, 0);
        else if (query_reads_back(t, c)) {
            rc = add_read(v, f, o, c);
        }
    }
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
                              : (x->kind > y->kind) - (x->kind < y->kind);
}

/* True if only some steps contain a validation. If nearly all do, it is the agent's policy, which
 * the program sets to eval() to act. */
static bool validates(const struct facts *f, const struct events *v)
{
    size_t steps = 0;
    uint32_t last = TL_NONE;
    for (size_t i = 0; i < v->n; i++)
        if (v->at[i].kind == VALIDATION_BEGINS && v->at[i].step != last) {
            last = v->at[i].step;
            steps += last != TL_NONE;
        }
    return steps * 100 < f->steps.used * QUERY_ALMOST_PCT;
}

/* How long the GPU idles in the used steps from `from` on until `to`. *gap: the first gap that may
 * reach into that time; later times need none before it. */
static int64_t idle_between(const struct facts *f, int64_t from, int64_t to, size_t *gap)
{
    int64_t ns = 0;
    while (*gap < f->gap_count && f->gaps[*gap].end_ns <= from)
        ++*gap;
    for (size_t i = *gap; i < f->gap_count && f->gaps[i].start_ns < to; i++) {
        const struct gap *g = &f->gaps[i];
        int64_t begin = g->start_ns > from ? g->start_ns : from;
        int64_t end = g->end_ns < to ? g->end_ns : to;
        bool used = g->step != TL_NONE && f->steps.at[g->step].used;
        ns += used && end > begin ? end - begin : 0;
    }
    return ns;
}

/* Walks through the events in order of time. Reads after an upload are actions if the next event is
 * another upload, not training. */
static struct query_actions follow(const struct facts *f, const struct events *v, bool validates)
{
    struct query_actions q = {0};
    size_t gap = 0;
    int64_t pending = 0, pending_ns = 0, validations = 0, upload_ns = 0, read_ns = 0, other = 0;
    uint32_t step = TL_NONE, counted = TL_NONE; /* steps of the last read and of
                                                   the last counted action */
    enum kind last = TRAINING;
    for (size_t i = 0; i < v->n; i++) {
        const struct event *e = &v->at[i];
        validations += (e->kind == VALIDATION_BEGINS) - (e->kind == VALIDATION_ENDS);
        bool reads = (e->kind == READ || e->kind == READ_LESS) && !e->other;
        other += e->kind == READ && e->other && last == UPLOAD;
        if (reads && (validations == 0 || !validates))
            q.all_ns += e->wait_ns;
        if (e->kind == READ && reads && (validations == 0 || !validates)) {
            pending += last == UPLOAD;
            pending_ns += last == UPLOAD ? e->wait_ns : 0;
            read_ns = e->time + e->wait_ns;
            step = e->step;
        } else if (e->kind == UPLOAD || e->kind == TRAINING) {
            q.other += e->kind == UPLOAD && other > 0;
            other = 0;
            q.count += e->kind == UPLOAD ? pending : 0;
            q.ns += e->kind == UPLOAD ? pending_ns : 0;
            if (e->kind == UPLOAD && pending > 0)
                q.idle_ns += idle_between(f, upload_ns, read_ns, &gap);
            q.steps += e->kind == UPLOAD && pending > 0 && step != counted;
            counted = e->kind == UPLOAD && pending > 0 ? step : counted;
            pending = pending_ns = 0;
            last = e->kind;
            upload_ns = e->time;
        }
    }
    return q;
}

static bool trains(const struct events *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->at[i].kind == TRAINING)
            return true;
    return false;
}

struct query_actions query_actions(const struct facts *f)
{
    struct query_actions q = {0};
    struct events v = {0};
    if (add_ranges(&v, f) == 0 && add_work(&v, f) == 0 && trains(&v)) {
        qsort(v.at, v.n, sizeof *v.at, by_time);
        bool rare = validates(f, &v);
        q = follow(f, &v, rare);
        if (rare) /* in a program that validates, reads for an exchange have similar sizes */
            q.steps = 0;
    }
    vec_release(&v);
    return q;
}
