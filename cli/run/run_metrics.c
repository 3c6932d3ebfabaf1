/* run --metrics: every few seconds a copy of the recorder analyses the rows of that interval and
 * writes the file, so that the recorder itself never stops reading. */
#include "cli/run/run.h"

#include "analyzer/collector/collect.h"
#include "analyzer/collector/recent.h"
#include "cli/results/live.h"
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 32 << 20 /* bytes of an interval's rows: a quarter of a million */, LOW = 15 };

struct metrics {
    const struct metrics_options *options;
    struct recent *recent;
    pid_t writer; /* the process that writes now; 0: none */
    int64_t next_ns;
    int64_t from_ns; /* begin of the interval, in the profile's time */
};

int metrics_parse(const char *text, char *path, size_t n, double *every_s, struct err *e)
{
    const char *comma = strrchr(text, ',');
    size_t length = strlen(text);
    *every_s = 15;
    if (comma) {
        char *end;
        *every_s = strtod(comma + 1, &end);
        if (end == comma + 1 || (*end && strcmp(end, "s") != 0) ||
            !(*every_s >= 1 && *every_s <= 86400))
            return err_set(e, "--metrics needs FILE or FILE,SECONDS (1 or more), not '%s'", text);
        length = (size_t)(comma - text);
    }
    if (length == 0 || length >= n)
        return err_set(e, "--metrics needs a file's name");
    memcpy(path, text, length);
    path[length] = 0;
    return 0;
}

struct metrics *metrics_open(const struct metrics_options *o, struct sink inner, struct err *e)
{
    struct metrics *m = calloc(1, sizeof *m);
    if (!m || !(m->recent = recent_open(inner, ROOM, e))) {
        free(m);
        err_no_memory(e);
        return NULL;
    }
    m->options = o;
    m->next_ns = clock_monotonic_ns() + (int64_t)(o->every_s * 1e9);
    return m;
}

struct sink metrics_sink(struct metrics *m)
{
    return recent_sink(m->recent);
}

static int pour(void *self, struct sink *to, struct err *e)
{
    return recent_pour(self, to, e);
}

/* Stores the time from which steps count that were marked but not recorded. */
static void put_from(struct collector *c, int64_t from_ns)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, from_ns);
    collect_put_meta(c, "metrics.from_ns", text);
}

static _Noreturn void write_once(struct metrics *m, struct collector *c)
{
    struct err e = ERR_INIT;
    setpriority(PRIO_PROCESS, 0, LOW);
    recent_keep_only(m->recent);
    collect_put_now(c);
    put_from(c, m->from_ns);
    int rc = live_metrics(pour, m->recent, true, m->options->path, &e);
    _exit(rc < 0);
}

static void name_temporary(const struct metrics *m, pid_t pid, char *out, size_t n)
{
    snprintf(out, n, "%s.%d.tmp", m->options->path, (int)pid);
}

/* True if the writer still works. Removes the temporary file of one that died. */
static bool busy(struct metrics *m, int how)
{
    char path[PATH_MAX + 32];
    if (m->writer && waitpid(m->writer, NULL, how) == 0)
        return true;
    if (m->writer) {
        name_temporary(m, m->writer, path, sizeof path);
        unlink(path);
    }
    m->writer = 0;
    return false;
}

void metrics_tick(struct metrics *m, struct collector *c)
{
    int64_t now = clock_monotonic_ns();
    if (now < m->next_ns || busy(m, WNOHANG))
        return;
    m->next_ns = now + (int64_t)(m->options->every_s * 1e9);
    m->writer = fork();
    if (m->writer == 0)
        write_once(m, c);
    if (m->writer < 0)
        m->writer = 0;
    recent_next(m->recent);
    m->from_ns = collect_time_ns(c);
}

void metrics_end_begin(struct metrics *m)
{
    busy(m, 0); /* waits: a late writer would replace the last metrics */
    recent_next(m->recent);
}

int metrics_end(struct metrics *m, struct collector *c, struct err *e)
{
    put_from(c, 0);
    return live_metrics(pour, m->recent, false, m->options->path, e);
}

void metrics_close(struct metrics *m)
{
    if (!m)
        return;
    if (m->writer)
        kill(m->writer, SIGKILL);
    busy(m, 0);
    recent_close(m->recent);
    free(m);
}
