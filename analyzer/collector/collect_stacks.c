/* Turns the sampler's samples of Python's stacks into rows. */
#include "analyzer/collector/collect_state.h"

#include "analyzer/sampler/sampler.h"
#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DEEPEST = 1024 };

_Static_assert((int)SAMPLE_ASLEEP == (int)STACK_ASLEEP &&
                   (int)SAMPLE_RUNNING == (int)STACK_RUNNING &&
                   (int)SAMPLE_READY == (int)STACK_READY && (int)SAMPLE_DISK == (int)STACK_DISK,
               "the sampler's states are written as they are");

void collect_stacks(struct collector *c, const char *hidden_folder)
{
    if (!c->sampler)
        c->sampler = sampler_start(hidden_folder);
}

/* ---- which processes ---- */

static size_t command_of(int pid, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size) : -1;
    if (fd >= 0)
        close(fd);
    return n > 0 ? (size_t)n : 0;
}

/* True for worker processes of multiprocessing: a forked one has its parent's command line, a
 * spawned one says what it is. */
static bool is_helper(const struct collector *c, const struct spool *s)
{
    static const char spawned[] = "--multiprocessing-fork";
    char own[4096], other[4096];
    size_t n = command_of(s->fixed.pid, own, sizeof own);
    if (memmem(own, n, spawned, sizeof spawned - 1))
        return true;
    for (size_t i = 0; n && i < c->spools.n; i++)
        if (c->spools.at[i] != s && c->spools.at[i]->fixed.pid == s->fixed.ppid)
            return command_of(s->fixed.ppid, other, sizeof other) == n && !memcmp(own, other, n);
    return false;
}

void collect_stacks_begin(struct collector *c, const struct spool *s)
{
    if (c->sampler)
        sampler_follow(c->sampler, s->fixed.pid, s->process, is_helper(c, s));
}

/* ---- rows ---- */

/* Id of a frame's row; adds it, and those of its callers, if they are new. 0: out of memory. */
static int64_t stack_row(struct collector *c, uint32_t stack)
{
    uint32_t new[DEEPEST];
    size_t n = 0;
    int64_t row = 0;
    while (c->stack_rows.n <= stack)
        if (!vec_push(&c->stack_rows))
            return 0;
    for (; stack && !(row = c->stack_rows.at[stack]) && n < DEEPEST;
         stack = sampler_frame(c->sampler, stack).caller)
        new[n++] = stack;
    while (n-- > 0) {
        struct stack_frame f = sampler_frame(c->sampler, new[n]);
        struct row_stack r = {.id = ++c->out.ids[ROW_STACK],
                              .caller = row,
                              .file = spool_intern(&c->out, f.file),
                              .function = spool_intern(&c->out, f.function),
                              .line = f.line,
                              .source = spool_source(&c->out, f.file, f.line)};
        spool_put(&c->out, ROW_STACK, &r);
        c->stack_rows.at[new[n]] = row = r.id;
    }
    return row;
}

static struct spool *spool_of(const struct collector *c, int64_t process)
{
    for (size_t i = 0; i < c->spools.n; i++)
        if (c->spools.at[i]->process == process)
            return c->spools.at[i];
    return NULL;
}

static void put_sample(struct collector *c, struct spool *s, const struct sample *from)
{
    struct row_stack_sample r = {.process = s->process,
                                 .start_ns = spool_time(s, from->start_ns),
                                 .end_ns = spool_time(s, from->end_ns),
                                 .looks = from->looks,
                                 .state = from->state};
    if (!spool_in_window(&c->out, r.start_ns, false))
        return;
    r.thread = spool_thread_id(s, &c->out, (uint32_t)from->tid);
    r.call = spool_intern(&c->out, from->call);
    r.stack = stack_row(c, from->stack);
    r.id = ++c->out.ids[ROW_STACK_SAMPLE];
    spool_put(&c->out, ROW_STACK_SAMPLE, &r);
}

static void put_stacks(struct collector *c, bool all)
{
    struct samples taken = {0};
    sampler_take(c->sampler, &taken, all);
    for (size_t i = 0; i < taken.n; i++) {
        struct spool *s = spool_of(c, taken.at[i].process);
        struct spool *before = c->out.from;
        if (!s)
            continue;
        c->out.from = s;
        put_sample(c, s, &taken.at[i]);
        c->out.from = before;
    }
    vec_release(&taken);
}

void collect_put_stacks(struct collector *c)
{
    if (!c->sampler)
        return;
    int64_t now_ns = clock_monotonic_ns() - c->start_ns;
    for (size_t i = 0; i < c->spools.n; i++) {
        const struct spool *s = c->spools.at[i];
        if (s->done)
            continue;
        if (s->steps || s->devices.n || s->has_loader)
            sampler_works(c->sampler, s->process);
        sampler_rest(c->sampler, s->process, spool_rests(s, now_ns));
    }
    put_stacks(c, false);
}

/* ---- ends ---- */

/* Reports once per run why stacks could not be sampled, however many processes it has. */
static void put_trouble(struct collector *c)
{
    if (c->unreadable)
        collect_health(c, 0, "no-samples",
                       "the kernel does not let gpuprof read the stacks of Python (another user's "
                       "process, kernel.yama.ptrace_scope, or a container's seccomp profile): "
                       "time by line is missing",
                       c->unreadable);
    if (c->unknown)
        collect_health(c, 0, "no-samples",
                       "gpuprof cannot read the stacks of this Python (it knows CPython 3.9 to "
                       "3.14 with a GIL): time by line is missing",
                       c->unknown);
}

void collect_stacks_end(struct collector *c, struct spool *s)
{
    if (!c->sampler)
        return;
    enum sampler_trouble trouble = sampler_trouble(c->sampler, s->process);
    c->unreadable += trouble == SAMPLER_FORBIDDEN;
    c->unknown += trouble == SAMPLER_UNKNOWN;
    sampler_forget(c->sampler, s->process);
    put_stacks(c, false);
}

void collect_stacks_stop(struct collector *c)
{
    if (!c->sampler)
        return;
    int64_t cpu_ns = sampler_cpu_ns(c->sampler);
    put_trouble(c);
    if (c->out.ids[ROW_STACK_SAMPLE]) {
        struct row_health h = {
            ++c->out.ids[ROW_HEALTH],
            0,
            0,
            spool_intern(&c->out, "sampler-cpu"),
            spool_intern(&c->out, "nanoseconds that gpuprof used, outside of the program, to "
                                  "sample its Python stacks"),
            cpu_ns};
        spool_put(&c->out, ROW_HEALTH, &h);
    }
    sampler_stop(c->sampler);
    c->sampler = NULL;
    vec_release(&c->stack_rows);
}
