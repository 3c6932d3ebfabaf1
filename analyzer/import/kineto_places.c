/* Where the events of a Kineto trace happened: processes, threads, devices, streams, found while
 * reading and put at the end. A file is one process, but for merged ones: exports of ours name the
 * pids of each rank in their header; others write the rank in brackets before each pid. */
#include "analyzer/import/kineto.h"

#include <string.h>

#define PUT(kind, row) k->out->put(k->out->self, kind, &(row), k->e)

static bool is_nobodys(const struct kineto *k)
{
    const struct kineto_process *p = &k->processes.at[0];
    return k->processes.n == 1 && p->first_pid > p->last_pid && !p->group && k->threads.n == 0 &&
           k->streams.n == 0;
}

int kineto_process_add(struct kineto *k, const struct kineto_process *p)
{
    struct kineto_process *slot =
        k->processes.n && is_nobodys(k) ? &k->processes.at[0] : vec_push(&k->processes);
    if (!slot)
        return err_set(k->e, "out of memory");
    *slot = *p;
    k->process = (size_t)(slot - k->processes.at);
    return 0;
}

int kineto_process_init(struct kineto *k)
{
    struct kineto_process whole = {
        .first_pid = 0, .last_pid = -1, .pid = -1, .rank = -1, .world_size = -1};
    return kineto_process_add(k, &whole);
}

static bool is_of(const struct kineto_process *p, int64_t pid, uint32_t group)
{
    if (group || p->group)
        return group == p->group;
    return pid >= p->first_pid && pid <= p->last_pid;
}

int kineto_process_turn(struct kineto *k, int64_t pid, uint32_t group, int64_t rank)
{
    size_t n = k->processes.n;
    if (n == 1 && !group)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (is_of(&k->processes.at[(k->process + i) % n], pid, group)) {
            k->process = (k->process + i) % n;
            return 0;
        }
    k->process = 0;
    if (!group || n >= KINETO_MOST_PROCESSES)
        return 0;
    struct kineto_process p = {.last_pid = -1,
                               .group = group,
                               .pid = -1,
                               .rank = rank >= 0       ? rank
                                       : is_nobodys(k) ? 0
                                                       : (int64_t)n,
                               .world_size = -1};
    return kineto_process_add(k, &p);
}

int64_t kineto_at(const struct kineto *k)
{
    return (int64_t)k->process + 1;
}

void kineto_process_saw(struct kineto *k, int64_t start_ns, int64_t end_ns, int64_t host_pid)
{
    struct kineto_process *p = &k->processes.at[k->process];
    if (start_ns < p->first_ns)
        p->first_ns = start_ns;
    if (end_ns > p->last_ns)
        p->last_ns = end_ns;
    if (p->pid < 0)
        p->pid = host_pid;
}

/* id of the thread's row; made on first sight. */
int64_t kineto_thread_id(struct kineto *k, int64_t tid)
{
    for (size_t n = 0; n < k->threads.n; n++) {
        size_t i = (k->last_thread + n) % k->threads.n;
        if (k->threads.at[i].tid == tid && k->threads.at[i].process == k->process) {
            k->last_thread = i;
            return (int64_t)i + 1;
        }
    }
    struct kineto_thread *t = vec_push(&k->threads);
    if (!t)
        return err_set(k->e, "out of memory");
    *t = (struct kineto_thread){k->process, tid, 0};
    k->last_thread = k->threads.n - 1;
    return (int64_t)k->threads.n;
}

static struct kineto_device *device_of(struct kineto *k, size_t process, int64_t ordinal)
{
    for (size_t i = 0; i < k->devices.n; i++)
        if (k->devices.at[i].ordinal == ordinal && k->devices.at[i].process == process)
            return &k->devices.at[i];
    struct kineto_device *d = vec_push(&k->devices);
    if (d)
        *d = (struct kineto_device){process, ordinal, 0, -1, -1, 0, 0, 0};
    return d;
}

