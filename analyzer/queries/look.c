#include "analyzer/queries/look.h"

#include "base/size.h"

#include "wire/spool_format.h"

#include <string.h>

enum { SMALL_BYTES = 64 << 20, BURST = 4, QUEUED_START_NS = 50000 };

const char *look_time(struct analysis *a, int64_t ns)
{
    char text[32];
    return arena_printf(&a->arena, "%s", time_words(text, sizeof text, ns));
}

bool look_used(const struct analysis *a, uint32_t op)
{
    if (a->steps.device != TL_NONE && tl_op_device(a->tl, op) != a->steps.device)
        return false;
    if (a->steps.source == STEPS_NONE)
        return true;
    uint32_t step = a->steps.op_step[op];
    return step != TL_NONE && a->steps.at[step].used;
}

uint32_t look_step_at(const struct analysis *a, int64_t ns)
{
    uint32_t step = analysis_step_at(a, ns);
    return step != TL_NONE && a->steps.at[step].used ? step : TL_NONE;
}

size_t look_steps_with(const struct analysis *a, enum part part)
{
    size_t n = 0;
    for (size_t i = 0; i < a->steps.count; i++)
        n += a->steps.at[i].used && a->step_parts[i][part] * 100 >= a->steps.median_ns;
    return n;
}

/* A queued operation starts some microseconds after the one before it. What is longer waits for
 * something else, which fewer operations would not shorten. */
static int64_t start_of_queued(const struct analysis *a, const struct gap *g)
{
    int64_t ns = gap_ns(a, g, PART_IDLE_QUEUED);
    return ns <= QUEUED_START_NS ? ns : 0;
}

struct look_ops look_ops_of(const struct analysis *a, look_pick *pick, const void *arg)
{
    const struct timeline *t = a->tl;
    struct look_ops sum = {.longest = TL_NONE};
    int64_t busy_until = t->gpu_start_ns;
    size_t g = 0;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (a->steps.device != TL_NONE && tl_op_device(t, i) != a->steps.device)
            continue;
        int64_t gap = o->start_ns - busy_until;
        if (o->end_ns > busy_until)
            busy_until = o->end_ns;
        while (g < a->gap_count && a->gaps[g].end_ns < o->start_ns)
            g++;
        enum look_take take = look_used(a, i) ? pick(a, i, arg) : LOOK_NO;
        if (take == LOOK_NO)
            continue;
        sum.count++;
        sum.busy_ns += o->end_ns - o->start_ns;
        sum.bytes += o->bytes;
        if (sum.longest == TL_NONE ||
            o->end_ns - o->start_ns > t->ops[sum.longest].end_ns - t->ops[sum.longest].start_ns)
            sum.longest = i;
        if (take == LOOK_BUSY)
            continue;
        if (gap >= GAP_LISTED_NS && g < a->gap_count && a->gaps[g].end_ns == o->start_ns)
            sum.idle_ns +=
                gap_ns(a, &a->gaps[g], PART_IDLE_LAUNCH) + start_of_queued(a, &a->gaps[g]);
        else if (gap > 0 && gap < GAP_LISTED_NS)
            sum.idle_ns += gap;
    }
    return sum;
}

struct wanted {
    look_want *want;
};

static enum look_take pick_wanted(const struct analysis *a, uint32_t op, const void *arg)
{
    return ((const struct wanted *)arg)->want(a, op);
}

struct look_ops look_ops(const struct analysis *a, look_want *want)
{
    const struct wanted w = {want};
    return look_ops_of(a, pick_wanted, &w);
}

uint32_t look_before(const struct timeline *t, uint32_t op)
{
    for (uint32_t i = op; i > 0; i--)
        if (t->ops[i - 1].stream == t->ops[op].stream)
            return i - 1;
    return TL_NONE;
}

enum look_take look_is_optimizer(const struct analysis *a, uint32_t op)
{
    const struct op *o = &a->tl->ops[op];
    if (o->kind != OP_KERNEL || o->class.family != FAMILY_OPTIMIZER)
        return LOOK_NO;
    const char *name = tl_text(a->tl, o->full_name); /* loss scaling has a rule of its own */
    return strstr(name, "finite") || strstr(name, "amp_unscale") ? LOOK_NO : LOOK_ALL;
}

