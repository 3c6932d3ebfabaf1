/* Chooses the pids and tids of a trace's rows. */
#include "report/trace/trace.h"

#include "base/keymap.h"

#include <string.h>

/* True if several processes used a GPU: they would get the same pids for their devices. */
static bool several_gpu_processes(const struct timeline *t)
{
    uint32_t seen = TL_NONE;
    for (size_t i = 0; i < t->stream_count; i++) {
        if (t->streams[i].ops == 0)
            continue;
        if (seen != TL_NONE && seen != t->streams[i].process)
            return true;
        seen = t->streams[i].process;
    }
    return false;
}

/* 1: the number is already used within `scope`; 0: it was free, and is used from now on; -1: out of
 * memory. */
static int claim_number(struct keymap *given, int64_t scope, int64_t number)
{
    struct key key = {{scope, number}};
    return keymap_get(given, key) != KEYMAP_NONE ? 1 : keymap_put(given, key, 0);
}

/* Finds where the pids of each process begin in a merged file: by rank, so that two exports
 * agree. */
static int find_first_pids(struct trace *c)
{
    struct keymap given = {0};
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < c->t->process_count; i++) {
        int64_t rank = c->t->processes[i].rank;
        bool usable = rank >= 0 && rank < 100000;
        rc = usable ? claim_number(&given, 0, rank) : 1;
        c->first_pid[i] = PIDS_A_PROCESS * ((rc ? 100000 + (int64_t)i : rank) + 1);
    }
    keymap_release(&given);
    return rc < 0 ? -1 : 0;
}

static int64_t host_pid(const struct trace *c, size_t i)
{
    int64_t pid = c->t->processes[i].pid;
    if (c->merged)
        return c->first_pid[i] + 900;
    if (pid < 0 || pid > 4000000)
        return 2000000000 + (int64_t)i;
    return pid < 256 ? pid + 1000000 : pid; /* as in a container; small pids are GPUs */
}

static int64_t device_pid(const struct trace *c, uint32_t process, int64_t ordinal)
{
    bool known = process < c->t->process_count;
    int64_t first = c->merged && known ? c->first_pid[process] : 0;
    return first + (ordinal >= 0 && ordinal < 200 ? ordinal : 200);
}

int64_t trace_stream_pid(const struct trace *c, uint32_t stream)
{
    const struct stream *s = &c->t->streams[stream];
    if (s->device < c->t->device_count)
        return c->device_pid[s->device];
    return device_pid(c, s->process, -1);
}

/* Chooses the pids of processes and the tids of threads and streams: their own numbers if these are
 * usable and free. -1: out of memory. */
static int name_rows(struct trace *c, struct keymap *pids, struct keymap *tids,
                     struct keymap *streams)
{
    const struct timeline *t = c->t;
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < t->process_count; i++) {
        c->process_pid[i] = host_pid(c, i);
        if ((rc = claim_number(pids, 0, c->process_pid[i])) > 0)
            c->process_pid[i] = 2000000000 + (int64_t)i;
    }
    for (size_t i = 0; rc >= 0 && i < t->thread_count; i++) {
        int64_t tid = t->threads[i].row.tid;
        rc = tid <= 0 || tid >= TID_HOST_LANE ? 1 : claim_number(tids, t->threads[i].process, tid);
        c->thread_tid[i] = rc ? 3000000000 + (int64_t)i : tid;
    }
    for (size_t i = 0; rc >= 0 && i < t->stream_count; i++) {
        int64_t tid = t->streams[i].row.stream; /* to some viewers 0 means the process itself */
        rc = tid <= 0 || tid >= 900000
                 ? 1
                 : claim_number(streams, trace_stream_pid(c, (uint32_t)i), tid);
        c->stream_tid[i] = rc ? 900000 + (int64_t)i : tid;
    }
    return rc < 0 ? -1 : 0;
}

int trace_name_rows(struct trace *c, bool merged)
{
    const struct timeline *t = c->t;
    c->merged = merged || several_gpu_processes(t);
    c->first_pid = arena_array(&c->arena, t->process_count + 1, sizeof *c->first_pid);
    c->process_pid = arena_array(&c->arena, t->process_count + 1, sizeof *c->process_pid);
    c->device_pid = arena_array(&c->arena, t->device_count + 1, sizeof *c->device_pid);
    c->thread_tid = arena_array(&c->arena, t->thread_count + 1, sizeof *c->thread_tid);
    c->stream_tid = arena_array(&c->arena, t->stream_count + 1, sizeof *c->stream_tid);
    if (!c->first_pid || !c->process_pid || !c->device_pid || !c->thread_tid || !c->stream_tid ||
        find_first_pids(c) < 0)
        return -1;
    for (size_t i = 0; i < t->device_count; i++)
        c->device_pid[i] =
            device_pid(c, timeline_process_index(t, t->devices[i].process), t->devices[i].ordinal);
    struct keymap pids = {0}, tids = {0}, streams = {0};
    int rc = name_rows(c, &pids, &tids, &streams);
    keymap_release(&pids);
    keymap_release(&tids);
    keymap_release(&streams);
    return rc;
}
