/* The end of a recording: asks the agents that are left to stop, and reads the last of their spools. */
#include "analyzer/collector/collect_state.h"

#include "base/clock.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STOP_WAIT_MS = 600, END_WAIT_MS = 500, LOOK_MS = 20 };

/* Drains until no process records any more, for at most wait_ms of pauses. A process that goes on
 * recording makes each drain long: it gets four times that by the clock. */
static void await_silence(struct collector *c, int wait_ms)
{
    struct err ignored = ERR_INIT;
    bool any = true;
    int64_t until_ns = clock_monotonic_ns() + INT64_C(4000000) * wait_ms;
    for (int ms = 0; any && ms < wait_ms && clock_monotonic_ns() < until_ns; ms += LOOK_MS) {
        any = false;
        for (size_t i = 0; i < c->spools.n; i++) {
            struct spool *s = c->spools.at[i];
            any |= !s->done && spool_alive(s) && !atomic_load(&s->h->passive);
        }
        if (any) {
            nanosleep(&(struct timespec){0, LOOK_MS * 1000000L}, NULL);
            collect_drain(c, &ignored);
        }
    }
}

static int64_t ask_to_stop(struct collector *c)
{
    int64_t live = 0;
    for (size_t i = 0; i < c->spools.n; i++)
        if (!c->spools.at[i]->done && spool_alive(c->spools.at[i])) {
            atomic_store(&c->spools.at[i]->h->control, SPOOL_STOP);
            live++;
        }
    return live;
}

void collect_end_live(struct collector *c)
{
    ask_to_stop(c);
    c->hurried = true;
}

/* Asks the agents of processes that outlive the program to stop, and gives them time to flush. */
static void stop_live(struct collector *c)
{
    int64_t live = ask_to_stop(c);
    if (live)
        collect_health(c, 0, "outlived",
                       "processes continued after the end of the recording: gpuprof did not record "
                       "them from then on",
                       live);
    await_silence(c, live ? STOP_WAIT_MS : 0);
}

/* Removes files of processes that were killed before their spool was ready;
 * these contain nothing. */
static void remove_unready(const struct collector *c)
{
    DIR *d = opendir(c->dir);
    if (!d)
        return;
    for (struct dirent *f; (f = readdir(d));) {
        char path[4096];
        int n = snprintf(path, sizeof path, "%s/%s", c->dir, f->d_name);
        if ((size_t)n < sizeof path && collect_is_file_of(f->d_name, SPOOL_SUFFIX) &&
            !collect_knows(c, path))
            unlink(path);
    }
    closedir(d);
}

int collect_finish(struct collector *c, struct err *e)
{
    struct err ignored = ERR_INIT;
    collect_drain(c, &ignored);
    if (!c->hurried) /* helper processes end a little later, such as Python's fork server */
        await_silence(c, END_WAIT_MS);
    stop_live(c);
    collect_drain(c, &ignored);
    for (size_t i = 0; i < c->spools.n; i++)
        if (!c->spools.at[i]->done)
            collect_finish_spool(c, c->spools.at[i]);
    if (c->put_off)
        collect_health(c, 0, "unread-spool",
                       "gpuprof could not read some processes: no memory or file descriptors left",
                       c->put_off);
    collect_stacks_stop(c);
    if (!c->resumed)
        remove_unready(c);
    if (c->keeper.commit && !c->out.failed)
        collect_commit(c, &ignored); /* the last chance to notice a full disk, which a
                                        health row must report */
    collect_put_have(c);
    collect_put_limit(c);
    if (c->bad_files)
        collect_health(c, 0, "bad-spool",
                       "gpuprof ignored files that are not spools of this version", c->bad_files);
    return c->out.failed ? err_set(e, "%s (%lld rows lost)", c->first.text, (long long)c->out.lost)
                         : 0;
}