static bool zeroes(const struct op *o)
{
    if (o->kind == OP_MEMSET)
        return o->bytes < SMALL_BYTES;
    return o->kind == OP_KERNEL && o->class.family == FAMILY_FILL;
}

/* How many of the BURST operations before (step -1) or behind (+1) `op` continue its run. */
static int run_length(const struct timeline *t, uint32_t op, int step)
{
    int n = 0;
    for (int64_t i = (int64_t)op + step; i >= 0 && i < (int64_t)t->op_count && n < BURST;
         i += step) {
        if (t->ops[i].stream != t->ops[op].stream)
            continue;
        if (!zeroes(&t->ops[i]))
            break;
        n++;
    }
    return n;
}

enum look_take look_is_zeroing(const struct analysis *a, uint32_t op)
{
    const struct timeline *t = a->tl;
    if (!zeroes(&t->ops[op]))
        return LOOK_NO;
    int before = run_length(t, op, -1);
    if (before + run_length(t, op, 1) + 1 < BURST)
        return LOOK_NO;
    return before ? LOOK_ALL : LOOK_BUSY;
}

static bool many(const struct analysis *a, const struct look_ops *ops, int64_t least)
{
    return per_step(a, ops->count) >= least;
}

bool look_optimizer_unfused(const struct analysis *a, struct look_ops *ops)
{
    *ops = look_ops(a, look_is_optimizer);
    return many(a, ops, LOOK_MANY_OPTIMIZER_OPS);
}

bool look_zeroing_scattered(const struct analysis *a, struct look_ops *ops)
{
    *ops = look_ops(a, look_is_zeroing);
    return many(a, ops, LOOK_MANY_ZERO_OPS);
}

static bool gap_used(const struct analysis *a, const struct gap *g)
{
    return g->step != TL_NONE && a->steps.at[g->step].used;
}

void look_gap_examples(const struct analysis *a, struct outcome *o, enum part part,
                       const char *text)
{
    int64_t below = INT64_MAX;
    for (int n = 0; n < 3; n++) {
        const struct gap *best = NULL;
        for (size_t i = 0; i < a->gap_count; i++) {
            const struct gap *g = &a->gaps[i];
            int64_t v = gap_ns(a, g, part);
            if (gap_used(a, g) && v > 0 && v < below && (!best || v > gap_ns(a, best, part)))
                best = g;
        }
        if (!best)
            return;
        below = gap_ns(a, best, part);
        outcome_example(o, best->start_ns, best->end_ns, text, best->before_op);
    }
}

const char *look_gap_range(const struct analysis *a, enum part part)
{
    enum { KINDS = 64 };
    uint32_t names[KINDS];
    int64_t sums[KINDS], best = 0;
    size_t n = 0, at = 0;
    for (size_t i = 0; i < a->gap_count; i++) {
        const struct gap *g = &a->gaps[i];
        if (!gap_used(a, g) || g->range == TL_NONE || gap_ns(a, g, part) <= 0)
            continue;
        uint32_t name = a->tl->ranges[g->range].name;
        size_t k = 0;
        while (k < n && names[k] != name)
            k++;
        if (k == KINDS)
            continue;
        if (k == n) {
            names[n] = name;
            sums[n++] = 0;
        }
        sums[k] += gap_ns(a, g, part);
        if (sums[k] > best) {
            best = sums[k];
            at = k;
        }
    }
    return n ? tl_text(a->tl, names[at]) : NULL;
}

bool look_is_platform(const struct analysis *a, const char *name)
{
    const char *platform = timeline_meta(a->tl, "platform");
    return platform && strcmp(platform, name) == 0;
}

bool look_nvidia(const struct analysis *a)
{
    if (look_is_platform(a, "hip") || look_is_platform(a, "xpu"))
        return false;
    const char *name = a->device ? tl_text(a->tl, a->device->name) : "";
    return !strstr(name, "AMD") && !strstr(name, "Radeon") && !strstr(name, "Instinct");
}

bool look_find_seen(const struct analysis *a)
{
    for (size_t i = 0; i < a->tl->call_count; i++)
        if (a->tl->calls[i].row.family == SPOOL_CALL_FIND &&
            strstr(tl_text(a->tl, a->tl->calls[i].row.function),
                   "Find")) /* not Get...: the heuristic */
            return true;
    return false;
}
