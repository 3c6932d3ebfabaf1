/* Selects the rows of a recording that are needed to compare its rank with others. */
#include "analyzer/reduce/summary.h"

#include "analyzer/measure/rank_work.h"
#include "analyzer/measure/spans.h"
#include "analyzer/profile/tables.h"
#include "wire/step_mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES = 256,  /* number of kernel names by which programs are compared: those
                     with the lowest hashes */
    SAMPLES = 64, /* most clock samples of a thread */
};
#define BESIDE "kernels beside a collective"

struct summary {
    const struct timeline *t;
    struct sink *out;
    struct err *e;
    struct spans *compute, *comm; /* by device */
    uint32_t *collective;         /* by op: its index in timeline.collectives, or TL_NONE */
    bool *threads;                /* by index: a row in the summary refers to it */
    int64_t kernels, apis, marks; /* number of such rows so far */
    int64_t metas;                /* the largest id of a meta row so far */
};

static uint32_t text(const struct summary *s, uint32_t id)
{
    const char *of = tl_text(s->t, id);
    return s->out->intern(s->out->self, of, strlen(of));
}

static int put(const struct summary *s, enum row_kind kind, const void *row)
{
    return s->out->put(s->out->self, kind, row, s->e);
}

static bool is_collective(const struct op *o)
{
    return o->kind == OP_KERNEL && o->class.family == FAMILY_COMM;
}

/* ---- tables that rows refer to ---- */

/* Puts all rows of a table. `strings`: statements that convert the texts of the row `r`. */
#define PUT_ALL(s, type, kind, array, count, strings)                                              \
    for (size_t i_ = 0; i_ < (count); i_++) {                                                      \
        struct type r = (array)[i_];                                                               \
        strings;                                                                                   \
        if (put(s, kind, &r) < 0)                                                                  \
            return -1;                                                                             \
    }

static int put_places(struct summary *s)
{
    const struct timeline *t = s->t;
    PUT_ALL(s, row_meta, ROW_META, t->metas, t->meta_count,
            (r.key = text(s, r.key), r.value = text(s, r.value),
             s->metas = r.id > s->metas ? r.id : s->metas))
    PUT_ALL(s, row_process, ROW_PROCESS, t->processes, t->process_count,
            (r.command = text(s, r.command), r.host = text(s, r.host)))
    PUT_ALL(s, row_device, ROW_DEVICE, t->devices, t->device_count,
            (r.name = text(s, r.name), r.uuid = text(s, r.uuid)))
    PUT_ALL(s, row_health, ROW_HEALTH, t->healths, t->health_count,
            (r.code = text(s, r.code), r.text = text(s, r.text)))
    PUT_ALL(s, row_recorded, ROW_RECORDED, t->recorded, t->recorded_count, (void)0)
    PUT_ALL(s, row_step_block, ROW_STEP_BLOCK, t->step_blocks, t->step_block_count, (void)0)
    for (size_t i = 0; i < t->stream_count; i++)
        if (t->streams[i].ops && put(s, ROW_STREAM, &t->streams[i].row) < 0)
            return -1;
    return 0;
}

static void note_thread(struct summary *s, int64_t id)
{
    uint32_t i = timeline_thread_index(s->t, id);
    if (i != TL_NONE)
        s->threads[i] = true;
}

static int put_threads(const struct summary *s)
{
    for (size_t i = 0; i < s->t->thread_count; i++) {
        struct row_thread r = s->t->threads[i].row;
        r.name = text(s, r.name);
        if (s->threads[i] && put(s, ROW_THREAD, &r) < 0)
            return -1;
    }
    return 0;
}

/* ---- work ---- */

