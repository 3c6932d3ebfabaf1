/* Filling a timeline: rows are taken as they come, in any order, and kept compactly; references are
 * resolved by timeline_finish. A row that cannot be true is repaired or left out, and counted. */
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
    idmap_release(&b->process_map);
    idmap_release(&b->thread_map);
    idmap_release(&b->stream_map);
    idmap_release(&b->device_map);
    free(b);
}

/* ---- the sink ---- */

#define PUT_PLAIN(vec, type)                                                                       \
    {                                                                                              \
        type *p = vec_push(&b->vec);                                                               \
        if (p)                                                                                     \
            *p = *(const type *)row;                                                               \
        rc = p ? 0 : -1;                                                                           \
        break;                                                                                     \
    }

static uint32_t timeline_intern(void *self, const char *s, size_t n)
{
    return str_intern(&((struct build *)self)->t.strings, s, n);
}

/* Of the other kinds, parts are taken; their functions look at each. */
static bool is_kept_whole(enum row_kind kind)
{
    return kind < ROW_KERNEL || kind > ROW_RANGE;
}

static int timeline_put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct build *b = self;
    int rc = 0;
    int64_t copy[TABLE_MAX_ROW / sizeof(int64_t) + 1];
    if (b->finished)
        return err_set(e, "internal: a row came after the timeline was finished");
    if (is_kept_whole(kind)) {
        memcpy(copy, row, tables[kind].row_size);
        if (!clean_row(b, kind, copy))
            return 0;
        row = copy;
    }
    switch (kind) {
    case ROW_META:
        PUT_PLAIN(metas, struct row_meta)
    case ROW_PROCESS:
        rc = put_process(b, row);
        break;
    case ROW_THREAD:
        rc = put_thread(b, row);
        break;
    case ROW_DEVICE:
        rc = put_device(b, row);
        break;
    case ROW_STREAM:
        rc = put_stream(b, row);
        break;
    case ROW_KERNEL:
        rc = put_kernel(b, row);
        break;
    case ROW_COPY:
        rc = put_copy(b, row);
        break;
    case ROW_MEMSET:
        rc = put_memset(b, row);
        break;
    case ROW_API:
        rc = put_api(b, row);
        break;
    case ROW_SYNC:
        rc = put_sync(b, row);
        break;
    case ROW_EVENT:
        rc = put_event(b, row);
        break;
    case ROW_OVERHEAD:
        rc = put_overhead(b, row);
        break;
    case ROW_RANGE:
        rc = put_range(b, row);
        break;
    case ROW_CALL:
        rc = put_call(b, row);
        break;
    case ROW_LOADER:
        rc = put_loader(b, row);
        break;
    case ROW_COLLECTIVE:
        rc = put_collective(b, row);
        break;
    case ROW_HOST_SAMPLE:
        PUT_PLAIN(host_samples, struct row_host_sample)
    case ROW_GPU_SAMPLE:
        PUT_PLAIN(gpu_samples, struct row_gpu_sample)
    case ROW_HEALTH:
        PUT_PLAIN(healths, struct row_health)
    case ROW_RECORDED:
        rc = put_recorded(b, row);
        break;
    case ROW_STEP_BLOCK:
        rc = put_step_block(b, row);
        break;
    case ROW_KINDS:
        break;
    }
    return rc < 0 ? no_memory(e) : 0;
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

const char *timeline_meta(const struct timeline *t, const char *key)
{
    const struct row_meta *any = NULL; /* of the first process that says so, what it said last */
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