int64_t kineto_stream_id(struct kineto *k, const struct kineto_event *v)
{
    int64_t device = v->device >= 0 ? v->device : v->pid;
    int64_t stream = v->stream >= 0 ? v->stream : v->tid;
    for (size_t n = 0; n < k->streams.n; n++) {
        size_t i = (k->last_stream + n) % k->streams.n;
        if (k->streams.at[i].stream == stream && k->streams.at[i].device == device &&
            k->streams.at[i].process == k->process) {
            k->last_stream = i;
            return (int64_t)i + 1;
        }
    }
    struct kineto_device *d = device_of(k, k->process, device);
    struct kineto_stream *s = vec_push(&k->streams);
    if (!s || !d)
        return err_set(k->e, "out of memory");
    *s = (struct kineto_stream){k->process, device, stream, v->context};
    k->last_stream = k->streams.n - 1;
    return (int64_t)k->streams.n;
}

int kineto_put_memory(struct kineto *k, const struct kineto_event *v, int64_t start_ns)
{
    enum { A_GPU = 1 };
    for (size_t i = 0; v->device_type == A_GPU && v->reserved >= 0 && i < k->devices.n; i++) {
        struct kineto_device *d = &k->devices.at[i];
        if (d->ordinal != v->device || d->process != k->process || d->reserved == v->reserved)
            continue;
        d->reserved = v->reserved;
        struct row_gpu_sample r = {.id = ++k->ids[ROW_GPU_SAMPLE],
                                   .device = (int64_t)i + 1,
                                   .time_ns = start_ns,
                                   .util_pct = -1,
                                   .memory_used_bytes = v->reserved,
                                   .sm_clock_mhz = -1,
                                   .memory_clock_mhz = -1,
                                   .power_mw = -1,
                                   .temperature_c = -1,
                                   .throttle_reasons = -1,
                                   .pcie_tx_bytes_per_s = -1,
                                   .pcie_rx_bytes_per_s = -1};
        return PUT(ROW_GPU_SAMPLE, r);
    }
    return 0;
}

static int put_processes(struct kineto *k)
{
    bool merged = k->processes.n > 1;
    for (size_t i = 0; i < k->processes.n; i++) {
        const struct kineto_process *x = &k->processes.at[i];
        struct row_process p = {.id = (int64_t)i + 1,
                                .pid = x->pid,
                                .ppid = -1,
                                .rank = merged ? x->rank : k->rank,
                                .local_rank = -1,
                                .world_size = merged ? x->world_size : k->world_size,
                                .start_ns = x->first_ns,
                                .end_ns = x->last_ns,
                                .sealed = -1};
        if (PUT(ROW_PROCESS, p) < 0)
            return -1;
    }
    return 0;
}

int kineto_put_places(struct kineto *k)
{
    if (put_processes(k) < 0)
        return -1;
    for (size_t i = 0; i < k->threads.n; i++) {
        struct row_thread r = {(int64_t)i + 1, (int64_t)k->threads.at[i].process + 1,
                               k->threads.at[i].tid, k->threads.at[i].name};
        if (PUT(ROW_THREAD, r) < 0)
            return -1;
    }
    for (size_t i = 0; i < k->devices.n; i++) {
        const struct kineto_device *d = &k->devices.at[i];
        struct row_device r = {.id = (int64_t)i + 1,
                               .process = (int64_t)d->process + 1,
                               .ordinal = d->ordinal,
                               .name = d->name,
                               .is_virtual = 0,
                               .cc_major = d->cc_major,
                               .cc_minor = d->cc_minor,
                               .sm_count = d->sm_count,
                               .memory_bytes = d->memory_bytes};
        if (PUT(ROW_DEVICE, r) < 0)
            return -1;
    }
    for (size_t i = 0; i < k->streams.n; i++) {
        const struct kineto_stream *s = &k->streams.at[i];
        int64_t device = device_of(k, s->process, s->device) - k->devices.at + 1;
        bool legacy = s->stream == (k->hip ? 0 : 7); /* CUPTI numbers the default stream 7, HIP 0 */
        struct row_stream r = {(int64_t)i + 1,
                               (int64_t)s->process + 1,
                               device,
                               s->context,
                               s->stream,
                               legacy ? STREAM_LEGACY_DEFAULT : -1,
                               0};
        if (PUT(ROW_STREAM, r) < 0)
            return -1;
    }
    return 0;
}
