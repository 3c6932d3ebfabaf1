/* Queries that many rules use: sums over operations, optimizer and zeroing, names of ranges. */
#include "analyzer/queries/query.h"

#include "analyzer/measure/ranges.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/search.h"
#include "wire/fact_keys.h"
#include "wire/spool_format.h"

#include <stdlib.h>
#include <string.h>

bool query_used(const struct facts *f, uint32_t op)
{
    if (f->steps.device != TL_NONE && tl_op_device(f->tl, op) != f->steps.device)
        return false;
    uint32_t step = f->steps.op_step[op];
    return step != TL_NONE && f->steps.at[step].used;
}

uint32_t query_step_at(const struct facts *f, int64_t ns)
{
    uint32_t step = facts_step_at(f, ns);
    return step != TL_NONE && f->steps.at[step].used ? step : TL_NONE;
}

size_t query_steps_with(const struct facts *f, enum part part)
{
    size_t n = 0;
    for (size_t i = 0; i < f->steps.count; i++)
        n += f->steps.at[i].used && f->step_parts[i][part] * QUERY_WORTH >= f->step_ns;
    return n;
}

/* The idle time before a queued operation that its start costs: some microseconds. If the gap is
 * longer, the operation waited for something else, and fewer operations would not shorten it. */
static int64_t start_of_queued(const struct facts *f, const struct gap *g)
{
    int64_t ns = gap_ns(f, g, PART_IDLE_QUEUED);
    return ns <= QUERY_QUEUED_START_NS ? ns : 0;
}

struct query_ops query_ops_of(const struct facts *f, query_pick *pick, const void *arg)
{
    const struct timeline *t = f->tl;
    struct query_ops sum = {.longest = TL_NONE};
    int64_t busy_until = t->gpu_start_ns;
    size_t g = 0;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (f->steps.device != TL_NONE && tl_op_device(t, i) != f->steps.device)
            continue;
        /* How long the device was idle just before this operation; negative: others still ran. */
        int64_t gap = o->start_ns - busy_until;
        if (o->end_ns > busy_until)
            busy_until = o->end_ns;
        while (g < f->gap_count && f->gaps[g].end_ns < o->start_ns)
            g++;
        enum query_take take = query_used(f, i) ? pick(f, i, arg) : QUERY_NO;
        if (take == QUERY_NO)
            continue;
        sum.count++;
        sum.busy_ns += o->end_ns - o->start_ns;
        sum.bytes += o->bytes;
        if (sum.longest == TL_NONE ||
            o->end_ns - o->start_ns > t->ops[sum.longest].end_ns - t->ops[sum.longest].start_ns)
            sum.longest = i;
        if (take == QUERY_BUSY)
            continue;
        /* f->gaps lists the causes of longer gaps. Of such a gap, count only the time that
         * launching, or starting a queued operation, costs. Gaps that are too short for
         * the list count in full. */
        if (gap >= GAP_LISTED_NS && g < f->gap_count && f->gaps[g].end_ns == o->start_ns)
            sum.idle_ns +=
                gap_ns(f, &f->gaps[g], PART_IDLE_LAUNCH) + start_of_queued(f, &f->gaps[g]);
        else if (gap > 0 && gap < GAP_LISTED_NS)
            sum.idle_ns += gap;
    }
    return sum;
}

struct wanted {
    query_want *want;
};

static enum query_take pick_wanted(const struct facts *f, uint32_t op, const void *arg)
{
    return ((const struct wanted *)arg)->want(f, op);
}

struct query_ops query_ops(const struct facts *f, query_want *want)
{
    const struct wanted w = {want};
    return query_ops_of(f, pick_wanted, &w);
}

uint32_t query_before(const struct timeline *t, uint32_t op)
{
    for (uint32_t i = op; i > 0; i--)
        if (t->ops[i - 1].stream == t->ops[op].stream)
            return i - 1;
    return TL_NONE;
}

