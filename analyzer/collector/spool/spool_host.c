/* Host samples: the CPU time that threads of a live target have used, and what kept them from
 * computing. Read from /proc, outside of the target, ten times a second, and a hundred times a
 * second while the process is sampled closely. Sampling becomes less frequent if a process has so
 * many threads that it would take more than half a percent of a core (two percent while sampled
 * closely). Only the reader's CPU time counts, not its wait for a core, because samples are needed
 * most when cores are scarce. A thread that has not run since its last sample gets no row. */
#include "analyzer/collector/spool/spool.h"

#include "base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLE_NS = 100000000, COST_SHARE = 200 };
enum { CLOSE_NS = 10000000, CLOSE_COST_SHARE = 50 };
static const int64_t closely_for_ns = 3000000000;

/* Reads a file of /proc/PID/task/TID as text; false: the thread has ended. */
static bool read_file(int task, const char *tid, const char *name, char *text, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", tid, name);
    int fd = openat(task, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* Sets CPU time and time without a core, in ns, from schedstat. False: the
 * kernel does not keep them. */
static bool read_cpu(int task, const char *tid, struct row_host_sample *h)
{
    char text[128], *end;
    if (!read_file(task, tid, "schedstat", text, sizeof text))
        return false;
    h->cpu_ns = strtoll(text, &end, 10);
    h->run_queue_ns = strtoll(end, NULL, 10);
    return true;
}

/* Sets bytes read, from "rchar: " and "read_bytes: " of io. Processes of
 * other users do not show it. */
static void read_io(int task, const char *tid, struct row_host_sample *h)
{
    char text[512];
    if (!read_file(task, tid, "io", text, sizeof text))
        return;
    const char *asked = strstr(text, "rchar:"), *storage = strstr(text, "\nread_bytes:");
    h->read_bytes = asked ? strtoll(asked + strlen("rchar:"), NULL, 10) : -1;
    h->storage_bytes = storage ? strtoll(storage + strlen("\nread_bytes:"), NULL, 10) : -1;
}

/* True if the kernel counts waits for disks: since Linux 5.14 only if the
 * administrator enables it. */
static bool disk_waits_kept(struct spool *s)
{
    char kept[8] = "1";
    if (s->disk_waits == SPOOL_WAITS_UNKNOWN) {
        read_file(AT_FDCWD, "/proc/sys/kernel", "task_delayacct", kept, sizeof kept);
        s->disk_waits = kept[0] == '0' ? SPOOL_WAITS_NOT_KEPT : SPOOL_WAITS_KEPT;
    }
    return s->disk_waits == SPOOL_WAITS_KEPT;
}

/* Sets page faults and disk waits, from fields 12 and 42 of stat. The name in
 * field 2 may contain spaces. */
static bool read_waits(int task, const char *tid, struct row_host_sample *h)
{
    char text[1024];
    if (!read_file(task, tid, "stat", text, sizeof text))
        return false;
    const char *p = strrchr(text, ')');
    for (int field = 2; p && field < 42; field++) {
        p = strchr(p + 1, ' ');
        if (p && field + 1 == 12)
            h->major_faults = strtoll(p, NULL, 10);
    }
    if (p)
        h->io_wait_ns = strtoll(p, NULL, 10) * (1000000000 / sysconf(_SC_CLK_TCK));
    return true;
}

static void name_thread(struct spool_out *out, struct spool_thread *t, int task, const char *tid)
{
    char text[64];
    if (t->name || !read_file(task, tid, "comm", text, sizeof text))
        return;
    text[strcspn(text, "\n")] = 0;
    snprintf(t->comm, sizeof t->comm, "%.*s", (int)sizeof t->comm - 1, text);
    t->name = spool_intern(out, text);
}

static void sample_thread(struct spool *s, struct spool_out *out, int task, const char *tid)
{
    struct row_host_sample h = {.process = s->process,
                                .io_wait_ns = -1,
                                .major_faults = -1,
                                .storage_bytes = -1,
                                .read_bytes = -1};
    if (!read_cpu(task, tid, &h))
        return;
    h.thread = spool_thread_id(s, out, (uint32_t)strtoul(tid, NULL, 10));
    if (h.thread < 0)
        return;
    struct spool_thread *t = &s->threads.at[s->last_thread];
    if (t->sampled && h.cpu_ns == t->cpu_ns)
        return;
    if (!read_waits(task, tid, &h))
        return;
    if (!disk_waits_kept(s))
        h.io_wait_ns = -1;
    read_io(task, tid, &h);
    if (!t->sampled)
        name_thread(out, t, task, tid);
    t->sampled = true;
    t->cpu_ns = h.cpu_ns;
    h.id = ++out->ids[ROW_HOST_SAMPLE];
    h.time_ns = spool_time(s, clock_monotonic_ns());
    spool_put(out, ROW_HOST_SAMPLE, &h);
}

bool spool_samples_often(struct spool *s, int64_t now_ns)
{
    unsigned seen = 1u | (s->devices.n ? 2u : 0) | (s->steps ? 4u : 0);
    if (seen & ~s->seen)
        s->closely_ns = now_ns + closely_for_ns;
    s->seen |= seen;
    return now_ns < s->closely_ns;
}

void spool_sample_host(struct spool *s, struct spool_out *out)
{
    int64_t begin = clock_monotonic_ns(), used = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (begin < s->next_sample_ns)
        return;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", s->fixed.pid);
    DIR *d = opendir(path);
    if (!d)
        return;
    for (struct dirent *f; (f = readdir(d));)
        if (f->d_name[0] >= '1' && f->d_name[0] <= '9')
            sample_thread(s, out, dirfd(d), f->d_name);
    closedir(d);
    bool closely = spool_samples_often(s, begin);
    int64_t least = closely ? CLOSE_NS : SAMPLE_NS;
    int64_t pause =
        (clock_ns(CLOCK_THREAD_CPUTIME_ID) - used) * (closely ? CLOSE_COST_SHARE : COST_SHARE);
    s->next_sample_ns = begin + (pause > least ? pause : least);
}
