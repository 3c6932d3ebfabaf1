/* GPU rows of the Chrome trace: streams, their synchronisations, idle time by cause, samples. */
#include "report/chrome/chrome.h"

#include <string.h>

static const char *memory_name(uint8_t kind)
{
    static const char *const names[] = {"Unknown", "Pageable", "Pinned",
                                        "Device",  "Array",    "Managed"};
    return kind < sizeof names / sizeof *names ? names[kind] : "Unknown";
}

static const char *copy_name(const struct op *op, char *b, size_t n)
{
    const char *way = op->copy_kind == COPY_H2D   ? "HtoD"
                      : op->copy_kind == COPY_D2H ? "DtoH"
                      : op->copy_kind == COPY_D2D ? "DtoD"
                      : op->copy_kind == COPY_H2H ? "HtoH"
                      : op->copy_kind == COPY_P2P ? "PtoP"
                                                  : "Unkn";
    snprintf(b, n, "Memcpy %s (%s -> %s)", way, memory_name(op->src_kind),
             memory_name(op->dst_kind));
    return b;
}

static void write_args(struct chrome *c, const struct op *op, int64_t correlation)
{
    struct json *j = &c->j;
    const struct stream *s = &c->t->streams[op->stream];
    bool known = s->device < c->t->device_count;
    json_int(j, "device", known ? c->t->devices[s->device].ordinal : 0);
    json_int(j, "context", s->row.context);
    json_int(j, "stream", s->row.stream < 0 ? 0 : s->row.stream);
    json_int(j, "correlation", correlation);
    if (op->kind == OP_KERNEL) {
        json_begin(j, "grid", '[');
        for (int i = 0; i < 3; i++)
            json_int(j, NULL, op->grid[i]);
        json_end(j, ']');
        json_begin(j, "block", '[');
        for (int i = 0; i < 3; i++)
            json_int(j, NULL, op->block[i]);
        json_end(j, ']');
        if (op->in_graph)
            json_bool(j, op->in_graph == GRAPH_WHOLE ? "whole graph" : "in graph", true);
    } else {
        json_int(j, "bytes", op->bytes);
        if (op->end_ns > op->start_ns)
            json_num(j, "memory bandwidth (GB/s)",
                     (double)op->bytes / (double)(op->end_ns - op->start_ns), 3);
    }
}

/* The number of an op's launch; if none is recorded, a number that no launch has. */
static int64_t correlation_of(const struct chrome *c, uint32_t index)
{
    uint32_t api = c->t->ops[index].api;
    return api != TL_NONE ? (int64_t)api + 1 : (int64_t)c->t->api_count + 1 + index;
}

/* What a collective moved, with the names of PyTorch's profiler where it has one. */
static void write_collective(struct chrome *c, const struct collective *x)
{
    json_str(&c->j, "Collective name", tl_text(c->t, x->row.name));
    if (x->row.bytes >= 0)
        json_int(&c->j, "message (bytes)", x->row.bytes);
    if (x->row.ranks > 0)
        json_int(&c->j, "Group size", x->row.ranks);
    if (x->row.communicator != 0 && x->row.communicator != -1) {
        char name[24];
        snprintf(name, sizeof name, "%llx", (unsigned long long)x->row.communicator);
        json_str(&c->j, "Process Group Name", name);
    }
    if (x->row.group_name)
        json_str(&c->j, "Process Group Description", tl_text(c->t, x->row.group_name));
    if (x->row.sequence > 0)
        json_int(&c->j, "Seq", x->row.sequence);
}

static void write_op(struct chrome *c, const struct item *x, int64_t pid, int64_t tid)
{
    static const char *const cats[] = {"kernel", "gpu_memcpy", "gpu_memset"};
    const struct op *op = &c->t->ops[x->index];
    char copy[64];
    const char *name = op->kind == OP_KERNEL ? tl_text(c->t, op->name)
                       : op->kind == OP_COPY ? copy_name(op, copy, sizeof copy)
                                             : "Memset (Device)";
    int64_t correlation = correlation_of(c, x->index);
    chrome_slice(c, cats[op->kind], name, pid, tid, x->start_ns, x->end_ns);
    write_args(c, op, correlation);
    if (c->op_collective && c->op_collective[x->index] != TL_NONE)
        write_collective(c, &c->t->collectives[c->op_collective[x->index]]);
    chrome_slice_end(c);
    if (op->api != TL_NONE && c->t->apis[op->api].op == x->index)
        chrome_flow(c, true, correlation, pid, tid, x->start_ns);
}

