/* Fills a timeline. Rows may come in any order and are stored compactly; timeline_finish resolves
 * references. A row with impossible values is repaired or left out, and counted. */
#include "analyzer/timeline/build.h"

#include <string.h>

static int no_memory(struct err *e)
{
    return err_set(e, "out of memory while reading the profile");
}

struct timeline *timeline_new(struct err *e)
{
    struct build *b = calloc(1, sizeof *b);
    if (!b || str_table_init(&b->t.strings) < 0) {
        free(b);
        no_memory(e);
        return NULL;
    }
    build_bounds(b);
    return &b->t;
}

void timeline_free(struct timeline *t)
{
    if (!t)
        return;
    struct build *b = (struct build *)t;
    str_table_release(&t->strings);
    arena_release(&t->arena);
    vec_release(&b->ops);
    vec_release(&b->op_refs);
    vec_release(&b->apis);
    vec_release(&b->api_refs);
    vec_release(&b->syncs);
    vec_release(&b->sync_refs);
    vec_release(&b->events);
    vec_release(&b->event_refs);
    vec_release(&b->ranges);
    vec_release(&b->range_refs);
    vec_release(&b->calls);
    vec_release(&b->loaders);
    vec_release(&b->os_calls);
    vec_release(&b->callers);
    vec_release(&b->collectives);
    vec_release(&b->overheads);
    vec_release(&b->streams);
    vec_release(&b->threads);
    vec_release(&b->devices);
    vec_release(&b->processes);
    vec_release(&b->metas);
    vec_release(&b->healths);
    vec_release(&b->recorded);
    vec_release(&b->step_blocks);
    vec_release(&b->gpu_samples);
    vec_release(&b->host_samples);
    vec_release(&b->stacks);
    vec_release(&b->stack_samples);
    vec_release(&b->launch_lines);
    vec_release(&b->allocations);
    idmap_release(&b->process_map);
    idmap_release(&b->thread_map);
    idmap_release(&b->stream_map);
    idmap_release(&b->device_map);
    free(b);
}

/* ---- the sink ---- */

/* Defines a function that keeps the row as it is. */
#define PUT_PLAIN(name, vec, type)                                                                 \
    static int name(struct build *b, const void *row)                                              \
    {                                                                                              \
        type *p = vec_push(&b->vec);                                                               \
        if (p)                                                                                     \
            *p = *(const type *)row;                                                               \
        return p ? 0 : -1;                                                                         \
    }

PUT_PLAIN(put_meta, metas, struct row_meta)
PUT_PLAIN(put_host_sample, host_samples, struct row_host_sample)
PUT_PLAIN(put_gpu_sample, gpu_samples, struct row_gpu_sample)
PUT_PLAIN(put_stack, stacks, struct row_stack)
PUT_PLAIN(put_stack_sample, stack_samples, struct row_stack_sample)
PUT_PLAIN(put_launch_line, launch_lines, struct row_launch_line)
PUT_PLAIN(put_allocation, allocations, struct row_allocation)
PUT_PLAIN(put_health, healths, struct row_health)

static int (*const put_of[ROW_KINDS])(struct build *b, const void *row) = {
    [ROW_META] = put_meta,
    [ROW_PROCESS] = put_process,
    [ROW_THREAD] = put_thread,
    [ROW_DEVICE] = put_device,
    [ROW_STREAM] = put_stream,
    [ROW_KERNEL] = put_kernel,
    [ROW_COPY] = put_copy,
    [ROW_MEMSET] = put_memset,
    [ROW_API] = put_api,
    [ROW_SYNC] = put_sync,
    [ROW_EVENT] = put_event,
    [ROW_OVERHEAD] = put_overhead,
    [ROW_RANGE] = put_range,
    [ROW_CALL] = put_call,
    [ROW_LOADER] = put_loader,
    [ROW_COLLECTIVE] = put_collective,
    [ROW_HOST_SAMPLE] = put_host_sample,
    [ROW_GPU_SAMPLE] = put_gpu_sample,
    [ROW_HEALTH] = put_health,
    [ROW_RECORDED] = put_recorded,
    [ROW_STEP_BLOCK] = put_step_block,
    [ROW_STACK] = put_stack,
    [ROW_STACK_SAMPLE] = put_stack_sample,
    [ROW_LAUNCH_LINE] = put_launch_line,
    [ROW_ALLOCATION] = put_allocation,
};

static uint32_t timeline_intern(void *self, const char *s, size_t n)
{
    return str_intern(&((struct build *)self)->t.strings, s, n);
}

/* Rows of the other kinds are kept in part; their put functions check each value. */
static bool is_kept_whole(enum row_kind kind)
{
    return kind < ROW_KERNEL || kind > ROW_RANGE;
}

static int timeline_put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct build *b = self;
    int64_t copy[TABLE_MAX_ROW / sizeof(int64_t) + 1];
    if (b->finished)
        return err_set(e, "internal: a row came after the timeline was finished");
    if (is_kept_whole(kind)) {
        memcpy(copy, row, tables[kind].row_size);
        if (!clean_row(b, kind, copy))
            return 0;
        row = copy;
    }
    return put_of[kind](b, row) < 0 ? no_memory(e) : 0;
}

struct sink timeline_sink(struct timeline *t)
{
    return (struct sink){.self = t, .intern = timeline_intern, .put = timeline_put};
}

/* ---- look-ups ---- */

uint32_t timeline_thread_index(const struct timeline *t, int64_t id)
{
    return idmap_get(&((const struct build *)t)->thread_map, id);
}

uint32_t timeline_api_from(const struct timeline *t, const struct thread *th, int64_t ns)
{
    uint32_t low = th->first_api, high = low + th->apis;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (t->apis[mid].start_ns < ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

uint32_t timeline_process_index(const struct timeline *t, int64_t id)
{
    return idmap_get(&((const struct build *)t)->process_map, id);
}

uint32_t timeline_device_index(const struct timeline *t, int64_t id)
{
    return idmap_get(&((const struct build *)t)->device_map, id);
}

uint32_t timeline_stack_index(const struct timeline *t, int64_t id)
{
    size_t low = 0, high = t->stack_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->stacks[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->stack_count && t->stacks[low].id == id && id > 0 ? (uint32_t)low : TL_NONE;
}

const char *timeline_meta_place(const struct timeline *t, const char *key)
{
    const char *text = timeline_meta(t, key), *at = NULL;
    for (const char *p = text; p && (p = strstr(p, " at ")); p++)
        at = p + 4;
    return at && *at ? at : NULL;
}

const char *timeline_meta(const struct timeline *t, const char *key)
{
    /* without a value for all processes: the last value of the first process that has one */
    const struct row_meta *any = NULL;
    for (size_t i = 0; i < t->meta_count; i++) {
        const struct row_meta *m = &t->metas[i];
        if (strcmp(tl_text(t, m->key), key) != 0)
            continue;
        if (m->process == 0)
            return tl_text(t, m->value);
        if (!any || any->process == m->process)
            any = m;
    }
    return any ? tl_text(t, any->value) : NULL;
}
