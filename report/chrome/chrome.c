/* Writes the parts of a Chrome trace: rows, slices, flows, counters. */
#include "report/chrome/chrome.h"

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
static int find_first_pids(struct chrome *c)
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

static int64_t host_pid(const struct chrome *c, size_t i)
{
    int64_t pid = c->t->processes[i].pid;
    if (c->merged)
        return c->first_pid[i] + 900;
    if (pid < 0 || pid > 4000000)
        return 2000000000 + (int64_t)i;
    return pid < 256 ? pid + 1000000 : pid; /* as in a container; small pids are GPUs */
}

static int64_t device_pid(const struct chrome *c, uint32_t process, int64_t ordinal)
{
    bool known = process < c->t->process_count;
    int64_t first = c->merged && known ? c->first_pid[process] : 0;
    return first + (ordinal >= 0 && ordinal < 200 ? ordinal : 200);
}

int64_t chrome_stream_pid(const struct chrome *c, uint32_t stream)
{
    const struct stream *s = &c->t->streams[stream];
    if (s->device < c->t->device_count)
        return c->device_pid[s->device];
    return device_pid(c, s->process, -1);
}

/* Chooses the pids of processes and the tids of threads and streams: their own numbers if these are
 * usable and free. -1: out of memory. */
static int name_rows(struct chrome *c, struct keymap *pids, struct keymap *tids,
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
                 : claim_number(streams, chrome_stream_pid(c, (uint32_t)i), tid);
        c->stream_tid[i] = rc ? 900000 + (int64_t)i : tid;
    }
    return rc < 0 ? -1 : 0;
}

int chrome_name_rows(struct chrome *c, bool merged)
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

static int64_t since(const struct chrome *c, int64_t ns)
{
    return ns > c->base_ns ? ns - c->base_ns : 0;
}

static void event(struct chrome *c, const char *ph, const char *name, int64_t pid, int64_t tid)
{
    json_newline(&c->j);
    json_begin(&c->j, NULL, '{');
    json_str(&c->j, "ph", ph);
    json_str(&c->j, "name", name);
    json_int(&c->j, "pid", pid);
    json_int(&c->j, "tid", tid);
}

static void metadata(struct chrome *c, const char *what, int64_t pid, int64_t tid, const char *name,
                     int64_t sort)
{
    event(c, "M", what, pid, tid);
    json_us(&c->j, "ts", 0);
    json_begin(&c->j, "args", '{');
    if (name)
        json_str(&c->j, "name", name);
    else
        json_int(&c->j, "sort_index", sort);
    json_end(&c->j, '}');
    json_end(&c->j, '}');
}

void chrome_process(struct chrome *c, int64_t pid, const char *name, int64_t sort)
{
    metadata(c, "process_name", pid, 0, name, 0);
    metadata(c, "process_sort_index", pid, 0, NULL, sort);
}

void chrome_thread(struct chrome *c, int64_t pid, int64_t tid, const char *name, int64_t sort)
{
    metadata(c, "thread_name", pid, tid, name, 0);
    metadata(c, "thread_sort_index", pid, tid, NULL, sort);
}

void chrome_slice(struct chrome *c, const char *cat, const char *name, int64_t pid, int64_t tid,
                  int64_t start_ns, int64_t end_ns)
{
    int64_t start = since(c, start_ns), end = since(c, end_ns);
    event(c, "X", name, pid, tid);
    json_str(&c->j, "cat", cat);
    json_us(&c->j, "ts", start);
    json_us(&c->j, "dur", end > start ? end - start : 0);
    json_begin(&c->j, "args", '{');
}

void chrome_slice_end(struct chrome *c)
{
    json_end(&c->j, '}');
    json_end(&c->j, '}');
}

void chrome_flow(struct chrome *c, bool finish, int64_t id, int64_t pid, int64_t tid, int64_t at_ns)
{
    event(c, finish ? "f" : "s", "ac2g", pid, tid);
    json_str(&c->j, "cat", "ac2g");
    json_int(&c->j, "id", id);
    if (finish)
        /* Binds the arrow to the slice around this moment, not to the next one. */
        json_str(&c->j, "bp", "e");
    json_us(&c->j, "ts", since(c, at_ns));
    json_end(&c->j, '}');
}

void chrome_counter(struct chrome *c, int64_t pid, int64_t at_ns, const char *name, const char *key,
                    int64_t value)
{
    struct json *j = &c->j;
    if (value < 0)
        return;
    json_newline(j);
    json_begin(j, NULL, '{');
    json_str(j, "ph", "C");
    json_str(j, "cat", "gpu_sample");
    json_str(j, "name", name);
    json_int(j, "pid", pid);
    json_int(j, "tid", 0);
    json_us(j, "ts", at_ns > c->base_ns ? at_ns - c->base_ns : 0);
    json_begin(j, "args", '{');
    json_int(j, key, value);
    json_end(j, '}');
    json_end(j, '}');
}
