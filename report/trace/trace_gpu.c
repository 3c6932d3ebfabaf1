/* GPU rows of a trace: streams, their synchronisations, idle time by cause, samples. */
#include "report/trace/trace.h"

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

static void write_args(struct trace *c, const struct op *op)
{
    if (op->kind == OP_KERNEL) {
        if (op->in_graph)
            c->to->flag(c->w, op->in_graph == GRAPH_WHOLE ? "whole graph" : "in graph", true);
        return;
    }
    c->to->integer(c->w, "bytes", op->bytes);
    if (op->end_ns > op->start_ns)
        c->to->real(c->w, "memory bandwidth (GB/s)",
                    (double)op->bytes / (double)(op->end_ns - op->start_ns), 3);
}

/* The number of an op's launch; if none is recorded, a number that no launch has. */
static int64_t correlation_of(const struct trace *c, uint32_t index)
{
    uint32_t api = c->t->ops[index].api;
    return api != TL_NONE ? (int64_t)api + 1 : (int64_t)c->t->api_count + 1 + index;
}

/* What a collective moved, with the names of PyTorch's profiler where it has one. */
static void write_collective(struct trace *c, const struct collective *x)
{
    c->to->text(c->w, "Collective name", tl_text(c->t, x->row.name));
    if (x->row.bytes >= 0)
        c->to->integer(c->w, "message (bytes)", x->row.bytes);
    if (x->row.ranks > 0)
        c->to->integer(c->w, "Group size", x->row.ranks);
    if (x->row.communicator != 0 && x->row.communicator != -1) {
        char name[24];
        snprintf(name, sizeof name, "%llx", (unsigned long long)x->row.communicator);
        c->to->text(c->w, "Process Group Name", name);
    }
    if (x->row.group_name)
        c->to->text(c->w, "Process Group Description", tl_text(c->t, x->row.group_name));
    if (x->row.sequence > 0)
        c->to->integer(c->w, "Seq", x->row.sequence);
}

static void write_op(struct trace *c, const struct item *x, int64_t pid, int64_t tid)
{
    static const char *const cats[] = {"kernel", "gpu_memcpy", "gpu_memset"};
    const struct op *op = &c->t->ops[x->index];
    char copy[64];
    const char *name = op->kind == OP_KERNEL ? tl_text(c->t, op->name)
                       : op->kind == OP_COPY ? copy_name(op, copy, sizeof copy)
                                             : "Memset (Device)";
    const struct stream *s = &c->t->streams[op->stream];
    bool known = s->device < c->t->device_count;
    trace_slice(c, &(struct slice){
                       .cat = cats[op->kind],
                       .name = name,
                       .pid = pid,
                       .tid = tid,
                       .start_ns = x->start_ns,
                       .end_ns = x->end_ns,
                       .correlation = correlation_of(c, x->index),
                       .op = op,
                       .index = x->index,
                       .bound = op->api != TL_NONE && c->t->apis[op->api].op == x->index,
                       .device = known ? c->t->devices[s->device].ordinal : 0,
                       .context = s->row.context,
                       .owner = s->process < c->t->process_count ? c->process_pid[s->process] : 0,
                       .stream = s->row.stream < 0 ? 0 : s->row.stream});
    write_args(c, op);
    if (c->op_collective && c->op_collective[x->index] != TL_NONE)
        write_collective(c, &c->t->collectives[c->op_collective[x->index]]);
    trace_slice_end(c, NULL);
}

static void write_sync(struct trace *c, const struct item *x, int64_t pid, int64_t tid)
{
    static const char *const names[] = {"Synchronisation", "Event Sync", "Stream Wait Event",
                                        "Stream Sync", "Context Sync"};
    const struct sync *s = &c->t->syncs[x->index];
    const char *name = names[s->type <= SYNC_CONTEXT ? s->type : 0];
    trace_slice(c, &(struct slice){.cat = "cuda_sync",
                                   .name = name,
                                   .pid = pid,
                                   .tid = tid,
                                   .start_ns = x->start_ns,
                                   .end_ns = x->end_ns});
    c->to->text(c->w, "cuda_sync_kind", name);
    trace_sync_args(c, s);
    trace_slice_end(c, NULL);
}

