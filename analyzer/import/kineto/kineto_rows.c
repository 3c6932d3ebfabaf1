/* Makes rows from events of a Kineto trace. Times become nanoseconds since the sink's epoch. A GPU
 * operation's correlation number joins it to its API call, as in gpuprof's own profiles. */
#include "analyzer/import/kineto/kineto.h"

#include "base/str.h"

#include <string.h>
#include <strings.h>

#define PUT(kind, row) k->out->put(k->out->self, kind, &(row), k->e)

static uint32_t intern(struct kineto *k, const char *s)
{
    return k->out->intern(k->out->self, s, strlen(s));
}

/* The kind of memory that a text begins with; 0: none. */
static int memory_kind(const char *text)
{
    static const struct {
        const char *word;
        int kind;
    } memory[] = {{"Pageable", MEMORY_PAGEABLE}, {"Pinned", MEMORY_PINNED},
                  {"Device", MEMORY_DEVICE},     {"Array", MEMORY_ARRAY},
                  {"Managed", MEMORY_MANAGED},   {"Unified", MEMORY_MANAGED}};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (strncasecmp(text, memory[i].word, strlen(memory[i].word)) == 0)
            return memory[i].kind;
    return 0;
}

static int copy_kind(const char *text)
{
    static const struct {
        const char *word;
        int kind;
    } kinds[] = {{"HtoD", COPY_H2D},
                 {"DtoH", COPY_D2H},
                 {"DtoD", COPY_D2D},
                 {"HtoH", COPY_H2H},
                 {"PtoP", COPY_P2P}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(text, kinds[i].word))
            return kinds[i].kind;
    return 0;
}

/* Sets kinds of copy and memory from a name "Memcpy HtoD (Pageable -> Device)", or from arguments,
 * where the name does not say them. */
static void copy_kinds(struct kineto *k, const struct kineto_event *v, struct row_copy *c)
{
    const char *from = strchr(v->head, '('), *to = strstr(v->head, "->");
    bool named = from && to;
    c->kind = copy_kind(v->head);
    if (!c->kind)
        c->kind = copy_kind(v->copy);
    c->src_kind = memory_kind(named ? from + 1 : v->memory[0]);
    c->dst_kind = memory_kind(named ? to + 3 : v->memory[1]);
    if (c->src_kind == MEMORY_PAGEABLE || c->src_kind == MEMORY_PINNED ||
        c->dst_kind == MEMORY_PAGEABLE || c->dst_kind == MEMORY_PINNED)
        k->memory_kinds = true;
}

/* Bytes that one rank contributes: as recorded, or the elements of a type by PyTorch's
 * name of it. -1: not known. */
