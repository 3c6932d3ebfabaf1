#include "report/chrome.h"

#include <string.h>

/* Several processes that used a GPU would meet on the same device pids. */
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

static bool taken(const int64_t *ids, size_t n, int64_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Where the pids of process i begin in a merged file: by rank, so that two exports agree. */
static int64_t merged_slot(const struct timeline *t, size_t i)
{
    int64_t rank = t->processes[i].rank;
    for (size_t k = 0; k < i; k++)
        if (t->processes[k].rank == rank)
            rank = -1;
    return rank >= 0 && rank < 100000 ? rank : 100000 + (int64_t)i;
}

int64_t chrome_first_pid(const struct chrome *c, size_t process)
{
    return PIDS_A_PROCESS * (merged_slot(c->t, process) + 1);
}

static int64_t host_pid(const struct chrome *c, size_t i)
{
    int64_t pid = c->t->processes[i].pid;
    if (c->merged)
        return chrome_first_pid(c, i) + 900;
    if (pid < 0 || pid > 4000000)
        pid = 2000000000 + (int64_t)i;
    if (pid < 256) /* in a container; small pids are GPUs */
        pid += 1000000;
    return taken(c->process_pid, i, pid) ? 2000000000 + (int64_t)i : pid;
}

static int64_t device_pid(const struct chrome *c, uint32_t process, int64_t ordinal)
{
    bool known = process < c->t->process_count;
    int64_t first = c->merged && known ? chrome_first_pid(c, process) : 0;
    return first + (ordinal >= 0 && ordinal < 200 ? ordinal : 200);
}

static int64_t thread_tid(const struct chrome *c, size_t i)
{
    const struct thread *th = &c->t->threads[i];
    int64_t tid = th->row.tid;
    bool bad = tid <= 0 || tid >= TID_HOST_LANE;
    for (size_t k = 0; k < i && !bad; k++)
        bad = c->thread_tid[k] == tid && c->t->threads[k].process == th->process;
    return bad ? 3000000000 + (int64_t)i : tid;
}

static int64_t stream_tid(const struct chrome *c, size_t i)
{
    int64_t tid = c->t->streams[i].row.stream;
    bool bad = tid <= 0 || tid >= 900000; /* tid 0 means the process itself to some viewers */
    for (size_t k = 0; k < i && !bad; k++)
        bad = c->stream_tid[k] == tid &&
              chrome_stream_pid(c, (uint32_t)k) == chrome_stream_pid(c, (uint32_t)i);
    return bad ? 900000 + (int64_t)i : tid;
}

int64_t chrome_stream_pid(const struct chrome *c, uint32_t stream)
{
    const struct stream *s = &c->t->streams[stream];
    if (s->device < c->t->device_count)
        return c->device_pid[s->device];
    return device_pid(c, s->process, -1);
}

int chrome_name_rows(struct chrome *c, bool merged)
{
    const struct timeline *t = c->t;
    c->merged = merged || several_gpu_processes(t);
    c->process_pid = arena_array(&c->arena, t->process_count + 1, sizeof *c->process_pid);
    c->device_pid = arena_array(&c->arena, t->device_count + 1, sizeof *c->device_pid);
    c->thread_tid = arena_array(&c->arena, t->thread_count + 1, sizeof *c->thread_tid);
    c->stream_tid = arena_array(&c->arena, t->stream_count + 1, sizeof *c->stream_tid);
    if (!c->process_pid || !c->device_pid || !c->thread_tid || !c->stream_tid)
        return -1;
    for (size_t i = 0; i < t->process_count; i++)
        c->process_pid[i] = host_pid(c, i);
    for (size_t i = 0; i < t->device_count; i++)
        c->device_pid[i] =
            device_pid(c, timeline_process_index(t, t->devices[i].process), t->devices[i].ordinal);
    for (size_t i = 0; i < t->thread_count; i++)
        c->thread_tid[i] = thread_tid(c, i);
    for (size_t i = 0; i < t->stream_count; i++)
        c->stream_tid[i] = stream_tid(c, i);
    return 0;
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
        json_str(&c->j, "bp", "e"); /* binds to the slice around it, not to the next one */
    json_us(&c->j, "ts", since(c, at_ns));
    json_end(&c->j, '}');
}
