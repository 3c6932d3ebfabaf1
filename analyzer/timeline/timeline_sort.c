/* timeline_finish, first half: turns references into indices and sorts every table. */
#include "analyzer/timeline/build.h"
#include "analyzer/timeline/sort.h"

#include <string.h>

/* ---- references ---- */

/* After this, each `refs` holds (process index, thread index, correlation). -1: out of memory. */
static int resolve_threads(struct build *b, struct refs *refs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t thread = build_thread(b, refs[i].owner, refs[i].process);
        uint32_t process = build_process(b, refs[i].process);
        if (thread == TL_NONE || process == TL_NONE)
            return -1;
        refs[i].owner = thread;
        refs[i].process = process;
    }
    return 0;
}

static int resolve_streams(struct build *b, struct refs *refs, size_t n, bool optional)
{
    for (size_t i = 0; i < n; i++) {
        bool all = optional && refs[i].owner <= 0; /* it waits for all streams */
        uint32_t stream = all ? TL_NONE : build_stream(b, refs[i].owner, refs[i].process);
        uint32_t process = build_process(b, refs[i].process);
        if ((stream == TL_NONE && !all) || process == TL_NONE)
            return -1;
        refs[i].owner = stream;
        refs[i].process = process;
    }
    return 0;
}

/* Turns the ids by which rows refer to streams, threads, processes and devices into indices. Ids
 * that no row describes get an entry of their own. -1: out of memory. */
static int resolve(struct build *b)
{
    if (resolve_streams(b, b->op_refs.at, b->op_refs.n, false) < 0 ||
        resolve_streams(b, b->sync_refs.at, b->sync_refs.n, true) < 0 ||
        resolve_streams(b, b->event_refs.at, b->event_refs.n, true) < 0 ||
        resolve_threads(b, b->api_refs.at, b->api_refs.n) < 0 ||
        resolve_threads(b, b->range_refs.at, b->range_refs.n) < 0)
        return -1;
    for (size_t i = 0; i < b->calls.n; i++) {
        struct call *c = &b->calls.at[i];
        if ((c->thread = build_thread(b, c->row.thread, c->row.process)) == TL_NONE)
            return -1;
    }
    for (size_t i = 0; i < b->threads.n; i++) {
        struct thread *t = &b->threads.at[i];
        if ((t->process = build_process(b, t->row.process)) == TL_NONE)
            return -1;
    }
    for (size_t i = 0; i < b->streams.n; i++) {
        struct stream *s = &b->streams.at[i];
        if ((s->process = build_process(b, s->row.process)) == TL_NONE ||
            (s->device = build_device(b, s->row.device, s->row.process)) == TL_NONE)
            return -1;
    }
    for (size_t i = 0; i < b->ops.n; i++) {
        b->ops.at[i].stream = (uint32_t)b->op_refs.at[i].owner;
        b->streams.at[b->ops.at[i].stream].ops++;
    }
    for (size_t i = 0; i < b->apis.n; i++)
        b->apis.at[i].thread = (uint32_t)b->api_refs.at[i].owner;
    for (size_t i = 0; i < b->syncs.n; i++)
        b->syncs.at[i].stream = (uint32_t)b->sync_refs.at[i].owner;
    for (size_t i = 0; i < b->events.n; i++)
        b->events.at[i].stream = (uint32_t)b->event_refs.at[i].owner;
    for (size_t i = 0; i < b->ranges.n; i++)
        b->ranges.at[i].thread = (uint32_t)b->range_refs.at[i].owner;
    for (size_t i = 0; i < b->collectives.n; i++)
        b->collectives.at[i].thread = idmap_get(&b->thread_map, b->collectives.at[i].row.thread);
    return 0;
}

/* ---- order ---- */

static struct sort_key key_of(const char *base, size_t i, size_t size, size_t time_at,
                              size_t group_at)
{
    struct sort_key k = {.index = (uint32_t)i};
    memcpy(&k.time, base + i * size + time_at, sizeof k.time);
    if (group_at != SIZE_MAX)
        memcpy(&k.group, base + i * size + group_at, sizeof k.group);
    return k;
}

/* True if element i - 1 must come after element i. */
static bool after(const char *base, size_t i, size_t size, size_t time_at, size_t group_at)
{
    struct sort_key a = key_of(base, i - 1, size, time_at, group_at),
                    b = key_of(base, i, size, time_at, group_at);
    return a.group != b.group ? a.group > b.group : a.time > b.time;
}

/* Sorts `n` elements of `size` bytes by group (uint32) and start (int64), which lie at the
 * given offsets. `refs` (may be NULL) is rearranged in the same way. group_at SIZE_MAX: no
 * group. -1: out of memory. */