static int64_t collective_bytes(const struct kineto_event *v)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } types[] = {{"Float", 4}, {"BFloat16", 2}, {"Half", 2},          {"Long", 8},
                 {"Int", 4},   {"Double", 8},   {"Byte", 1},          {"Char", 1},
                 {"Bool", 1},  {"Short", 2},    {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
    if (v->bytes >= 0)
        return v->bytes;
    for (size_t i = 0; v->elements >= 0 && i < sizeof types / sizeof *types; i++)
        if (strcmp(v->dtype, types[i].name) == 0 && v->elements < INT64_MAX / 8)
            return v->elements * types[i].bytes;
    return -1;
}

static int put_kernel(struct kineto *k, const struct kineto_event *v, int64_t start)
{
    struct row_kernel r = {.id = ++k->ids[ROW_KERNEL],
                           .process = kineto_at(k),
                           .stream = kineto_stream_id(k, v),
                           .start_ns = start,
                           .end_ns = start + v->dur_ns,
                           .name = v->name,
                           .correlation = v->correlation,
                           .grid_x = v->grid[0],
                           .grid_y = v->grid[1],
                           .grid_z = v->grid[2],
                           .block_x = v->block[0],
                           .block_y = v->block[1],
                           .block_z = v->block[2],
                           .registers = v->registers,
                           .smem_static = v->smem,
                           .graph = v->graph,
                           .graph_node = v->graph_node};
    if (r.stream < 0 || PUT(ROW_KERNEL, r) < 0)
        return -1;
    if (!v->collective)
        return 0;
    struct row_collective c = {.id = ++k->ids[ROW_COLLECTIVE],
                               .process = kineto_at(k),
                               .thread = -1,
                               .start_ns = r.start_ns,
                               .end_ns = r.end_ns,
                               .name = v->collective,
                               .kernel = r.id,
                               .communicator = kineto_communicator(k, v),
                               .sequence = v->sequence,
                               .bytes = collective_bytes(v),
                               .ranks = v->ranks,
                               .rank = v->rank,
                               .root = v->to_rank >= 0 ? v->to_rank : v->from_rank,
                               .group_name = v->group_label};
    return PUT(ROW_COLLECTIVE, c);
}

static int put_copy(struct kineto *k, const struct kineto_event *v, int64_t start)
{
    struct row_copy r = {.id = ++k->ids[ROW_COPY],
                         .process = kineto_at(k),
                         .stream = kineto_stream_id(k, v),
                         .start_ns = start,
                         .end_ns = start + v->dur_ns,
                         .correlation = v->correlation,
                         .bytes = v->bytes,
                         .is_async = -1,
                         .peer_device = -1,
                         .graph = v->graph,
                         .graph_node = v->graph_node};
    copy_kinds(k, v, &r);
    return r.stream < 0 ? -1 : PUT(ROW_COPY, r);
}

static int put_memset(struct kineto *k, const struct kineto_event *v, int64_t start)
{
    struct row_memset r = {.id = ++k->ids[ROW_MEMSET],
                           .process = kineto_at(k),
                           .stream = kineto_stream_id(k, v),
                           .start_ns = start,
                           .end_ns = start + v->dur_ns,
                           .correlation = v->correlation,
                           .bytes = v->bytes,
                           .value = -1,
                           .graph = v->graph,
                           .graph_node = v->graph_node};
    return r.stream < 0 ? -1 : PUT(ROW_MEMSET, r);
}

static int put_api(struct kineto *k, const struct kineto_event *v, int64_t start)
{
    struct row_api r = {.id = ++k->ids[ROW_API],
                        .process = kineto_at(k),
                        .thread = kineto_thread_id(k, v->tid),
                        .start_ns = start,
                        .end_ns = start + v->dur_ns,
                        .name = v->name,
                        .correlation = v->correlation,
                        .layer = v->category == KINETO_DRIVER,
                        .result = 0};
    k->hip |= strncmp(v->head, "hip", 3) == 0;
    return r.thread < 0 ? -1 : PUT(ROW_API, r);
}

static int put_range(struct kineto *k, const struct kineto_event *v, int64_t start)
{
    const char *domain = v->category == KINETO_PYTHON       ? "python"
                         : v->category == KINETO_ANNOTATION ? "user_annotation"
                                                            : "cpu_op";
    struct row_range r = {.id = ++k->ids[ROW_RANGE],
                          .process = kineto_at(k),
                          .thread = kineto_thread_id(k, v->tid),
                          .start_ns = start,
                          .end_ns = start + v->dur_ns,
                          .name = v->name,
                          .domain = intern(k, domain),
                          .depth = -1,
                          .payload = 0,
                          .shapes = kineto_shapes(k)};
    if (r.shapes == STR_NONE)
        return err_set(k->e, "out of memory");
    return r.thread < 0 ? -1 : PUT(ROW_RANGE, r);
}

/* Puts the event recording that a sync waits for, once. The trace names its call and stream only in
 * the sync. 0, or -1 with *k->e set. */
static int put_recording(struct kineto *k, const struct kineto_event *v)
{
    struct key key = {{kineto_at(k), v->wait_correlation}};
    if (v->wait_correlation <= 0 || v->wait_stream < 0) {
        k->recording_unknown = true;
        return 0;
    }
    if (keymap_get(&k->recordings, key) != KEYMAP_NONE)
        return 0;
    struct kineto_event there = *v;
    there.stream = v->wait_stream;
    struct row_event r = {.id = ++k->ids[ROW_EVENT],
                          .process = kineto_at(k),
                          .stream = kineto_stream_id(k, &there),
                          .event = v->wait_event,
                          .event_sync = v->wait_correlation,
                          .correlation = v->wait_correlation,
                          .device_ns = -1};
    if (keymap_put(&k->recordings, key, 0) < 0)
        return err_set(k->e, "out of memory");
    return r.stream < 0 ? -1 : PUT(ROW_EVENT, r);
}

static int put_sync(struct kineto *k, const struct kineto_event *v, int64_t start)
{
    int64_t type = strstr(v->head, "Wait Event") ? SYNC_STREAM_WAIT_EVENT
                   : strstr(v->head, "Event")    ? SYNC_EVENT
                   : strstr(v->head, "Stream")   ? SYNC_STREAM
                                                 : SYNC_CONTEXT;
    struct row_sync r = {.id = ++k->ids[ROW_SYNC],
                         .process = kineto_at(k),
                         .start_ns = start,
                         .end_ns = start + v->dur_ns,
                         .type = type,
                         .stream = -1,
                         .event = v->wait_event,
                         .event_sync = v->wait_correlation,
                         .correlation = v->correlation};
    if ((type == SYNC_EVENT || type == SYNC_STREAM_WAIT_EVENT) && put_recording(k, v) < 0)
        return -1;
    if (v->stream >= 0 && (r.stream = kineto_stream_id(k, v)) < 0)
        return -1;
    return PUT(ROW_SYNC, r);
}

static int put_overhead(struct kineto *k, const struct kineto_event *v, int64_t start)
{
    struct row_overhead r = {++k->ids[ROW_OVERHEAD], kineto_at(k), -1, start,
                             start + v->dur_ns,      v->name};
    return PUT(ROW_OVERHEAD, r);
}

/* *start, *end: relative to the sink's epoch, which is the first event's time if it was not set.
 * False: the times are missing, bad, or too far apart for a number. */
static bool find_span(struct kineto *k, const struct kineto_event *v, int64_t *start, int64_t *end)
{
    if (!v->has_ts || v->bad_number || v->dur_ns < 0 || v->ts_ns > INT64_MAX / 2 ||
        v->ts_ns < INT64_MIN / 2 || v->dur_ns > INT64_MAX / 4)
        return false;
    if (!k->out->epoch_ns)
        k->out->epoch_ns = v->ts_ns ? v->ts_ns : 1;
    return !__builtin_sub_overflow(v->ts_ns, k->out->epoch_ns, start) &&
           !__builtin_add_overflow(*start, v->dur_ns, end);
}

int kineto_put(struct kineto *k, struct kineto_event *v)
{
    if (kineto_fused_turn(k, v) < 0 || kineto_process_turn(k, v->pid, v->group, v->group_rank) < 0)
        return -1;
    if (v->phase == 'M') {
        int64_t id =
            v->is_thread_name && v->tid > 0 && v->label[0] ? kineto_thread_id(k, v->tid) : 0;
        if (id > 0)
            k->threads.at[id - 1].name = intern(k, v->label);
        return id < 0 ? -1 : kineto_xla_note(k, v);
    }
    if (v->phase == 'X' && v->category == KINETO_UNKNOWN && k->places.n)
        kineto_xla_settle(k, v);
    bool memory = v->phase == 'i' && v->is_memory;
    if ((v->phase != 'X' && !memory) || v->category <= KINETO_UNKNOWN) {
        k->skipped++;
        return 0;
    }
    int64_t start, end;
    if (!find_span(k, v, &start, &end)) {
        k->bad++;
        return 0;
    }
    if (memory)
        return kineto_put_memory(k, v, start);
    bool host = v->category == KINETO_RUNTIME || v->category == KINETO_CPU_OP;
    kineto_process_saw(k, start, end, host ? v->pid : -1);
    k->have_mask |= 1u << v->category;
    switch (v->category) {
    case KINETO_KERNEL:
        return put_kernel(k, v, start);
    case KINETO_MEMCPY:
        return put_copy(k, v, start);
    case KINETO_MEMSET:
        return put_memset(k, v, start);
    case KINETO_RUNTIME:
    case KINETO_DRIVER:
        return put_api(k, v, start);
    case KINETO_SYNC:
        return put_sync(k, v, start);
    case KINETO_OVERHEAD:
        return put_overhead(k, v, start);
    case KINETO_INSTANT:
        return 0;
    case KINETO_PYTHON:
        return put_range(k, v, start) < 0 ? -1 : kineto_frames_put(k, v, start);
    case KINETO_CPU_OP:
        return put_range(k, v, start) < 0 ? -1 : kineto_lines_note(k, v, start);
    default:
        return put_range(k, v, start);
    }
}

static int put_meta(struct kineto *k, const char *key, const char *value)
{
    struct row_meta r = {++k->ids[ROW_META], 0, intern(k, key), intern(k, value)};
    return PUT(ROW_META, r);
}

int kineto_put_number(struct kineto *k, const char *key, int64_t v)
{
    char text[32];
    char *p = text + sizeof text;
    bool minus = v < 0;
    uint64_t u = minus ? 0 - (uint64_t)v : (uint64_t)v;
    *--p = 0;
    do
        *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (minus)
        *--p = '-';
    return put_meta(k, key, p);
}

static int put_have(struct kineto *k)
{
    char have[256] = "";
    uint32_t m = k->have_mask;
    bool gpu = m & (1u << KINETO_KERNEL | 1u << KINETO_MEMCPY | 1u << KINETO_MEMSET);
    bool api = m & (1u << KINETO_RUNTIME | 1u << KINETO_DRIVER);
    if (gpu)
        strcat(have, "kernels,copies,memsets,");
    if (k->memory_kinds)
        strcat(have, "memory_kinds,");
    if (api)
        strcat(have, "api,");
    if (m & 1u << KINETO_SYNC)
        strcat(have, "sync,");
    if (k->ids[ROW_EVENT] && !k->recording_unknown)
        strcat(have, "events,");
    if (m & (1u << KINETO_CPU_OP | 1u << KINETO_ANNOTATION | 1u << KINETO_PYTHON))
        strcat(have, "ranges,");
    if (k->rank >= 0 || k->processes.n > 1)
        strcat(have, "ranks,");
    if (k->ids[ROW_COLLECTIVE])
        strcat(have, "collectives,");
    if (k->ids[ROW_LOADER])
        strcat(have, "loader,");
    if (k->devices.n)
        strcat(have, "device,");
    have[have[0] ? strlen(have) - 1 : 0] = 0;
    return put_meta(k, "have", have);
}

static int put_health(struct kineto *k, const char *code, const char *text, int64_t value)
{
    struct row_health r = {++k->ids[ROW_HEALTH], 1, 1, intern(k, code), intern(k, text), value};
    return PUT(ROW_HEALTH, r);
}

int kineto_put_ends(struct kineto *k)
{
    if (kineto_frames_end(k) < 0 || kineto_put_places(k) < 0 || put_have(k) < 0 ||
        put_meta(k, "source", k->tool ? k->tool : "kineto") < 0 ||
        (!k->tool && put_meta(k, "framework", k->places.n ? "xla" : "pytorch") < 0) ||
        kineto_put_number(k, "source_events", k->events) < 0)
        return -1;
    if ((k->hip || k->xpu) && put_meta(k, "platform", k->hip ? "hip" : "xpu") < 0)
        return -1;
    if (k->bad &&
        put_health(k, "bad-events",
                   "events whose time or duration is missing, negative or not a number were "
                   "left out",
                   k->bad) < 0)
        return -1;
    if (k->frames.late &&
        put_health(k, "frames-out-of-order",
                   "calls of Python functions that stand in the trace behind later ones are in no "
                   "stack: the time by line lacks them",
                   k->frames.late) < 0)
        return -1;
    return 0;
}