enum query_take query_is_optimizer(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    /* a collective is no part of the optimizer */
    bool inside = o->in_update && o->class.family != FAMILY_COMM;
    /* where the hook marks updates, lists of tensors elsewhere are averages and the like */
    bool named = o->class.family == FAMILY_OPTIMIZER &&
                 (o->in_update || o->in_graph || !timeline_meta(f->tl, FACT_TORCH_OPTIMIZER));
    if (o->kind != OP_KERNEL || (!named && !inside))
        return QUERY_NO;
    const char *name = tl_text(f->tl, o->full_name); /* another rule reports loss scaling */
    return strstr(name, "finite") || strstr(name, "amp_unscale") ? QUERY_NO : QUERY_ALL;
}

static enum query_take is_product_of_update(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return o->kind == OP_KERNEL && o->in_update && o->class.family == FAMILY_GEMM ? QUERY_BUSY
                                                                                  : QUERY_NO;
}

int64_t query_optimizer_products(const struct facts *f)
{
    return each_step(f, query_ops(f, is_product_of_update).count);
}

static bool zeroes(const struct op *o)
{
    if (o->kind == OP_MEMSET)
        return o->bytes < QUERY_ZERO_BYTES;
    return o->kind == OP_KERNEL && o->class.family == FAMILY_FILL;
}

/* True for fills that may zero gradients. If ranges or the hook show when gradients are
 * zeroed, other fills are masks, caches or paddings. Operations replayed by a graph lie in no
 * range, so they count as well. */
static bool may_be_zeroing(const struct facts *f, const struct op *o)
{
    bool told = f->tl->zeroing_told || timeline_meta(f->tl, FACT_TORCH_OPTIMIZER);
    return zeroes(o) && (o->in_zeroing || o->in_graph || !told);
}

/* Number of operations on the stream, at most QUERY_BURST, that continue op's run of fills before
 * it (step -1) or after it (+1). */
static int run_length(const struct timeline *t, uint32_t op, int step)
{
    int n = 0;
    for (int64_t i = (int64_t)op + step; i >= 0 && i < (int64_t)t->op_count && n < QUERY_BURST;
         i += step) {
        if (t->ops[i].stream != t->ops[op].stream)
            continue;
        if (!zeroes(&t->ops[i]))
            break;
        n++;
    }
    return n;
}

enum query_take query_is_zeroing(const struct facts *f, uint32_t op)
{
    const struct timeline *t = f->tl;
    if (!may_be_zeroing(f, &t->ops[op]))
        return QUERY_NO;
    int before = run_length(t, op, -1);
    if (before + run_length(t, op, 1) + 1 < QUERY_BURST)
        return QUERY_NO;
    return before ? QUERY_ALL : QUERY_BUSY;
}

static bool many(const struct facts *f, const struct query_ops *ops, int64_t least)
{
    return each_step(f, ops->count) >= least;
}

/* True if the optimizer is one kernel for all parameters: in each step the same kernel of the same
 * size, with other work between any two of them. */
static bool updates_at_once(const struct facts *f)
{
    const struct timeline *t = f->tl;
    const struct op *first = NULL;
    bool before = false;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        bool is = query_is_optimizer(f, i) != QUERY_NO;
        if (is && (before || o->kind != OP_KERNEL))
            return false;
        if (is && first && (first->full_name != o->full_name || first->grid[0] != o->grid[0]))
            return false;
        first = is ? o : first;
        before = o->kind == OP_KERNEL ? is : before;
    }
    return first != NULL && first->grid[0] > 0;
}

bool query_optimizer_unfused(const struct facts *f, struct query_ops *ops)
{
    *ops = query_ops(f, query_is_optimizer);
    return many(f, ops, QUERY_MANY_OPTIMIZER_OPS) && query_optimizer_products(f) == 0 &&
           !updates_at_once(f);
}

bool query_zeroing_scattered(const struct facts *f, struct query_ops *ops)
{
    *ops = query_ops(f, query_is_zeroing);
    return many(f, ops, QUERY_MANY_ZERO_OPS);
}

static bool gap_used(const struct facts *f, const struct gap *g)
{
    return g->step != TL_NONE && f->steps.at[g->step].used;
}