static int sort_table(void *base, size_t n, size_t size, size_t time_at, size_t group_at,
                      struct refs *refs)
{
    struct sort_key *keys;
    size_t in_order = n > 0;
    while (in_order < n && !after(base, in_order, size, time_at, group_at))
        in_order++;
    if (in_order == n)
        return 0;
    if (!(keys = malloc(n * sizeof *keys)))
        return -1;
    for (size_t i = 0; i < n; i++)
        keys[i] = key_of(base, i, size, time_at, group_at);
    int rc = sort_keys(keys, n);
    if (rc > 0) {
        rc = sort_apply(keys, n, base, size);
        if (rc == 0 && refs)
            rc = sort_apply(keys, n, refs, sizeof *refs);
    }
    free(keys);
    return rc;
}

/* For calls with equal starts: the longer one is the outer one; of equal length, the runtime call
 * is outside the driver call. */
static bool api_outside(const struct api *a, const struct api *b)
{
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns;
    return a->layer < b->layer;
}

static void order_equal_starts(struct build *b)
{
    for (size_t i = 1; i < b->apis.n; i++) {
        struct api a = b->apis.at[i];
        struct refs r = b->api_refs.at[i];
        size_t j = i;
        for (; j > 0 && i - j < 16 && b->apis.at[j - 1].thread == a.thread &&
               b->apis.at[j - 1].start_ns == a.start_ns && api_outside(&a, &b->apis.at[j - 1]);
             j--) {
            b->apis.at[j] = b->apis.at[j - 1];
            b->api_refs.at[j] = b->api_refs.at[j - 1];
        }
        b->apis.at[j] = a;
        b->api_refs.at[j] = r;
    }
}

static void order_equal_ranges(struct build *b)
{
    for (size_t i = 1; i < b->ranges.n; i++) {
        struct range r = b->ranges.at[i];
        size_t j = i;
        for (; j > 0 && i - j < 64 && b->ranges.at[j - 1].thread == r.thread &&
               b->ranges.at[j - 1].start_ns == r.start_ns && b->ranges.at[j - 1].end_ns < r.end_ns;
             j--)
            b->ranges.at[j] = b->ranges.at[j - 1];
        b->ranges.at[j] = r;
    }
}

#define SORT(vec, time, group, refs)                                                               \
    sort_table(b->vec.at, b->vec.n, sizeof *b->vec.at, (time), (group), (refs))
#define AT(type, member) offsetof(struct type, member)

int build_sort(struct build *b, struct err *e)
{
    if (b->ops.n >= TL_NONE || b->apis.n >= TL_NONE || b->ranges.n >= TL_NONE ||
        b->syncs.n >= TL_NONE)
        return err_set(e, "more than 4 billion records in one profile: record fewer steps");
    if (resolve(b) < 0 || SORT(ops, AT(op, start_ns), SIZE_MAX, b->op_refs.at) < 0 ||
        SORT(apis, AT(api, start_ns), AT(api, thread), b->api_refs.at) < 0 ||
        SORT(syncs, AT(sync, start_ns), SIZE_MAX, b->sync_refs.at) < 0 ||
        SORT(ranges, AT(range, start_ns), AT(range, thread), NULL) < 0 ||
        SORT(calls, AT(call, row.start_ns), AT(call, thread), NULL) < 0 ||
        SORT(loaders, AT(row_loader, start_ns), SIZE_MAX, NULL) < 0 ||
        SORT(os_calls, AT(row_range, start_ns), SIZE_MAX, NULL) < 0 ||
        SORT(collectives, AT(collective, row.start_ns), SIZE_MAX, NULL) < 0 ||
        SORT(recorded, AT(row_recorded, start_ns), SIZE_MAX, NULL) < 0 ||
        SORT(gpu_samples, AT(row_gpu_sample, time_ns), SIZE_MAX, NULL) < 0 ||
        SORT(host_samples, AT(row_host_sample, time_ns), SIZE_MAX, NULL) < 0 ||
        SORT(stacks, AT(row_stack, id), SIZE_MAX, NULL) < 0 ||
        SORT(stack_samples, AT(row_stack_sample, start_ns), SIZE_MAX, NULL) < 0 ||
        SORT(launch_lines, AT(row_launch_line, start_ns), SIZE_MAX, NULL) < 0 ||
        SORT(allocations, AT(row_allocation, time_ns), SIZE_MAX, NULL) < 0)
        return err_set(e, "out of memory while sorting the profile");
    order_equal_starts(b);
    order_equal_ranges(b);
    return 0;
}
