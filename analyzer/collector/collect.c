/* The collector: drains all spools, and finishes those of ended processes. See collect.h. A drain
 * lists the folder once, and takes a few microseconds per idle process. */
#include "analyzer/collector/collect_state.h"
#include "analyzer/collector/stuck.h"

#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct collector *collect_open(const char *dir, int64_t start_monotonic_ns, struct sink out,
                               struct err *e)
{
    struct collector *c = calloc(1, sizeof *c);
    if (!c || !(c->dir = strdup(dir))) {
        free(c);
        err_set(e, "out of memory");
        return NULL;
    }
    c->meeting = c->dir;
    gethostname(c->host, sizeof c->host - 1);
    c->start_ns = start_monotonic_ns;
    c->sink = out;
    c->out = (struct spool_out){.sink = &c->sink,
                                .e = &c->first,
                                .unsafe_ns = INT64_MAX,
                                .sources = {.start_ns = start_monotonic_ns}};
    return c;
}

void collect_limit(struct collector *c, int64_t max_bytes, int64_t (*bytes)(void *self), void *self)
{
    c->out.limit = (struct spool_limit){.bytes = bytes, .self = self, .max_bytes = max_bytes};
}

void collect_meet(struct collector *c, const char *folder)
{
    c->meeting = folder;
}

void collect_virtual_gauges(struct collector *c, const char *library)
{
    c->virtual_nvml = library;
}

void collect_times(struct collector *c, const struct collect_times *t)
{
    spool_times_begin(&c->out.times, t->delay_ns, t->duration_ns, t->every_ns, t->window_ns);
}

bool collect_knows(const struct collector *c, const char *path)
{
    for (size_t i = 0; i < c->spools.n; i++)
        if (c->spools.at[i]->path && strcmp(c->spools.at[i]->path, path) == 0)
            return true;
    return false;
}

/* True if the file's name is something followed by the suffix. */
bool collect_is_file_of(const char *file, const char *suffix)
{
    return str_ends_with(file, suffix) && strlen(file) > strlen(suffix);
}

static void add_spool(struct collector *c, const char *path)
{
    struct spool *s = malloc(sizeof *s);
    struct err e = ERR_INIT;
    int rc = s ? spool_open(s, path, &e) : SPOOL_LATER;
    struct spool **slot = rc == 0 ? vec_push(&c->spools) : NULL;
    if (!slot) {
        if (rc == 0)
            spool_close(s);
        free(s);
        c->put_off += rc == SPOOL_LATER;
        if (rc < 0) { /* the file is no spool: remove it, so that it is not read again */
            c->bad_files++;
            unlink(path);
        }
        return;
    }
    s->start_ns = c->start_ns;
    *slot = s;
    if (!collect_find_state(c, s)) {
        s->process = ++c->out.ids[ROW_PROCESS];
        c->processes++;
    }
    collect_stacks_begin(c, s);
}

void collect_health(struct collector *c, int64_t process, const char *code, const char *text,
                    int64_t value)
{
    struct row_health h = {++c->out.ids[ROW_HEALTH],    process, 1, spool_intern(&c->out, code),
                           spool_intern(&c->out, text), value};
    spool_put(&c->out, ROW_HEALTH, &h);
}

/* Adds a health row for a process that could not create its spool; `why` is its errno. */
static void note_no_spool(struct collector *c, int64_t why)
{
    const char *text = "gpuprof could not record a process: no room for its spool (errno in value)";
    if (why == EFBIG)
        text =
            "gpuprof could not record a process: no room for its spool, because its files may not "
            "be so large (ulimit -f)";
    else if (why == ENOMEM)
        text = "gpuprof could not record a process: no room for its spool, because its memory may "
               "not be so large (ulimit -v)";
    else if (why == ENOSPC)
        text =
            "gpuprof could not record a process: no room for its spool, because the disk is full";
    collect_health(c, 0, "no-spool", text, why);
}

static void look_for_new(struct collector *c)
{
    DIR *d = opendir(c->dir);
    if (!d)
        return;
    c->put_off = 0;
    for (struct dirent *f; (f = readdir(d));) {
        char path[4096];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", c->dir, f->d_name) >= sizeof path)
            continue;
        if (collect_is_file_of(f->d_name, SPOOL_FAILED_SUFFIX)) {
            note_no_spool(c, atoll(strchr(f->d_name, '.') + 1));
            unlink(path);
        } else if (collect_is_file_of(f->d_name, SPOOL_SUFFIX) && !collect_knows(c, path)) {
            add_spool(c, path);
        }
    }
    closedir(d);
}

static void note_kinds(struct collector *c, const struct spool *s)
{
    c->has.cupti |= s->h->cupti_version != 0;
    c->has.calls |= s->has_calls;
    c->has.loader |= s->has_loader;
    c->has.events |= s->has_events;
    c->has.device |= s->devices.n > 0;
    c->has.rank |= s->row.rank >= 0;
}

/* When the process ended. If a killed collector is resumed, and so the end was not seen, it is the
 * process' last sign of life, which is at most a second old. */
static int64_t end_of(const struct collector *c, const struct spool *s)
{
    int64_t last = s->newest_ns;
    if (!c->resumed || spool_alive(s))
        return clock_monotonic_ns() - c->start_ns;
    if (s->anchors.n && spool_time(s, s->anchors.at[s->anchors.n - 1].monotonic_ns) > last)
        last = spool_time(s, s->anchors.at[s->anchors.n - 1].monotonic_ns);
    return last;
}