const char *query_gap_range(const struct facts *f, enum part part)
{
    enum { KINDS = 64 };
    uint32_t names[KINDS];
    int64_t sums[KINDS], best = 0, all = 0;
    size_t n = 0, at = 0;
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        int64_t ns = gap_used(f, g) ? gap_ns(f, g, part) : 0;
        all += ns;
        if (g->range == TL_NONE || ns <= 0)
            continue;
        uint32_t name = f->tl->ranges[g->range].name;
        size_t k = 0;
        while (k < n && names[k] != name)
            k++;
        if (k == KINDS)
            continue;
        if (k == n) {
            names[n] = name;
            sums[n++] = 0;
        }
        sums[k] += ns;
        if (sums[k] > best) {
            best = sums[k];
            at = k;
        }
    }
    return best * 2 > all ? tl_text(f->tl, names[at]) : NULL;
}

const char *query_range_of(const struct facts *f, uint32_t api)
{
    const struct api *c = &f->tl->apis[api];
    uint32_t in = range_place_at(f->tl, c->thread, c->start_ns);
    return in == TL_NONE ? NULL : tl_text(f->tl, f->tl->ranges[in].name);
}

bool query_is_platform(const struct facts *f, const char *name)
{
    const char *platform = timeline_meta(f->tl, "platform");
    return platform && strcmp(platform, name) == 0;
}

bool query_nvidia(const struct facts *f)
{
    if (query_is_platform(f, "hip") || query_is_platform(f, "xpu"))
        return false;
    const char *name = f->device ? tl_text(f->tl, f->device->name) : "";
    return !strstr(name, "AMD") && !strstr(name, "Radeon") && !strstr(name, "Instinct");
}

bool query_find_seen(const struct facts *f)
{
    for (size_t i = 0; i < f->tl->call_count; i++)
        if (f->tl->calls[i].row.family == SPOOL_CALL_FIND &&
            strstr(tl_text(f->tl, f->tl->calls[i].row.function),
                   "Find")) /* not cudnnGet...: that is the heuristic */
            return true;
    return false;
}

bool query_cudnn_benchmark(const struct facts *f)
{
    const char *on = timeline_meta(f->tl, FACT_TORCH_CUDNN_BENCHMARK);
    return on ? strcmp(on, "True") == 0 : query_operators_search(f);
}

/* True if one named place holds most of each step. */
static bool is_explained(const struct facts *f)
{
    struct query_places p = query_host_places(f, NULL);
    return !analysis_of_window(f) && p.in_most * 2 > f->step_ns * (int64_t)f->steps.used;
}

bool query_thin(const struct facts *f, size_t *ops)
{
    size_t n = 0, few = QUERY_THIN_OPS;
    if (f->steps.used > 2)
        return false;
    for (uint32_t i = 0; i < f->tl->op_count && n < few; i++)
        n += !query_used(f, i) ? 0 : f->tl->ops[i].in_graph ? few : 1;
    if (ops)
        *ops = n;
    int64_t busy = f->breakdown_ns[PART_COMPUTE];
    /* somebody tried out a single call */
    if (analysis_of_window(f) && f->step_ns < QUERY_ONE_CALL_NS)
        return n < few;
    if (analysis_of_window(f)) /* the window may be a benchmark of copies */
        busy += f->breakdown_ns[PART_COMM] + f->breakdown_ns[PART_COPY];
    return n < few && busy * QUERY_THIN_BUSY < f->step_ns && !is_explained(f);
}

bool query_name_has(const char *name, const char *parts)
{
    while (*parts) {
        size_t n = strcspn(parts, "|");
        if (*parts == '=') {
            if (strncmp(name, parts + 1, n - 1) == 0 && strlen(name) == n - 1)
                return true;
        } else {
            for (const char *at = name; (at = strchr(at, *parts)); at++)
                if (strncmp(at, parts, n) == 0)
                    return true;
        }
        parts += n + (parts[n] == '|');
    }
    return false;
}