/* Writes c->items, and names each lane before its first slice. */
static void write_row(struct trace *c, int64_t pid, int64_t tid, const char *name, int64_t sort)
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
            trace_row(c, pid, row, LANE_OF_STREAM, full, sort);
            named = x->lane;
        }
        if (x->kind == ITEM_OP)
            write_op(c, x, pid, row);
        else
            write_sync(c, x, pid, row);
    }
}

static int write_stream(struct trace *c, uint32_t i)
{
    char name[64];
    int64_t pid = trace_stream_pid(c, i), number = c->t->streams[i].row.stream;
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

static void write_gaps(struct trace *c)
{
    enum { SHORTEST_NS = 1000 };
    const struct advice *a = c->a;
    if (a->facts->gap_count == 0 || a->facts->steps.device >= c->t->device_count)
        return;
    int64_t pid = c->device_pid[a->facts->steps.device], last_ns = INT64_MIN;
    trace_row(c, pid, TID_GAPS, LANE_OF_NOTES, "GPU idle, by cause", 1);
    for (size_t i = 0; i < a->facts->gap_count; i++) {
        const struct gap *g = &a->facts->gaps[i];
        char name[96];
        if (g->end_ns - g->start_ns < SHORTEST_NS || g->start_ns < last_ns)
            continue;
        last_ns = g->end_ns;
        snprintf(name, sizeof name, "%s", part_title[g->part]);
        trace_slice(c, &(struct slice){.cat = "user_annotation",
                                       .name = name,
                                       .pid = pid,
                                       .tid = TID_GAPS,
                                       .start_ns = g->start_ns,
                                       .end_ns = g->end_ns});
        for (int p = 0; p < PART_COUNT; p++)
            if (gap_ns(a->facts, g, (enum part)p) > 0)
                c->to->ms(c->w, part_key[p], gap_ns(a->facts, g, (enum part)p));
        trace_slice_end(c, gap_color(g->part));
    }
}

static void write_samples(struct trace *c)
{
    for (size_t i = 0; i < c->t->gpu_sample_count; i++) {
        const struct row_gpu_sample *s = &c->t->gpu_samples[i];
        uint32_t d = timeline_device_index(c->t, s->device);
        if (d == TL_NONE)
            continue;
        uint32_t process = timeline_process_index(c->t, c->t->devices[d].process);
        int64_t at_ns = s->time_ns - rows_ahead(&c->rows, process), pid = c->device_pid[d];
        trace_counter(c, pid, at_ns, "GPU utilisation", "%", s->util_pct);
        trace_counter(c, pid, at_ns, "GPU memory used", "bytes", s->memory_used_bytes);
        trace_counter(c, pid, at_ns, "SM clock", "MHz", s->sm_clock_mhz);
        trace_counter(c, pid, at_ns, "power", "W", s->power_mw < 0 ? -1 : s->power_mw / 1000);
    }
}

/* By device: did it do anything? A rank sees the GPUs of other ranks too; those on which it ran
 * nothing are left out. NULL: out of memory. */
static bool *find_busy(struct trace *c)
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

static int write_device_names(struct trace *c)
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
        c->to->process(c->w, c->device_pid[i], true, name, 5000000 + c->device_pid[i]);
    }
    return busy ? 0 : -1;
}

/* Finds the collective of each op, if there are any. -1: out of memory. */
static int index_collectives(struct trace *c)
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
static uint32_t device_of(const struct trace *c, uint32_t process)
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
static int write_device_waits(struct trace *c, uint32_t process)
{
    uint32_t device = device_of(c, process);
    if (device >= c->t->device_count)
        return 0;
    if (rows_device_syncs(&c->rows, process, &c->items))
        return -1;
    write_row(c, c->device_pid[device], TID_CONTEXT_SYNC, "waits for the whole device", 2);
    return 0;
}

int trace_gpu(struct trace *c)
{
    if (index_collectives(c) || trace_index_recordings(c))
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
    if (trace_queue_depth(c))
        return -1;
    write_samples(c);
    return 0;
}
