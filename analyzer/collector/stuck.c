/* Whether the program goes on. A rank that has not joined a collective in which others wait may
 * have reason to: it validates, or writes a checkpoint. So it is named when it does nothing: a
 * signal has stopped it, or its threads have used no core for a while and its main thread does not
 * wait for the disk or a driver.
 * What the others do is no sign: a thread that waits for the GPU may spin.
 *
 * How far a rank is on its communicators stands in the spool's header, also while nothing is
 * recorded. Where its host thread is, the kernel tells. */
#include "analyzer/collector/collect_state.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TIMES = 10, FEW_LENGTHS = 4, FEW_STEPS = 8, BUSY_SHARE = 50, MOST = 256 };
static const int64_t look_ns = 1000000000, second_ns = 1000000000;
/* A wait is one from `least` on; without step marks from `unmarked` on. Idle for so long, a rank
 * does nothing. Not looked for so long, we were suspended, perhaps with the machine. */
static const int64_t least_ns = 10000000000, unmarked_ns = 30000000000, idle_ns = 5000000000,
                     suspended_ns = 5000000000;

/* ---- one process ---- */

static size_t read_proc(int pid, const char *name, char *text, size_t n)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, n - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    return strlen(text);
}

static char state_of(int pid)
{
    char text[512];
    read_proc(pid, "stat", text, sizeof text);
    const char *end = strrchr(text, ')');
    return (char)(end && end[1] == ' ' ? end[2] : 0);
}

static bool is_stopped(char state)
{
    return state == 'T' || state == 't';
}

static const char *call_name(long number)
{
    static const struct {
        long number;
        const char *name;
    } calls[] = {{SYS_futex, "futex: a lock, or another thread"},
                 {SYS_read, "read"},
                 {SYS_recvfrom, "recvfrom: the network"},
                 {SYS_recvmsg, "recvmsg: the network"},
                 {SYS_ppoll, "ppoll"},
                 {SYS_epoll_pwait, "epoll_wait"},
                 {SYS_ioctl, "ioctl: a driver"},
                 {SYS_nanosleep, "nanosleep"},
                 {SYS_clock_nanosleep, "clock_nanosleep"},
                 {SYS_wait4, "wait4: a child process"},
                 {SYS_waitid, "waitid: a child process"},
                 {SYS_sched_yield, "sched_yield: it spins"},
#ifdef SYS_poll
                 {SYS_poll, "poll"},
                 {SYS_select, "select"},
                 {SYS_epoll_wait, "epoll_wait"},
#endif
                 {SYS_pselect6, "select"},
                 {SYS_write, "write"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].number == number)
            return calls[i].name;
    return NULL;
}