static int put_kernel(struct summary *s, uint32_t stream, uint32_t name, const struct op *of,
                      int64_t start_ns, int64_t end_ns, int64_t correlation)
{
    const struct stream *on = &s->t->streams[stream];
    struct row_kernel k = {.id = ++s->kernels,
                           .process = s->t->processes[on->process].id,
                           .stream = on->row.id,
                           .start_ns = start_ns,
                           .end_ns = end_ns,
                           .name = name,
                           .correlation = correlation,
                           .grid_x = of ? of->grid[0] : 1,
                           .grid_y = of ? of->grid[1] : 1,
                           .grid_z = of ? of->grid[2] : 1,
                           .block_x = of ? of->block[0] : 1,
                           .block_y = of ? of->block[1] : 1,
                           .block_z = of ? of->block[2] : 1,
                           .registers = -1,
                           .smem_static = -1,
                           .smem_dynamic = -1};
    return put(s, ROW_KERNEL, &k);
}

/* Puts the call that launched an operation. Returns its correlation number, 0 = not
 * known, -1 with *s->e set. */
static int64_t put_launch(struct summary *s, const struct op *o)
{
    if (o->api == TL_NONE)
        return 0;
    const struct api *a = &s->t->apis[o->api];
    const struct thread *th = &s->t->threads[a->thread];
    struct row_api r = {.id = ++s->apis,
                        .process = th->row.process,
                        .thread = th->row.id,
                        .start_ns = a->start_ns,
                        .end_ns = a->end_ns,
                        .name = text(s, a->name),
                        .correlation = s->apis,
                        .layer = a->layer};
    s->threads[a->thread] = true;
    return put(s, ROW_API, &r) < 0 ? -1 : r.correlation;
}

static int put_collective(struct summary *s, uint32_t op)
{
    const struct op *o = &s->t->ops[op];
    int64_t correlation = put_launch(s, o);
    if (correlation < 0 ||
        put_kernel(s, o->stream, text(s, o->full_name), o, o->start_ns, o->end_ns, correlation) < 0)
        return -1;
    if (s->collective[op] == TL_NONE)
        return 0;
    struct row_collective c = s->t->collectives[s->collective[op]].row;
    c.name = text(s, c.name);
    c.group_name = text(s, c.group_name);
    c.kernel = s->kernels;
    note_thread(s, c.thread);
    return put(s, ROW_COLLECTIVE, &c);
}

/* A kernel name with its hash. The names with the lowest hashes are a sample that is
 * the same on all ranks. */
struct drawn {
    uint64_t hash;
    uint32_t op;
};

static void draw(const struct timeline *t, bool *seen, uint32_t op, struct drawn *v, size_t *n)
{
    const char *name = tl_text(t, t->ops[op].full_name);
    uint64_t hash = str_hash(name, strlen(name));
    if (seen[t->ops[op].full_name])
        return;
    seen[t->ops[op].full_name] = true;
    if (*n == NAMES && hash >= v[*n - 1].hash)
        return;
    size_t at = *n < NAMES ? (*n)++ : NAMES - 1;
    for (; at > 0 && v[at - 1].hash > hash; at--)
        v[at] = v[at - 1];
    v[at] = (struct drawn){hash, op};
}

/* Puts the first kernel of each sampled name, and the first and the last work of the recording. */
static int put_samples(struct summary *s)
{
    const struct timeline *t = s->t;
    struct drawn drawn[NAMES + 2];
    size_t n = 0;
    uint32_t last = 0;
    bool *seen = calloc((size_t)t->strings.n + 1, sizeof *seen);
    if (!seen)
        return err_no_memory(s->e);
    for (uint32_t i = 0; i < t->op_count; i++) {
        last = t->ops[i].end_ns > t->ops[last].end_ns ? i : last;
        if (t->ops[i].kind == OP_KERNEL && !is_collective(&t->ops[i]))
            draw(t, seen, i, drawn, &n);
    }
    free(seen);
    for (size_t k = 0; k < 2; k++) {
        uint32_t op = k ? last : 0;
        if (t->op_count && t->ops[op].kind == OP_KERNEL && !is_collective(&t->ops[op]))
            drawn[n++] = (struct drawn){0, op};
    }
    for (size_t i = 0; i < n; i++) {
        const struct op *o = &t->ops[drawn[i].op];
        if (put_kernel(s, o->stream, text(s, o->full_name), o, o->start_ns, o->end_ns, 0) < 0)
            return -1;
    }
    return 0;
}

