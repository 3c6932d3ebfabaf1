/* The tables that other rows refer to: processes, threads, devices, streams. A row that refers to one
 * that was not recorded gets one with nothing known. */
#include "analyzer/timeline/build.h"

#include <string.h>

int put_process(struct build *b, const void *row)
{
    struct row_process r = *(const struct row_process *)row;
    if (idmap_get(&b->process_map, r.id) != TL_NONE) {
        b->repairs.duplicates++;
        return 0;
    }
    r.command = clean_name(b, r.command);
    r.host = clean_name(b, r.host);
    struct row_process *p = vec_push(&b->processes);
    if (!p)
        return -1;
    *p = r;
    return idmap_put(&b->process_map, r.id, (uint32_t)b->processes.n - 1);
}

int put_thread(struct build *b, const void *row)
{
    struct row_thread r = *(const struct row_thread *)row;
    if (idmap_get(&b->thread_map, r.id) != TL_NONE) {
        b->repairs.duplicates++;
        return 0;
    }
    r.name = clean_name(b, r.name);
    struct thread *t = vec_push(&b->threads);
    if (!t)
        return -1;
    t->row = r;
    return idmap_put(&b->thread_map, r.id, (uint32_t)b->threads.n - 1);
}

int put_device(struct build *b, const void *row)
{
    struct row_device r = *(const struct row_device *)row;
    if (idmap_get(&b->device_map, r.id) != TL_NONE) {
        b->repairs.duplicates++;
        return 0;
    }
    r.name = clean_name(b, r.name);
    r.uuid = clean_name(b, r.uuid);
    /* Traces contain only the device's name: by this a virtual GPU stays
     * one through every format. */
    if (strncmp(str_text(&b->t.strings, r.name), "Virtual ", 8) == 0)
        r.is_virtual = 1;
    struct row_device *d = vec_push(&b->devices);
    if (!d)
        return -1;
    *d = r;
    return idmap_put(&b->device_map, r.id, (uint32_t)b->devices.n - 1);
}

int put_stream(struct build *b, const void *row)
{
    const struct row_stream *r = row;
    if (idmap_get(&b->stream_map, r->id) != TL_NONE) {
        b->repairs.duplicates++;
        return 0;
    }
    struct stream *s = vec_push(&b->streams);
    if (!s)
        return -1;
    s->row = *r;
    return idmap_put(&b->stream_map, r->id, (uint32_t)b->streams.n - 1);
}

uint32_t build_process(struct build *b, int64_t id)
{
    uint32_t i = idmap_get(&b->process_map, id);
    if (i != TL_NONE)
        return i;
    struct row_process r = {.id = id,
                            .pid = -1,
                            .ppid = -1,
                            .rank = -1,
                            .local_rank = -1,
                            .world_size = -1,
                            .sealed = -1};
    b->repairs.dangling += b->processes.n > 0;
    return put_process(b, &r) < 0 ? TL_NONE : (uint32_t)b->processes.n - 1;
}

uint32_t build_thread(struct build *b, int64_t id, int64_t process)
{
    uint32_t i = idmap_get(&b->thread_map, id);
    if (i != TL_NONE)
        return i;
    struct row_thread r = {.id = id, .process = process, .tid = -1};
    b->repairs.dangling++;
    return put_thread(b, &r) < 0 ? TL_NONE : (uint32_t)b->threads.n - 1;
}

uint32_t build_device(struct build *b, int64_t id, int64_t process)
{
    uint32_t i = idmap_get(&b->device_map, id);
    if (i != TL_NONE)
        return i;
    if (id < 0 && b->devices.n == 1) /* the device is not stated, but there is only one */
        return 0;
    struct row_device r = {.id = id,
                           .process = process,
                           .ordinal = -1,
                           .is_virtual = -1,
                           .cc_major = -1,
                           .cc_minor = -1,
                           .sm_count = -1,
                           .clock_khz = -1,
                           .memory_bytes = -1,
                           .memory_bytes_per_s = -1,
                           .l2_bytes = -1,
                           .copy_engines = -1};
    return put_device(b, &r) < 0 ? TL_NONE : (uint32_t)b->devices.n - 1;
}

uint32_t build_stream(struct build *b, int64_t id, int64_t process)
{
    uint32_t i = idmap_get(&b->stream_map, id);
    if (i != TL_NONE)
        return i;
    struct row_stream r = {.id = id,
                           .process = process,
                           .device = -1,
                           .context = -1,
                           .stream = -1,
                           .flags = -1,
                           .priority = -1};
    b->repairs.dangling++;
    return put_stream(b, &r) < 0 ? TL_NONE : (uint32_t)b->streams.n - 1;
}