static void write_sync(struct chrome *c, const struct item *x, int64_t pid, int64_t tid)
{
    static const char *const names[] = {"Synchronisation", "Event Sync", "Stream Wait Event",
                                        "Stream Sync", "Context Sync"};
    const struct sync *s = &c->t->syncs[x->index];
    const char *name = names[s->type <= SYNC_CONTEXT ? s->type : 0];
    chrome_slice(c, "cuda_sync", name, pid, tid, x->start_ns, x->end_ns);
    json_str(&c->j, "cuda_sync_kind", name);
    chrome_sync_args(c, s);
    chrome_slice_end(c);
}

/* Writes c->items, and names each lane before its first slice. */
static void write_row(struct chrome *c, int64_t pid, int64_t tid, const char *name, int64_t sort)
{
    int named = -1;
    for (size_t i = 0; i < c->items.n; i++) {
        const struct item *x = &c->items.at[i];
        int64_t row = tid + (int64_t)x->lane * TID_LANE_OFFSET;
        if (x->lane > named) {
            char full[96];
            if (x->lane)
                snprintf(full, sizeof full, "%s, lane %d", name, x->lane + 1);
            else
                snprintf(full, sizeof full, "%s", name);
            chrome_thread(c, pid, row, full, sort);
            named = x->lane;
        }
        if (x->kind == ITEM_OP)
            write_op(c, x, pid, row);
        else
            write_sync(c, x, pid, row);
    }
}

static int write_stream(struct chrome *c, uint32_t i)
{
    char name[64];
    int64_t pid = chrome_stream_pid(c, i), number = c->t->streams[i].row.stream;
    if (rows_stream(&c->rows, i, &c->items))
        return -1;
    snprintf(name, sizeof name, "stream %lld", (long long)number);
    write_row(c, pid, c->stream_tid[i], name, 10 + 2 * (int64_t)i);
    if (c->t->sync_count == 0)
        return 0;
    if (rows_syncs(&c->rows, i, &c->items))
        return -1;
    snprintf(name, sizeof name, "stream %lld, waits", (long long)number);
    write_row(c, pid, c->stream_tid[i] + TID_SYNC_OFFSET, name, 11 + 2 * (int64_t)i);
    return 0;
}

/* Colour names that some viewers know; others ignore them. */
static const char *gap_color(uint8_t part)
{
    switch (part) {
    case PART_IDLE_INPUT:
        return "terrible";
    case PART_IDLE_COPY:
        return "bad";
    case PART_IDLE_SYNC:
        return "thread_state_iowait";
    case PART_IDLE_LAUNCH:
        return "thread_state_runnable";
    case PART_IDLE_ALLOC:
        return "thread_state_uninterruptible";
    case PART_IDLE_QUEUED:
        return "good";
    case PART_UNEXPLAINED:
        return "grey";
    default:
        return "generic_work";
    }
}

static void write_gaps(struct chrome *c)
{
    enum { SHORTEST_NS = 1000 };
    const struct advice *a = c->a;
    if (a->facts->gap_count == 0 || a->facts->steps.device >= c->t->device_count)
        return;
    int64_t pid = c->device_pid[a->facts->steps.device], last_ns = INT64_MIN;
    chrome_thread(c, pid, TID_GAPS, "GPU idle, by cause", 1);
    for (size_t i = 0; i < a->facts->gap_count; i++) {
        const struct gap *g = &a->facts->gaps[i];
        char name[96];
        if (g->end_ns - g->start_ns < SHORTEST_NS || g->start_ns < last_ns)
            continue;
        last_ns = g->end_ns;
        snprintf(name, sizeof name, "%s", part_title[g->part]);
        chrome_slice(c, "user_annotation", name, pid, TID_GAPS, g->start_ns, g->end_ns);
        for (int p = 0; p < PART_COUNT; p++)
            if (gap_ns(a->facts, g, (enum part)p) > 0)
                json_ms(&c->j, part_key[p], gap_ns(a->facts, g, (enum part)p));
        json_end(&c->j, '}');
        json_str(&c->j, "cname", gap_color(g->part));
        json_end(&c->j, '}');
    }
}