/* Puts the times in which a device computes while one of its collectives runs. */
static int put_beside(struct summary *s, uint32_t device)
{
    const struct spans *a = &s->compute[device], *b = &s->comm[device];
    uint32_t stream = 0;
    while (stream < s->t->stream_count &&
           (s->t->streams[stream].device != device || !s->t->streams[stream].ops))
        stream++;
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        int64_t from =
            a->at[i].start_ns > b->at[k].start_ns ? a->at[i].start_ns : b->at[k].start_ns;
        int64_t to = a->at[i].end_ns < b->at[k].end_ns ? a->at[i].end_ns : b->at[k].end_ns;
        uint32_t name = s->out->intern(s->out->self, BESIDE, sizeof BESIDE - 1);
        if (from < to && put_kernel(s, stream, name, NULL, from, to, 0) < 0)
            return -1;
        if (a->at[i].end_ns < b->at[k].end_ns)
            i++;
        else
            k++;
    }
    return 0;
}

static int put_work(struct summary *s)
{
    const struct timeline *t = s->t;
    int rc = put_samples(s);
    for (uint32_t i = 0; i < t->op_count && rc == 0; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind != OP_KERNEL)
            continue;
        struct spans *of = is_collective(o) ? s->comm : s->compute;
        if (spans_add(&of[tl_op_device(t, i)], o->start_ns, o->end_ns) < 0)
            return err_no_memory(s->e);
        rc = is_collective(o) ? put_collective(s, i) : 0;
    }
    for (uint32_t d = 0; d < t->device_count && rc == 0; d++)
        rc = put_beside(s, d);
    return rc;
}

static int put_meta(struct summary *s, uint32_t process, const char *key, const char *value)
{
    if (__builtin_add_overflow(s->metas, 1, &s->metas))
        return err_set(s->e, "an id of table %s is out of range", tables[ROW_META].name);
    struct row_meta m = {.id = s->metas,
                         .process = s->t->processes[process].id,
                         .key = s->out->intern(s->out->self, key, strlen(key)),
                         .value = s->out->intern(s->out->self, value, strlen(value))};
    return put(s, ROW_META, &m);
}

/* Puts the measurements by which a late rank is compared with another one. */
static int put_rank_work(struct summary *s)
{
    const struct timeline *t = s->t;
    uint32_t before = TL_NONE;
    for (uint32_t d = 0; d < t->device_count; d++) {
        char text[512];
        struct rank_work w;
        uint32_t process = timeline_process_index(t, t->devices[d].process);
        if (s->comm[d].n == 0 || process == TL_NONE)
            continue;
        if (rank_work_find(t, process, d, &w) < 0)
            return err_no_memory(s->e);
        if (put_meta(s, process, RANK_WORK_KEY,
                     rank_work_text(&w, t->devices[d].ordinal, text, sizeof text)) < 0)
            return -1;
        for (size_t i = 0; process != before && i < w.range_count; i++) {
            snprintf(text, sizeof text, "%lld %s", (long long)w.ranges[i].ns, w.ranges[i].name);
            if (put_meta(s, process, RANK_RANGE_KEY, text) < 0)
                return -1;
        }
        before = process;
    }
    return 0;
}

/* ---- host ---- */

static int put_marks(struct summary *s)
{
    const struct timeline *t = s->t;
    for (size_t i = 0; i < t->range_count; i++) {
        const struct range *r = &t->ranges[i];
        if (spool_step_mark(tl_text(t, r->name)) == SPOOL_STEP_NONE)
            continue;
        const struct thread *th = &t->threads[r->thread];
        struct row_range row = {.id = ++s->marks,
                                .process = th->row.process,
                                .thread = th->row.id,
                                .start_ns = r->start_ns,
                                .end_ns = r->end_ns,
                                .name = text(s, r->name),
                                .domain = text(s, r->domain),
                                .depth = r->depth,
                                .payload = -1};
        s->threads[r->thread] = true;
        if (put(s, ROW_RANGE, &row) < 0)
            return -1;
    }
    return 0;
}

