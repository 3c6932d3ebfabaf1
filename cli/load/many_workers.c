/* Summarises many files on all usable cores. Each process takes a share of the files, with as many
 * bytes as the others, and sends the summaries through a pipe. If a process dies or cannot be
 * started, this process summarises its files itself. */
#include "analyzer/reduce/share.h"
#include "cli/load/many.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST_FILES = 8, MOST_WORKERS = 64 };

struct worker {
    pid_t pid; /* 0: there is none */
    int from;  /* pipe from which its summaries come */
    size_t first, end;
};

int many_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static bool put_all(int fd, const void *data, size_t n)
{
    const char *at = data;
    while (n > 0) {
        ssize_t wrote = write(fd, at, n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        at += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

static bool get_all(int fd, void *data, size_t n)
{
    char *at = data;
    while (n > 0) {
        ssize_t got = read(fd, at, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

/* ---- in a worker ---- */

static bool send_file(const struct job *j, const struct job_file *f, int to)
{
    struct err e = ERR_INIT;
    struct bytes b = {0};
    bool good =
        job_put_file(j, f, &b, &e) == 0 && put_all(to, &b.n, sizeof b.n) && put_all(to, b.at, b.n);
    bytes_release(&b);
    return good;
}

static _Noreturn void work(char *const *paths, bool redact, size_t first, size_t end, int to)
{
    struct err e = ERR_INIT;
    struct job j = {.redact = redact};
    bool good = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* without the parent no process would read the summaries */
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = first; good && i < end; i++)
        good = many_add(&j, paths[i], &e) == 0;
    for (size_t i = 0; good && i < j.files.n; i++)
        good = send_file(&j, &j.files.at[i], to);
    _exit(!good);
}

static void start(struct worker *w, char *const *paths, bool redact, size_t first, size_t end)
{
    int ends[2];
    *w = (struct worker){.from = -1, .first = first, .end = end};
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    w->pid = fork();
    if (w->pid == 0) {
        close(ends[0]);
        work(paths, redact, first, end, ends[1]);
    }
    close(ends[1]);
    w->from = ends[0];
    if (w->pid < 0)
        w->pid = 0;
}

/* ---- in this process ---- */

/* Adds the worker's next summary to the job. 1: done; 0: there is none; -1: out of memory. */
static int receive(struct job *j, const struct worker *w)
{
    struct bytes b = {0};
    size_t at = 0;
    if (w->from < 0 || !get_all(w->from, &b.n, sizeof b.n) || b.n > SIZE_MAX / 2)
        return 0;
    b.at = malloc(b.n + 1);
    b.cap = b.n;
    int rc = !b.at ? -1 : get_all(w->from, b.at, b.n) ? job_get_file(j, &b, &at) : 0;
    bytes_release(&b);
    job_spill(j);
    return rc;
}

static int take(struct job *j, struct worker *w, char *const *paths, struct err *e)
{
    int rc = 1;
    size_t i = w->first;
    while (i < w->end && (rc = receive(j, w)) > 0)
        i++;
    for (; rc >= 0 && i < w->end; i++)
        rc = many_add(j, paths[i], e);
    return rc < 0 ? err_no_memory(e) : 0;
}

static void leave(struct worker *w)
{
    int status;
    if (w->from >= 0)
        close(w->from);
    if (w->pid > 0)
        kill(w->pid, SIGKILL); /* it has sent all, or its summaries are not needed */
    while (w->pid > 0 && waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
}

static int64_t *sizes(char *const *paths, size_t n)
{
    int64_t *bytes = malloc((n + 1) * sizeof *bytes);
    for (size_t i = 0; bytes && i < n; i++) {
        struct stat st;
        bytes[i] = stat(paths[i], &st) == 0 ? st.st_size : 0;
    }
    return bytes;
}

int many_add_all(struct job *j, char *const *paths, size_t n, struct err *e)
{
    struct worker workers[MOST_WORKERS];
    size_t cores = (size_t)many_cores(), most = n / LEAST_FILES, processes = cores;
    int64_t *bytes = sizes(paths, n);
    if (!bytes)
        return err_no_memory(e);
    processes = processes < most ? processes : most;
    processes = processes < MOST_WORKERS ? processes : MOST_WORKERS;
    processes = processes ? processes : 1;
    fflush(NULL);
    for (size_t i = 1; i < processes; i++)
        start(&workers[i], paths, j->redact, share_first(bytes, n, i, processes),
              share_first(bytes, n, i + 1, processes));
    size_t own = share_first(bytes, n, 1, processes);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < own; i++)
        rc = many_add(j, paths[i], e);
    for (size_t i = 1; i < processes; i++) {
        if (rc == 0)
            rc = take(j, &workers[i], paths, e);
        leave(&workers[i]);
    }
    free(bytes);
    return rc;
}
