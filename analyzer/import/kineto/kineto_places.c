/* Where the events of a Kineto trace happened: processes, threads, devices, streams. They are
 * collected while reading, and put at the end. A file is one process, except for merged files:
 * gpuprof's own exports list the pids of each rank in their header; other tools write the rank in
 * brackets before each pid. */
#include "analyzer/import/kineto/kineto.h"

#include "base/str.h"

#include <stdio.h>
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

/* A power of ten with one digit more than the largest pid of the first rank. */
static int64_t beyond(int64_t most_pid)
{
    int64_t power = 10;
    while (most_pid > 0 && power < INT64_MAX / 100) {
        power *= 10;
        most_pid /= 10;
    }
    return power;
}

int kineto_fused_turn(struct kineto *k, struct kineto_event *v)
{
    char name[32];
    if (!k->fused.told && v->pid_raw >= 0 && k->processes.n == 1 && !v->group) {
        k->fused.told = true;
        k->processes.at[0].rank = 0;
    }
    if (v->pid < 0 || v->group)
        return 0;
    /* an event with its rank and both pids gives the exact distance of pids between ranks */
    if (v->fused_rank > 0 && v->pid_raw >= 0 && v->pid > v->pid_raw)
        k->fused.apart = (v->pid - v->pid_raw) / v->fused_rank;
    int64_t apart = k->fused.apart > 0 ? k->fused.apart : beyond(k->fused.most_pid);
    if (!k->fused.told || v->pid < apart) {
        k->fused.most_pid = v->pid > k->fused.most_pid ? v->pid : k->fused.most_pid;
        return 0;
    }
    v->group_rank = v->pid / apart;
    if (!k->fused.group || v->group_rank != k->fused.rank) {
        int n = snprintf(name, sizeof name, "[rank %lld]", (long long)v->group_rank);
        k->fused.rank = v->group_rank;
        k->fused.group = k->out->intern(k->out->self, name, (size_t)n);
    }
    v->group = k->fused.group;
    return v->group == STR_NONE ? err_set(k->e, "out of memory") : 0;
}

int64_t kineto_rank(const struct kineto *k)
{
    int64_t own = k->processes.at[k->process].rank;
    return own >= 0 || k->processes.n > 1 ? own : k->rank;
}

int64_t kineto_at(const struct kineto *k)
{
    return (int64_t)k->process + 1;
}

void kineto_process_saw(struct kineto *k, int64_t start_ns, int64_t end_ns, int64_t host_pid)
{
    struct kineto_process *p = &k->processes.at[k->process];
    if (!p->seen || start_ns < p->first_ns)
        p->first_ns = start_ns;
    if (!p->seen || end_ns > p->last_ns)
        p->last_ns = end_ns;
    p->seen = true;
    if (p->pid < 0)
        p->pid = host_pid;
}

/* Id of the thread's row, added if it is new. */
int64_t kineto_thread_id(struct kineto *k, int64_t tid)
{
    const struct kineto_thread *last = k->threads.n ? &k->threads.at[k->last_thread] : NULL;
    if (last && last->tid == tid && last->process == k->process)
        return (int64_t)k->last_thread + 1;
    struct key key = {{(int64_t)k->process, tid}};
    uint32_t found = keymap_get(&k->thread_of, key);
    if (found == KEYMAP_NONE) {
        found = (uint32_t)k->threads.n;
        struct kineto_thread *t = vec_push(&k->threads);
        if (!t || keymap_put(&k->thread_of, key, found) < 0)
            return err_set(k->e, "out of memory");
        *t = (struct kineto_thread){k->process, tid, 0};
    }
    k->last_thread = found;
    return (int64_t)found + 1;
}