/* Reads the READY buffers. If little of the disk is left, commits the rows of each buffer before it
 * reads the next one. */
static void drain_buffers(struct collector *c, struct spool *s)
{
    struct err ignored = ERR_INIT;
    for (uint32_t n = s->fixed.buffer_count; n > 0; n--)
        if (!spool_drain_buffers(s, &c->out, false) || !s->tight || collect_commit(c, &ignored) < 0)
            return;
}

/* Reads what is left in the spool of a process that has ended, and puts the process' own rows.
 * remove_finished_spool removes the file once its rows are safe. */
void collect_finish_spool(struct collector *c, struct spool *s)
{
    c->out.from = s;
    spool_read_anchors(s);
    spool_drain_rings(s, &c->out);
    drain_buffers(c, s);
    spool_drain_buffers(s, &c->out, true);
    spool_drain_rings(s, &c->out);
    struct stat st;
    s->guard.cut |= stat(s->path, &st) == 0 && (uint64_t)st.st_size < s->size;
    s->row.end_ns = end_of(c, s);
    collect_stacks_end(c, s);
    spool_put_ends(s, &c->out);
    c->out.from = NULL;
    s->changed = true;
    s->done = true;
    s->leader = NULL;
    note_kinds(c, s);
    spool_unmap(s);
}

static bool is_followed(const struct collector *c, const struct spool *s)
{
    for (size_t i = 0; i < c->spools.n; i++)
        if (c->spools.at[i]->leader == s)
            return true;
    return false;
}

/* Frees what is kept of ended processes, because a day of training may start many thousands. Keeps
 * a process whose windows of steps others follow. */
static void forget_done(struct collector *c)
{
    if (c->resumed) /* otherwise the next look at the folder would find their files again */
        return;
    for (size_t i = c->spools.n; i-- > 0;) {
        struct spool *s = c->spools.at[i];
        if (!s->gone || spool_leads(s) || is_followed(c, s))
            continue;
        spool_close(s);
        free(s);
        memmove(&c->spools.at[i], &c->spools.at[i + 1], (--c->spools.n - i) * sizeof s);
    }
}

enum { SPOOLS_SHARE = 2 }; /* the spools may use 1/SPOOLS_SHARE of the largest size */

/* Measures the disk space of the spools, plus a reserve for their growth until the next
 * look. If their share is used up, tells the agents not to grow them: records without space
 * are then counted as lost. */
static void measure_spools(struct collector *c)
{
    int64_t sum = c->out.limit.max_bytes / 16;
    struct stat st;
    for (size_t i = 0; i < c->spools.n && c->out.limit.bytes; i++)
        if (!c->spools.at[i]->done && stat(c->spools.at[i]->path, &st) == 0)
            sum += (int64_t)st.st_blocks * 512;
    c->out.limit.spool_bytes = sum;
    uint32_t full = c->tight || (c->out.limit.bytes && sum > c->out.limit.max_bytes / SPOOLS_SHARE);
    for (size_t i = 0; i < c->spools.n; i++)
        if (!c->spools.at[i]->done && atomic_load(&c->spools.at[i]->h->full) != full)
            atomic_store(&c->spools.at[i]->h->full, full);
}

int64_t collect_drain(struct collector *c, struct err *e)
{
    int64_t before = c->out.rows;
    look_for_new(c);
    collect_look_at_room(c);
    measure_spools(c);
    spool_direct(c->spools.at, c->spools.n, &c->out, clock_monotonic_ns() - c->start_ns);
    for (size_t i = 0; i < c->spools.n; i++) {
        struct spool *s = c->spools.at[i];
        if (s->done)
            continue;
        bool dead = !spool_alive(s); /* asked before reading, so that everything the process wrote
                                        before it died is read */
        if (dead || s->guard.cut) {
            collect_finish_spool(c, s);
            continue;
        }
        c->out.from = s;
        spool_read_anchors(s);
        spool_drain_rings(s, &c->out);
        drain_buffers(c, s);
        c->out.from = NULL;
    }
    collect_put_stacks(c);
    collect_give_back(c);
    forget_done(c);
    if (c->out.failed)
        return err_set(e, "%s", c->first.text);
    return c->out.rows - before;
}

void collect_put_now(struct collector *c)
{
    for (size_t i = 0; i < c->spools.n; i++) {
        struct spool *s = c->spools.at[i];
        if (s->done)
            continue;
        note_kinds(c, s);
        s->row.end_ns = clock_monotonic_ns() - c->start_ns;
        spool_put_ends(s, &c->out);
    }
    collect_put_have(c);
}

int64_t collect_put_meta(struct collector *c, const char *key, const char *value)
{
    struct row_meta m = {++c->out.ids[ROW_META], 0, spool_intern(&c->out, key),
                         spool_intern(&c->out, value)};
    spool_put(&c->out, ROW_META, &m);
    return m.id;
}

int64_t collect_time_ns(const struct collector *c)
{
    return clock_monotonic_ns() - c->start_ns;
}

size_t collect_processes(const struct collector *c)
{
    return c->processes;
}

void collect_close(struct collector *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->spools.n; i++) {
        struct spool *s = c->spools.at[i];
        if (s->path && !c->resumed)
            unlink(s->path);
        spool_close(s);
        free(s);
    }
    vec_release(&c->spools);
    vec_release(&c->out.times.at);
    sources_release(&c->out.sources);
    stuck_show(c, NULL, 0, false);
    collect_stacks_stop(c);
    free(c->dir);
    free(c);
}
