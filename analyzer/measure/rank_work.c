/* Sums up what a rank does between its collectives: from the rows of a recording, or from the facts
 * that a summary contains instead. */
#include "analyzer/measure/rank_work.h"

#include "analyzer/measure/spans.h"
#include "wire/spool_format.h"
#include "wire/step_mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOADER "the loader"

/* ---- as a summary said it ---- */

static const char *own_meta(const struct timeline *t, const struct row_meta *m, uint32_t process,
                            const char *key)
{
    bool own = m->process == t->processes[process].id && strcmp(tl_text(t, m->key), key) == 0;
    return own ? tl_text(t, m->value) : NULL;
}

#define NUMBERS(each) each " " each " " each " " each " " each " " each " " each

static bool read_numbers(const char *text, int64_t ordinal, struct rank_work *w)
{
    int64_t device;
    struct rank_work v = {0};
    bool own = sscanf(text, NUMBERS("%" SCNd64), &device, &v.compute_ns, &v.idle_ns, &v.kernels,
                      &v.blocks, &v.collectives, &v.clock_mhz) == 7 &&
               device == ordinal && v.compute_ns >= 0 && v.idle_ns >= 0 && v.kernels >= 0 &&
               v.blocks >= 0 && v.collectives >= 0;
    if (own) {
        v.range_count = w->range_count;
        memcpy(v.ranges, w->ranges, sizeof v.ranges);
        *w = v;
    }
    return own;
}

const char *rank_work_text(const struct rank_work *w, int64_t ordinal, char *buf, size_t size)
{
    snprintf(buf, size, NUMBERS("%" PRId64), ordinal, w->compute_ns, w->idle_ns, w->kernels,
             w->blocks, w->collectives, w->clock_mhz);
    return buf;
}

static bool read_summary(const struct timeline *t, uint32_t process, uint32_t device,
                         struct rank_work *w)
{
    bool any = false;
    for (size_t i = 0; i < t->meta_count; i++) {
        const char *text = own_meta(t, &t->metas[i], process, RANK_WORK_KEY);
        any = any || (text && read_numbers(text, t->devices[device].ordinal, w));
        text = own_meta(t, &t->metas[i], process, RANK_RANGE_KEY);
        const char *name = text ? strchr(text, ' ') : NULL;
        if (name && w->range_count < RANK_RANGES)
            w->ranges[w->range_count++] = (struct rank_range){name + 1, strtoll(text, NULL, 10)};
    }
    return any;
}

/* ---- from the rows ---- */

/* Counts kernels, their blocks and collectives; a hostile number of blocks must not overflow. */
static void count_kernels(const struct timeline *t, uint32_t device, struct rank_work *w)
{
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind != OP_KERNEL || tl_op_device(t, i) != device)
            continue;
        if (o->class.family == FAMILY_COMM) {
            w->collectives++;
            continue;
        }
        w->kernels++;
        int64_t blocks = 1;
        for (int k = 0; k < 3; k++)
            if (o->grid[k] > 0 && __builtin_mul_overflow(blocks, (int64_t)o->grid[k], &blocks))
                blocks = 1;
        if (__builtin_add_overflow(w->blocks, blocks, &w->blocks))
            w->blocks = INT64_MAX;
    }
}

/* Measures one device. Time in which a collective runs does not count as computing. Returns -1
 * without memory. */
static int measure_gpu(const struct timeline *t, uint32_t device, struct rank_work *w)
{
    struct activity act;
    int rc = activity_build(&act, t, device);
    if (rc == 0) {
        w->compute_ns = spans_total(&act.compute);
        for (size_t i = 0; i < act.comm.n; i++)
            w->compute_ns -=
                spans_covered(&act.compute, act.comm.at[i].start_ns, act.comm.at[i].end_ns);
        w->idle_ns = act.end_ns - act.start_ns - spans_total(&act.busy);
        count_kernels(t, device, w);
    }
    activity_release(&act);
    int64_t sum = 0, n = 0;
    for (size_t i = 0; i < t->gpu_sample_count; i++) {
        const struct row_gpu_sample *s = &t->gpu_samples[i];
        if (s->sm_clock_mhz > 0 && s->sm_clock_mhz < INT32_MAX &&
            timeline_device_index(t, s->device) == device) {
            sum += s->sm_clock_mhz;
            n++;
        }
    }
    w->clock_mhz = n ? sum / n : 0;
    return rc;
}

static uint32_t launching_thread(const struct timeline *t, uint32_t process)
{
    uint32_t best = TL_NONE;
    for (uint32_t k = 0; k < t->thread_count; k++)
        if (t->threads[k].process == process &&
            (best == TL_NONE || t->threads[k].apis > t->threads[best].apis))
            best = k;
    return best;
}

/* Inserts a range into the list of the longest ones. */
static void keep(struct rank_work *w, const char *name, int64_t ns)
{
    size_t at = w->range_count < RANK_RANGES ? w->range_count : RANK_RANGES - 1;
    if (ns <= 0 || (w->range_count == RANK_RANGES && ns <= w->ranges[at].ns))
        return;
    for (; at > 0 && w->ranges[at - 1].ns < ns; at--)
        w->ranges[at] = w->ranges[at - 1];
    w->ranges[at] = (struct rank_range){name, ns};
    w->range_count += w->range_count < RANK_RANGES;
}

static int64_t loader_ns(const struct timeline *t, uint32_t thread)
{
    int64_t sum = 0;
    for (size_t i = 0; i < t->loader_count; i++) {
        const struct row_loader *r = &t->loaders[i];
        if (r->what == SPOOL_LOADER_WAIT && r->end_ns > r->start_ns &&
            timeline_thread_index(t, r->thread) == thread)
            sum += r->end_ns - r->start_ns;
    }
    return sum;
}

/* Sums up ranges by name. A range nested in one of the same name counts once. */
static int measure_host(const struct timeline *t, uint32_t process, struct rank_work *w)
{
    uint32_t thread = launching_thread(t, process);
    if (thread == TL_NONE)
        return 0;
    const struct thread *th = &t->threads[thread];
    int64_t *sums = calloc((size_t)t->strings.n + 1, sizeof *sums);
    int64_t *ends = calloc((size_t)t->strings.n + 1, sizeof *ends);
    for (uint32_t i = th->first_range; sums && ends && i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        if (r->end_ns <= r->start_ns || (ends[r->name] && r->start_ns < ends[r->name]) ||
            spool_step_mark(tl_text(t, r->name)) != SPOOL_STEP_NONE)
            continue;
        sums[r->name] += r->end_ns - r->start_ns;
        ends[r->name] = r->end_ns;
    }
    for (uint32_t i = 0; sums && ends && i < t->strings.n; i++)
        keep(w, tl_text(t, i), sums[i]);
    keep(w, LOADER, loader_ns(t, thread));
    bool done = sums && ends;
    free(sums);
    free(ends);
    return done ? 0 : -1;
}

int rank_work_find(const struct timeline *t, uint32_t process, uint32_t device, struct rank_work *w)
{
    *w = (struct rank_work){0};
    if (read_summary(t, process, device, w))
        return 0;
    *w = (struct rank_work){0};
    return measure_gpu(t, device, w) < 0 || measure_host(t, process, w) < 0 ? -1 : 0;
}

int64_t rank_work_range(const struct rank_work *w, const char *name)
{
    for (size_t i = 0; i < w->range_count; i++)
        if (strcmp(w->ranges[i].name, name) == 0)
            return w->ranges[i].ns;
    return 0;
}