int kineto_device_add(struct kineto *k, const struct kineto_device *d)
{
    struct key key = {{(int64_t)d->process, d->ordinal}};
    uint32_t at = (uint32_t)k->devices.n, known = keymap_get(&k->device_of, key);
    /* its events came before its description */
    if (known != KEYMAP_NONE && !k->devices.at[known].name) {
        int64_t reserved = k->devices.at[known].reserved;
        k->devices.at[known] = *d;
        k->devices.at[known].reserved = reserved;
        return 0;
    }
    struct kineto_device *slot = vec_push(&k->devices);
    if (!slot)
        return err_set(k->e, "out of memory");
    *slot = *d;
    if (known == KEYMAP_NONE && keymap_put(&k->device_of, key, at) < 0)
        return err_set(k->e, "out of memory");
    return 0;
}

/* Index of the device, added if it is new. KEYMAP_NONE with *k->e set. */
static uint32_t device_of(struct kineto *k, size_t process, int64_t ordinal)
{
    struct key key = {{(int64_t)process, ordinal}};
    uint32_t found = keymap_get(&k->device_of, key);
    struct kineto_device d = {process, ordinal, 0, -1, -1, 0, 0, 0};
    if (found == KEYMAP_NONE && kineto_device_add(k, &d) == 0)
        found = (uint32_t)k->devices.n - 1;
    return found;
}

int64_t kineto_stream_id(struct kineto *k, const struct kineto_event *v)
{
    int64_t device = v->device >= 0 ? v->device : v->pid;
    int64_t stream = v->stream >= 0 ? v->stream : v->tid;
    const struct kineto_stream *last = k->streams.n ? &k->streams.at[k->last_stream] : NULL;
    if (last && last->stream == stream && last->device == device && last->process == k->process)
        return (int64_t)k->last_stream + 1;
    struct key key = {{(int64_t)k->process, device, stream}};
    uint32_t found = keymap_get(&k->stream_of, key);
    if (found == KEYMAP_NONE) {
        found = (uint32_t)k->streams.n;
        if (device_of(k, k->process, device) == KEYMAP_NONE)
            return -1;
        struct kineto_stream *s = vec_push(&k->streams);
        if (!s || keymap_put(&k->stream_of, key, found) < 0)
            return err_set(k->e, "out of memory");
        *s = (struct kineto_stream){k->process, device, stream, v->context};
    }
    k->last_stream = found;
    return (int64_t)found + 1;
}

static int put_allocation(struct kineto *k, const struct kineto_event *v, int64_t device,
                          int64_t time_ns)
{
    struct row_allocation r = {.id = ++k->ids[ROW_ALLOCATION],
                               .device = device,
                               .thread = kineto_thread_id(k, v->tid),
                               .time_ns = time_ns,
                               .bytes = v->piece,
                               .address = v->address,
                               .in_use_bytes = v->in_use,
                               .held_bytes = v->reserved};
    return r.thread < 0 ? -1 : PUT(ROW_ALLOCATION, r);
}

int kineto_put_memory(struct kineto *k, const struct kineto_event *v, int64_t start_ns)
{
    enum { A_GPU = 1 };
    if (v->device_type != A_GPU || v->device < 0)
        return 0;
    uint32_t found = device_of(k, k->process, v->device);
    if (found == KEYMAP_NONE)
        return -1;
    struct kineto_device *d = &k->devices.at[found];
    if (v->piece && put_allocation(k, v, (int64_t)found + 1, start_ns) < 0)
        return -1;
    if (v->reserved < 0 || d->reserved == v->reserved)
        return 0;
    d->reserved = v->reserved;
    struct row_gpu_sample r = {.id = ++k->ids[ROW_GPU_SAMPLE],
                               .device = (int64_t)found + 1,
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
        int64_t device = (int64_t)device_of(k, s->process, s->device) + 1;
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

void kineto_release(struct kineto *k)
{
    vec_release(&k->processes);
    vec_release(&k->places);
    vec_release(&k->devices);
    vec_release(&k->threads);
    vec_release(&k->streams);
    keymap_release(&k->place_of);
    keymap_release(&k->device_of);
    keymap_release(&k->thread_of);
    keymap_release(&k->stream_of);
    keymap_release(&k->recordings);
    kineto_frames_release(k);
    free(k->scratch);
}
