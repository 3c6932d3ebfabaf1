/* Analyses the collectives of an ordinary step: their sizes, their fixed costs, and repetition.
 * Cost: one sort of the recorded collectives, one pass over the ops. */
#include "analyzer/queries/ranks/comm.h"

#include <stdlib.h>
#include <string.h>

/* ---- the step ---- */

struct sized {
    int64_t bytes, duration_ns;
};

static int by_size(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->duration_ns > y->duration_ns) - (x->duration_ns < y->duration_ns);
}

/* True for a recorded collective of gradients in a used step. All-to-all exchanges belong to
 * embeddings or experts. */
static bool is_here(const struct facts *f, const struct collective *c)
{
    return c->op != TL_NONE && c->row.bytes > 0 && f->tl->ops[c->op].comm == COMM_GRADIENTS &&
           query_used(f, c->op) && !query_sends_to_ranks(f, c->op);
}

/* The used step whose length is nearest to the median. */
static uint32_t ordinary_step(const struct facts *f)
{
    uint32_t best = TL_NONE;
    int64_t distance = INT64_MAX;
    for (uint32_t i = 0; i < f->steps.count; i++) {
        int64_t d = llabs(f->steps.at[i].length_ns - f->steps.median_ns);
        if (f->steps.at[i].used && d < distance) {
            distance = d;
            best = i;
        }
    }
    return best;
}

/* All such collectives, sorted by size, then by duration; *n: their number. NULL: out of memory. */
static struct sized *all_sizes(const struct facts *f, struct arena *arena, size_t *n)
{
    const struct timeline *t = f->tl;
    struct sized *v = arena_array(arena, t->collective_count, sizeof *v);
    *n = 0;
    for (size_t i = 0; v && i < t->collective_count; i++) {
        const struct collective *c = &t->collectives[i];
        if (is_here(f, c))
            v[(*n)++] = (struct sized){c->row.bytes, t->ops[c->op].end_ns - t->ops[c->op].start_ns};
    }
    if (v)
        qsort(v, *n, sizeof *v, by_size);
    return v;
}

/* Shortest duration among the collectives of at least that size: v is sorted
 * by size, then duration. */
static int64_t fastest_of(const struct sized *v, size_t n, int64_t bytes)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (v[mid].bytes < bytes)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n ? v[low].duration_ns : 0;
}

static bool computes(const struct timeline *t, uint32_t op)
{
    return t->ops[op].kind == OP_KERNEL && t->ops[op].class.family != FAMILY_COMM;
}

static bool has_own_stream(const struct facts *f, uint32_t op)
{
    const struct timeline *t = f->tl;
    for (uint32_t i = 0; i < t->op_count; i++)
        if (t->ops[i].stream == t->ops[op].stream && computes(t, i))
            return false;
    return true;
}

/* One byte more than the largest message that the loop sends once per step beside the gradients: a
 * message with a unique size and name, at most 1/QUERY_SIDE_BYTES of all bytes. 0: none. */
static int64_t least_bytes(const struct timeline *t, const struct query_exchange *x)
{
    /* limit, as all pairs are compared; no step that accumulates gradients
     * sends so many messages */
    enum { MANY = 4096 };
    int64_t least = 0;
    for (size_t i = 0; i < x->count && x->count <= MANY; i++) {
        const struct row_collective *r = &t->collectives[x->at[i]].row;
        size_t same = 0;
        for (size_t k = 0; k < x->count && same < 2; k++) {
            const struct row_collective *other = &t->collectives[x->at[k]].row;
            same += other->bytes == r->bytes && other->name == r->name;
        }
        if (same == 1 && r->bytes <= x->bytes / QUERY_SIDE_BYTES && r->bytes >= least)
            least = r->bytes + 1;
    }
    return least;
}

struct query_exchange query_exchange(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    struct query_exchange x = {.step = ordinary_step(f)};
    size_t n = 0;
    struct sized *sizes = all_sizes(f, arena, &n);
    x.at = arena_array(arena, t->collective_count, sizeof *x.at);
    if (!sizes || !x.at || n == 0 || x.step == TL_NONE) {
        x.step = TL_NONE;
        return x;
    }
    for (uint32_t i = 0; i < t->collective_count; i++) {
        const struct collective *c = &t->collectives[i];
        if (!is_here(f, c) || f->steps.op_step[c->op] != x.step)
            continue;
        x.at[x.count++] = i;
        x.bytes += c->row.bytes;
        x.largest_bytes = c->row.bytes > x.largest_bytes ? c->row.bytes : x.largest_bytes;
        x.transfer_ns += fastest_of(sizes, n, c->row.bytes);
    }
    x.fastest_ns = INT64_MAX;
    for (size_t i = 0; i < n; i++)
        x.fastest_ns = sizes[i].duration_ns < x.fastest_ns ? sizes[i].duration_ns : x.fastest_ns;
    x.least_bytes = least_bytes(t, &x);
    if (x.count == 0)
        x.step = TL_NONE;
    else
        x.own_stream = has_own_stream(f, t->collectives[x.at[0]].op);
    return x;
}

/* ---- sizes ---- */

int64_t query_exposed_comm(const struct facts *f)
{
    const struct rank_facts *own = query_own_rank(f);
    struct query_comm model = query_comm(f, COMM_MODEL), pairs = query_comm(f, COMM_PAIR);
    int64_t exposed = f->breakdown_ns[PART_COMM] -
                      (own ? own->wait_exposed_ns - own->model_wait_ns : 0) - model.exposed_ns -
                      model.late_ns - pairs.exposed_ns - pairs.late_ns;
    return exposed > 0 ? exposed : 0;
}