/* Puts every n-th of a thread's clock samples. That is enough, because the clocks only increase. */
static int put_clocks(struct summary *s)
{
    const struct timeline *t = s->t;
    size_t *count = calloc(t->thread_count + 1, 2 * sizeof *count);
    size_t *seen = count ? count + t->thread_count + 1 : NULL;
    int rc = count ? 0 : err_no_memory(s->e);
    for (size_t i = 0; rc == 0 && i < t->host_sample_count; i++) {
        uint32_t th = timeline_thread_index(t, t->host_samples[i].thread);
        count[th == TL_NONE ? t->thread_count : th]++;
    }
    for (size_t i = 0; rc == 0 && i < t->host_sample_count; i++) {
        uint32_t th = timeline_thread_index(t, t->host_samples[i].thread);
        size_t at = th == TL_NONE ? t->thread_count : th, k = seen[at]++;
        size_t every = (count[at] + SAMPLES - 1) / SAMPLES;
        if (k % every && k + 1 != count[at])
            continue;
        note_thread(s, t->host_samples[i].thread);
        rc = put(s, ROW_HOST_SAMPLE, &t->host_samples[i]);
    }
    free(count);
    return rc;
}

static int put_host(struct summary *s)
{
    const struct timeline *t = s->t;
    if (put_marks(s) < 0)
        return -1;
    for (size_t i = 0; i < t->loader_count; i++) {
        note_thread(s, t->loaders[i].thread);
        if (put(s, ROW_LOADER, &t->loaders[i]) < 0)
            return -1;
    }
    return put_clocks(s);
}

bool summary_suffices(const struct timeline *t)
{
    return t->op_count > 0;
}

int64_t summary_work_ns(const struct timeline *t)
{
    int64_t most = 0, *sums = calloc(t->process_count + 1, sizeof *sums);
    for (size_t i = 0; sums && i < t->op_count; i++) {
        int64_t *of = &sums[t->streams[t->ops[i].stream].process];
        *of += t->ops[i].end_ns - t->ops[i].start_ns + 1;
        most = *of > most ? *of : most;
    }
    free(sums);
    return most;
}

static int prepare(struct summary *s)
{
    const struct timeline *t = s->t;
    s->compute = calloc(t->device_count + 1, sizeof *s->compute);
    s->comm = calloc(t->device_count + 1, sizeof *s->comm);
    s->collective = malloc((t->op_count + 1) * sizeof *s->collective);
    s->threads = calloc(t->thread_count + 1, sizeof *s->threads);
    if (!s->compute || !s->comm || !s->collective || !s->threads)
        return err_no_memory(s->e);
    for (size_t i = 0; i < t->op_count; i++)
        s->collective[i] = TL_NONE;
    for (uint32_t i = 0; i < t->collective_count; i++)
        if (t->collectives[i].op != TL_NONE)
            s->collective[t->collectives[i].op] = i;
    return 0;
}

int summary_write(const struct timeline *t, struct sink *out, struct err *e)
{
    struct summary s = {.t = t, .out = out, .e = e};
    int rc = prepare(&s);
    if (rc == 0 && (put_places(&s) < 0 || put_work(&s) < 0 || put_rank_work(&s) < 0 ||
                    put_host(&s) < 0 || put_threads(&s) < 0))
        rc = -1;
    for (size_t i = 0; i < t->device_count; i++) {
        if (s.compute)
            spans_release(&s.compute[i]);
        if (s.comm)
            spans_release(&s.comm[i]);
    }
    free(s.compute);
    free(s.comm);
    free(s.collective);
    free(s.threads);
    return rc;
}