/* Where the main thread is, as the kernel tells. */
static void where(int pid, char *out, size_t n)
{
    char text[256], *end;
    char state = state_of(pid);
    if (state == 'T') {
        snprintf(out, n, "a signal has stopped it (kill -CONT %d lets it go on)", pid);
    } else if (state == 't') {
        snprintf(out, n, "a debugger holds it");
    } else if (state == 'R') {
        snprintf(out, n, "its main thread runs");
    } else {
        read_proc(pid, "syscall", text, sizeof text);
        long number = strtol(text, &end, 10);
        const char *name = end != text ? call_name(number) : NULL;
        if (!name && read_proc(pid, "wchan", text, sizeof text) && strcmp(text, "0") != 0)
            name = text;
        snprintf(out, n, "its main thread %s%s%s%s",
                 state == 'D' ? "waits for the disk or a driver" : "waits",
                 name ? " in the kernel (" : "", name ? name : "", name ? ")" : "");
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The median of recent steps; 0 = too few are known. */
static int64_t usual_ns(const struct spool_pace *p)
{
    int64_t sorted[SPOOL_PACES];
    size_t n = p->lengths < SPOOL_PACES ? p->lengths : SPOOL_PACES;
    if (n < FEW_LENGTHS || p->steps < FEW_STEPS)
        return 0;
    memcpy(sorted, p->length_ns, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    return sorted[n / 2];
}

static void look_at_process(struct spool *s, int64_t now)
{
    struct spool_pace *p = &s->pace;
    int64_t steps = (int64_t)atomic_load(&s->h->steps), cpu = 0;
    if (steps > p->steps) {
        if (p->changed_ns && p->steps)
            p->length_ns[p->lengths++ % SPOOL_PACES] = (now - p->changed_ns) / (steps - p->steps);
        p->steps = steps;
        p->changed_ns = now;
    }
    for (size_t i = 0; i < s->threads.n; i++)
        cpu += s->threads.at[i].cpu_ns;
    bool busy = !p->looked_ns || cpu - p->cpu_ns > (now - p->looked_ns) / BUSY_SHARE;
    char state = busy ? 'R' : state_of(s->fixed.pid);
    if (busy || state == 'D')
        p->busy_ns = now;
    if (is_stopped(state))
        p->stopped_ns = now;
    p->cpu_ns = cpu;
    p->looked_ns = now;
}

/* ---- ranks of one communicator ---- */

struct place {
    struct spool *s;
    uint64_t comm, begun;
    int64_t begun_ns;
    int32_t rank;
    uint32_t function;
    bool in_pairs, inside;
};

struct places {
    struct place at[MOST];
    size_t n;
};

static void find_places(struct spool *s, struct places *p)
{
    for (int i = 0; i < SPOOL_COMMS && p->n < MOST; i++) {
        const struct spool_comm *e = &s->h->comms[i];
        struct place x = {.s = s, .comm = atomic_load(&e->comm)};
        x.begun = atomic_load_explicit(&e->begun, memory_order_acquire);
        x.inside = x.begun > atomic_load(&e->ended);
        x.begun_ns = atomic_load(&e->begun_ns);
        x.begun_ns = x.begun_ns > 0 ? x.begun_ns : 0; /* a damaged one */
        x.rank = s->row.rank >= 0 ? (int32_t)s->row.rank : atomic_load(&e->rank);
        x.function = atomic_load(&e->function);
        x.in_pairs = atomic_load(&e->in_pairs) != 0;
        if (x.comm && x.begun)
            p->at[p->n++] = x;
    }
}

/* Has this rank waited for longer than its steps explain? */
static bool waits_long(const struct collector *c, const struct place *x, int64_t now)
{
    const struct spool_pace *p = &x->s->pace;
    int64_t usual = usual_ns(p), since = x->begun_ns > c->resumed_ns ? x->begun_ns : c->resumed_ns;
    if (p->steps && (!usual || now - p->changed_ns < TIMES * usual))
        return false;
    return now - since > (p->steps ? least_ns : unmarked_ns) && now - since > TIMES * usual &&
           now - p->stopped_ns > least_ns && !is_stopped(state_of(x->s->fixed.pid));
}

static bool does_nothing(const struct place *x, int64_t now)
{
    const struct spool_pace *p = &x->s->pace;
    bool stopped = is_stopped(state_of(x->s->fixed.pid));
    return stopped || (now - p->busy_ns >= idle_ns && now - p->stopped_ns >= idle_ns);
}

struct wait {
    uint64_t comm, least, most; /* collectives begun */
    int64_t since_ns;           /* the newest of those that wait */
    const struct place *late, *newest;
    size_t late_count, waiting;
};

/* The least and the most that ranks of a communicator have begun; false: not to be compared, or
 * looked at before. */
static bool find_span(const struct places *p, size_t first, struct wait *w)
{
    *w = (struct wait){.comm = p->at[first].comm, .least = UINT64_MAX};
    for (size_t i = 0; i < p->n; i++) {
        const struct place *x = &p->at[i];
        if (x->comm != w->comm)
            continue;
        if (i < first || x->in_pairs)
            return false;
        if (x->begun >= w->most)
            w->newest = x;
        w->least = x->begun < w->least ? x->begun : w->least;
        w->most = x->begun > w->most ? x->begun : w->most;
    }
    return true;
}

/* True when some wait for others that do nothing. Where all have begun the same collectives, a rank
 * that is stopped may still keep the newest from its end: then steps tell that others wait. */
static bool find_wait(const struct collector *c, const struct places *p, size_t first, int64_t now,
                      struct wait *w)
{
    if (!find_span(p, first, w))
        return false;
    bool level = w->least == w->most;
    for (size_t i = first; i < p->n; i++) {
        const struct place *x = &p->at[i];
        if (x->comm != w->comm)
            continue;
        if (level ? is_stopped(state_of(x->s->fixed.pid)) : x->begun == w->least) {
            if (!does_nothing(x, now))
                return false;
            w->late_count++;
            w->late = x;
            continue;
        }
        if (!waits_long(c, x, now) || (level && !x->s->pace.steps))
            return false;
        w->waiting++;
        w->since_ns = x->begun_ns > w->since_ns ? x->begun_ns : w->since_ns;
    }
    return w->late_count && w->waiting;
}

static void rank_name(const struct place *x, char *out, size_t n)
{
    if (x->rank >= 0)
        snprintf(out, n, "rank %d (process %d)", (int)x->rank, (int)x->s->fixed.pid);
    else
        snprintf(out, n, "process %d", (int)x->s->fixed.pid);
}

static void function_name(const struct place *x, char *out, size_t n)
{
    spool_copy_string(x->s, x->function, out, n);
    if (!*out)
        snprintf(out, n, "a collective");
}

static void describe(const struct wait *w, int64_t now, char *line, size_t n)
{
    char late[64], function[64], place[320], more[48] = "";
    rank_name(w->late, late, sizeof late);
    function_name(w->newest, function, sizeof function);
    where(w->late->s->fixed.pid, place, sizeof place);
    if (w->late_count > 1)
        snprintf(more, sizeof more, ", and %zu more like it,", w->late_count - 1);
    double waited_s = (double)(now - w->since_ns) / (double)second_ns;
    if (w->least == w->most)
        snprintf(line, n,
                 "%s%s has begun %s, collective %" PRIu64 " of a communicator, but no rank has "
                 "begun another for %.0f s: %s",
                 late, more, function, w->most, waited_s, place);
    else
        snprintf(line, n,
                 "%s%s has not joined collective %" PRIu64 " of a communicator, for which %zu "
                 "other rank%s waited for %.0f s (%s, number %" PRIu64 "): %s",
                 late, more, w->least + 1, w->waiting, w->waiting == 1 ? " has" : "s have",
                 waited_s, function, w->most, place);
}

/* ---- all ---- */

static void find_all(struct collector *c, struct places *p)
{
    p->n = 0;
    for (size_t i = 0; i < c->spools.n; i++)
        if (!c->spools.at[i]->done && c->spools.at[i]->h)
            find_places(c->spools.at[i], p);
}

/* Once a second. What happened while we were suspended, perhaps with the machine, is no sign. */
static void look_at_all(struct collector *c, int64_t now)
{
    if (c->looked_ns && now - c->looked_ns > suspended_ns)
        c->resumed_ns = now;
    for (size_t i = 0; i < c->spools.n; i++) {
        struct spool *s = c->spools.at[i];
        if (s->done || !s->h)
            continue;
        look_at_process(s, now);
        if (c->resumed_ns == now)
            s->pace.busy_ns = s->pace.changed_ns = now;
    }
    c->looked_ns = now;
}

bool collect_stuck(struct collector *c, char *line, size_t n)
{
    struct places p;
    struct wait w;
    int64_t now = collect_now_ns();
    if (now - c->looked_ns < look_ns)
        return false;
    look_at_all(c, now);
    find_all(c, &p);
    for (size_t i = 0; i < p.n; i++) {
        if (!find_wait(c, &p, i, now, &w) || (w.comm == c->told_comm && w.least == c->told_begun))
            continue;
        c->told_comm = w.comm;
        c->told_begun = w.least;
        describe(&w, now, line, n);
        collect_health(c, w.late->s->process, "stuck", line, (now - w.since_ns) / second_ns);
        return true;
    }
    return false;
}

static void describe_process(const struct spool *s, const struct places *p, int64_t now, char *line,
                             size_t n)
{
    const struct spool_pace *pace = &s->pace;
    char place[320];
    int used = snprintf(line, n, "process %d", (int)s->fixed.pid);
    if (s->row.rank >= 0)
        used = snprintf(line, n, "rank %d (process %d)", (int)s->row.rank, (int)s->fixed.pid);
    where(s->fixed.pid, place, sizeof place);
    if (pace->steps)
        used += snprintf(line + used, n - (size_t)used, ": step %" PRId64 " for %.0f s",
                         pace->steps, (double)(now - pace->changed_ns) / (double)second_ns);
    if (usual_ns(pace))
        used += snprintf(line + used, n - (size_t)used, " (usually %.3g s)",
                         (double)usual_ns(pace) / (double)second_ns);
    for (size_t i = 0; i < p->n && (size_t)used + 200 < n; i++) {
        char function[64];
        if (p->at[i].s != s)
            continue;
        function_name(&p->at[i], function, sizeof function);
        used += snprintf(line + used, n - (size_t)used, "; %s %s, collective %" PRIu64,
                         p->at[i].inside ? "in" : "after", function, p->at[i].begun);
    }
    snprintf(line + used, n - (size_t)used, "; %s", place);
}

void collect_status(struct collector *c, void (*tell)(void *self, const char *line), void *self)
{
    struct places p;
    struct wait w;
    char line[1024];
    int64_t now = collect_now_ns();
    find_all(c, &p);
    for (size_t i = 0; i < c->spools.n; i++) {
        const struct spool *s = c->spools.at[i];
        bool counts = !s->done && s->h && s->pace.steps;
        for (size_t k = 0; k < p.n; k++)
            counts |= p.at[k].s == s;
        if (!counts)
            continue;
        describe_process(s, &p, now, line, sizeof line);
        tell(self, line);
    }
    for (size_t i = 0; i < p.n; i++)
        if (find_wait(c, &p, i, now, &w)) {
            describe(&w, now, line, sizeof line);
            tell(self, line);
        }
}