static void write_samples(struct chrome *c)
{
    for (size_t i = 0; i < c->t->gpu_sample_count; i++) {
        const struct row_gpu_sample *s = &c->t->gpu_samples[i];
        uint32_t d = timeline_device_index(c->t, s->device);
        if (d == TL_NONE)
            continue;
        uint32_t process = timeline_process_index(c->t, c->t->devices[d].process);
        int64_t at_ns = s->time_ns - rows_ahead(&c->rows, process), pid = c->device_pid[d];
        chrome_counter(c, pid, at_ns, "GPU utilisation", "%", s->util_pct);
        chrome_counter(c, pid, at_ns, "GPU memory used", "bytes", s->memory_used_bytes);
        chrome_counter(c, pid, at_ns, "SM clock", "MHz", s->sm_clock_mhz);
        chrome_counter(c, pid, at_ns, "power", "W", s->power_mw < 0 ? -1 : s->power_mw / 1000);
    }
}

/* By device: did it do anything? A rank sees the GPUs of other ranks too; those on which it ran
 * nothing are left out. NULL: out of memory. */
static bool *find_busy(struct chrome *c)
{
    const struct timeline *t = c->t;
    bool *busy = arena_array(&c->arena, t->device_count + 1, sizeof *busy);
    for (size_t i = 0; busy && i < t->device_count; i++)
        busy[i] = t->device_count == 1 || i == c->a->facts->steps.device;
    for (size_t i = 0; busy && i < t->stream_count; i++)
        if (t->streams[i].ops && t->streams[i].device < t->device_count)
            busy[t->streams[i].device] = true;
    for (size_t i = 0; busy && i < t->gpu_sample_count; i++) {
        uint32_t d = timeline_device_index(t, t->gpu_samples[i].device);
        if (d != TL_NONE)
            busy[d] = true;
    }
    return busy;
}

static int write_device_names(struct chrome *c)
{
    const bool *busy = find_busy(c);
    for (size_t i = 0; i < c->t->device_count; i++) {
        const struct row_device *d = &c->t->devices[i];
        char name[160], rank[32] = "";
        if (!busy || !busy[i])
            continue;
        uint32_t p = c->merged ? timeline_process_index(c->t, d->process) : TL_NONE;
        if (p != TL_NONE && c->t->processes[p].rank >= 0)
            snprintf(rank, sizeof rank, "rank %lld, ", (long long)c->t->processes[p].rank);
        snprintf(name, sizeof name, "%sGPU %lld: %.100s", rank, (long long)d->ordinal,
                 tl_text(c->t, d->name));
        chrome_process(c, c->device_pid[i], name, 5000000 + c->device_pid[i]);
    }
    return busy ? 0 : -1;
}

/* Finds the collective of each op, if there are any. -1: out of memory. */
static int index_collectives(struct chrome *c)
{
    if (c->t->collective_count == 0)
        return 0;
    c->op_collective = arena_array(&c->arena, c->t->op_count + 1, sizeof *c->op_collective);
    if (!c->op_collective)
        return -1;
    for (size_t i = 0; i < c->t->op_count; i++)
        c->op_collective[i] = TL_NONE;
    for (uint32_t i = 0; i < c->t->collective_count; i++)
        if (c->t->collectives[i].op != TL_NONE)
            c->op_collective[c->t->collectives[i].op] = i;
    return 0;
}

/* The device of a process: the analysed one if it belongs to the process, else the first that the
 * process used. */
static uint32_t device_of(const struct chrome *c, uint32_t process)
{
    const struct timeline *t = c->t;
    uint32_t looked_at = c->a->facts->steps.device;
    if (looked_at < t->device_count &&
        timeline_process_index(t, t->devices[looked_at].process) == process)
        return looked_at;
    for (size_t i = 0; i < t->stream_count; i++)
        if (t->streams[i].process == process && t->streams[i].device < t->device_count)
            return t->streams[i].device;
    return looked_at;
}

/* Waits of a process for a whole device. They do not tell for which one. */
static int write_device_waits(struct chrome *c, uint32_t process)
{
    uint32_t device = device_of(c, process);
    if (device >= c->t->device_count)
        return 0;
    if (rows_device_syncs(&c->rows, process, &c->items))
        return -1;
    write_row(c, c->device_pid[device], TID_CONTEXT_SYNC, "waits for the whole device", 2);
    return 0;
}

int chrome_gpu(struct chrome *c)
{
    if (index_collectives(c) || chrome_index_recordings(c))
        return -1;
    if (write_device_names(c) < 0)
        return -1;
    write_gaps(c);
    for (uint32_t i = 0; i < c->t->stream_count; i++)
        if (write_stream(c, i))
            return -1;
    for (uint32_t i = 0; c->t->sync_count && i < c->t->process_count; i++)
        if (write_device_waits(c, i))
            return -1;
    if (chrome_queue_depth(c))
        return -1;
    write_samples(c);
    return 0;
}