/* BUCKETS_SMALL: at least half of the time is the fixed cost of messages, and there are more
 * messages than large buckets would make. BUCKETS_ONE: one message carries nearly all bytes
 * and does not overlap with computing, although it has a stream of its own. It is not
 * returned if all bytes fit into the first bucket, because a cap on the size of buckets does
 * not apply to that one. */
enum query_buckets query_buckets(const struct facts *f, const struct query_exchange *x)
{
    if (x->step == TL_NONE)
        return BUCKETS_FINE;
    if (x->count > QUERY_BUCKETS_FEW && 2 * x->fastest_ns * (int64_t)x->count >= x->transfer_ns)
        return BUCKETS_SMALL;
    bool hidden = f->breakdown_ns[PART_COMM] * 100 < x->transfer_ns * QUERY_EXPOSED_PCT;
    if (x->bytes > QUERY_FIRST_BUCKET && x->own_stream && !hidden &&
        x->largest_bytes * 100 >= x->bytes * QUERY_ALMOST_PCT && x->count <= QUERY_BUCKETS_FEW)
        return BUCKETS_ONE;
    return BUCKETS_FINE;
}

/* ---- repetition ---- */

struct counted {
    uint32_t name, count;
};

static int by_name(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

static int64_t launched_ns(const struct timeline *t, uint32_t op)
{
    return t->ops[op].api == TL_NONE ? t->ops[op].start_ns : t->apis[t->ops[op].api].start_ns;
}

/* Counts the step's compute kernels launched before its last collective, by name. Returns the
 * number of names; *of: how often each occurs. */
static size_t count_kernels(const struct facts *f, struct arena *arena,
                            const struct query_exchange *x, struct counted **of)
{
    const struct timeline *t = f->tl;
    const struct step *s = &f->steps.at[x->step];
    int64_t until = launched_ns(t, t->collectives[x->at[x->count - 1]].op);
    struct counted *v = arena_array(arena, s->ops, sizeof *v);
    size_t n = 0, names = 0;
    for (uint32_t i = 0; v && i < t->op_count && n < s->ops; i++)
        if (f->steps.op_step[i] == x->step && tl_op_device(t, i) == f->steps.device &&
            computes(t, i) && launched_ns(t, i) < until)
            v[n++] = (struct counted){t->ops[i].full_name, 1};
    if (n > 0)
        qsort(v, n, sizeof *v, by_name);
    for (size_t i = 0; i < n; i++) {
        if (names && v[names - 1].name == v[i].name)
            v[names - 1].count++;
        else
            v[names++] = v[i];
    }
    *of = v;
    return names;
}

static bool sizes_repeat(const struct timeline *t, const struct query_exchange *x, size_t period)
{
    for (size_t i = period; i < x->count; i++) {
        const struct row_collective *r = &t->collectives[x->at[i]].row;
        const struct row_collective *before = &t->collectives[x->at[i - period]].row;
        if (r->bytes != before->bytes || r->name != before->name)
            return false;
    }
    return true;
}

/* Layers that communicate also repeat their messages, but a step with repeated layers has kernels
 * that run once: embedding, loss. If whole passes repeat, all kernels repeat. */
size_t query_repeats(const struct facts *f, struct arena *arena, const struct query_exchange *x)
{
    struct counted *kernels;
    if (x->step == TL_NONE)
        return 1;
    struct query_exchange large = *x;
    large.at = arena_array(arena, x->count, sizeof *large.at);
    large.count = 0;
    for (size_t i = 0; large.at && i < x->count; i++)
        if (f->tl->collectives[x->at[i]].row.bytes >= x->least_bytes)
            large.at[large.count++] = x->at[i];
    if (large.count < 2)
        return 1;
    size_t names = count_kernels(f, arena, &large, &kernels);
    for (size_t k = large.count; k >= 2; k--) {
        size_t whole = 0;
        if (large.count % k != 0 || !sizes_repeat(f->tl, &large, large.count / k))
            continue;
        for (size_t i = 0; i < names; i++)
            whole += kernels[i].count % k == 0;
        if (names > 0 && whole * 100 >= names * QUERY_ALMOST_PCT)
            return k;
    }
    return 1;
}

/* ---- one process, many devices ---- */

size_t query_replicated(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    size_t devices = 0, broadcasts = 0;
    bool *seen = arena_array(arena, t->device_count + 1, sizeof *seen);
    if (!seen || analysis_of_window(f)) /* in a window, a single broadcast does not show a habit */
        return 0;
    for (uint32_t i = 0; i < t->op_count; i++) {
        uint32_t d = tl_op_device(t, i);
        if (t->streams[t->ops[i].stream].process != f->steps.process || d == TL_NONE)
            continue;
        if (computes(t, i) && !seen[d]) {
            seen[d] = true;
            devices++;
        }
        broadcasts += t->ops[i].kind == OP_KERNEL && t->ops[i].class.family == FAMILY_COMM &&
                      d == f->steps.device && query_used(f, i) &&
                      strstr(tl_text(t, t->ops[i].name), "Broadcast") != NULL;
    }
    return devices > 1 && broadcasts >= f->steps.used ? devices : 0;
}
