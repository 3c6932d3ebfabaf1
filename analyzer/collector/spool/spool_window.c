/* Windows of the run that are recorded in full. By steps: the agent opens and closes them, and
 * records them in the spool's header; processes that count no steps (workers) follow one that does.
 * By time: the collector plans them. A row belongs to the window in which it began. Rows of the GPU
 * belong to it for a while after its end, because the GPU works through its queue. */
#include "analyzer/collector/spool/spool.h"

#include "base/clock.h"

#include <stdlib.h>
#include <time.h>

static const int64_t tail_min_ns = 50000000, tail_max_ns = 2000000000;

int64_t spool_tail_ns(int64_t length_ns)
{
    int64_t tail_ns = length_ns / 2;
    return tail_ns < tail_min_ns ? tail_min_ns : tail_ns > tail_max_ns ? tail_max_ns : tail_ns;
}

/* ---- by steps ---- */

static int64_t profile_time(const struct spool *s, int64_t ns)
{
    return ns == INT64_MAX ? ns : spool_time(s, ns);
}

void spool_read_windows(struct spool *s)
{
    if (s->fixed.window == SPOOL_WINDOWS_ALL || !s->h)
        return;
    s->windows_read_ns = spool_time(s, clock_monotonic_ns());
    uint32_t head = atomic_load_explicit(&s->h->windows_head, memory_order_acquire);
    /* the last one known may have been closed since */
    uint32_t i = s->windows_seen ? s->windows_seen - 1 : 0;
    if (head - i > SPOOL_WINDOWS)
        i = head - SPOOL_WINDOWS; /* the oldest were overwritten before the collector read them */
    for (; i != head; i++) {
        const struct spool_window *w = &s->h->windows[i % SPOOL_WINDOWS];
        struct row_recorded *r = i < s->windows_seen && s->windows.n
                                     ? &s->windows.at[s->windows.n - 1]
                                     : vec_push(&s->windows);
        if (!r)
            return;
        r->process = s->process;
        r->start_ns = profile_time(s, atomic_load(&w->from_ns));
        r->end_ns = profile_time(s, atomic_load_explicit(&w->to_ns, memory_order_acquire));
        r->gpu_start_ns = -1;
        r->gpu_end_ns = profile_time(s, atomic_load(&w->gpu_to_ns));
        r->first_step =
            s->fixed.window == SPOOL_WINDOWS_PROFILER ? -1 : (int64_t)atomic_load(&w->first_step);
    }
    s->changed |= s->windows_seen != head;
    s->windows_seen = head;
}

bool spool_whole(const struct spool *s)
{
    if (s->fixed.window != SPOOL_WINDOWS_STEADY)
        return s->fixed.window == SPOOL_WINDOWS_ALL;
    return !s->windows.n || (s->windows.n == 1 && s->windows.at[0].end_ns == INT64_MAX);
}

/* ---- by time ---- */

void spool_times_add(struct spool_times *t, int64_t from_ns, int64_t length_ns)
{
    struct row_recorded *r = from_ns < t->until_ns ? vec_push(&t->at) : NULL;
    if (!r)
        return;
    int64_t end_ns = length_ns < t->until_ns - from_ns ? from_ns + length_ns : t->until_ns;
    int64_t gpu_end_ns = end_ns == INT64_MAX ? end_ns : end_ns + spool_tail_ns(end_ns - from_ns);
    *r = (struct row_recorded){.start_ns = from_ns,
                               .end_ns = end_ns,
                               .gpu_start_ns = from_ns > 0 ? -1 : 0,
                               .gpu_end_ns = gpu_end_ns,
                               .first_step = -1};
}

void spool_times_begin(struct spool_times *t, int64_t delay_ns, int64_t duration_ns,
                       int64_t every_ns, int64_t window_ns)
{
    t->every_ns = every_ns;
    t->window_ns = every_ns ? window_ns : INT64_MAX;
    t->until_ns = duration_ns ? delay_ns + duration_ns : INT64_MAX;
    if (delay_ns || duration_ns || every_ns)
        spool_times_add(t, delay_ns, t->window_ns);
}

void spool_times_advance(struct spool_times *t, int64_t now_ns, uint32_t thin)
{
    const struct row_recorded *last = t->at.n ? &t->at.at[t->at.n - 1] : NULL;
    if (!last || !t->every_ns || now_ns < last->end_ns)
        return;
    int64_t from_ns = last->start_ns + (t->every_ns << (thin < 16 ? thin : 16));
    spool_times_add(t, from_ns > now_ns ? from_ns : now_ns, t->window_ns);
}

bool spool_times_open(const struct spool_times *t, int64_t from_ns, int64_t to_ns)
{
    bool open = !t->at.n && !t->asked;
    for (size_t i = t->at.n; i-- > 0 && t->at.at[i].gpu_end_ns > from_ns;)
        open |= t->at.at[i].start_ns < to_ns;
    return open;
}

/* ---- both ---- */

/* True if one of the windows contains ns. Searches from the newest, which
 * is asked for most often. */
static bool inside(const struct row_recorded *r, size_t n, int64_t ns, bool gpu)
{
    for (size_t i = n; i-- > 0;) {
        if (ns >= r[i].start_ns && ns < (gpu ? r[i].gpu_end_ns : r[i].end_ns))
            return true;
        if (ns >= r[i].gpu_end_ns)
            return false;
    }
    return false;
}

static struct spool *leader_of(struct spool *s)
{
    return s->leader ? s->leader : s;
}

bool spool_in_window(const struct spool_out *out, int64_t ns, bool gpu)
{
    if ((out->times.at.n || out->times.asked) &&
        !inside(out->times.at.at, out->times.at.n, ns, gpu))
        return false;
    if (!out->from || out->from->fixed.window == SPOOL_WINDOWS_ALL)
        return true;
    struct spool *s = leader_of(out->from);
    if (ns > s->windows_read_ns) /* a window may have been opened since */
        spool_read_windows(s);
    if (spool_whole(s))
        return true;
    return inside(s->windows.at, s->windows.n, ns, gpu);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- silences ---- */

/* a library call that begins this long after CUPTI was last heard lies in the silence */
static const int64_t settle_ns = 500000000;
/* error between CUPTI's clock and the host's, with a margin */
static const int64_t slack_ns = 1000000;

/* Adds or extends a silence. It may have begun at any time since the look
 * before CUPTI was last heard. */
void spool_add_silence(struct spool *s, const struct spool_rec_silent *r)
{
    int64_t heard_ns = spool_time(s, r->head.start_ns);
    struct spool_silence *x = s->silences.n ? &s->silences.at[s->silences.n - 1] : NULL;
    int64_t from_ns = spool_minus(heard_ns, SPOOL_LOOK_NS);
    if (!x || x->start_ns != from_ns) {
        if (s->silences.n >= SPOOL_SILENCES || !(x = vec_push(&s->silences)))
            return;
        x->start_ns = from_ns;
        x->sure = spool_minus(s->last_call_ns, heard_ns) > settle_ns;
        x->stepped = false;
    }
    x->sure |= r->held != 0;
    x->stepped |= r->stepped != 0;
    x->end_ns = profile_time(s, r->head.end_ns);
}

void spool_note_call(struct spool *s, int64_t start_ns)
{
    struct spool_silence *x = s->silences.n ? &s->silences.at[s->silences.n - 1] : NULL;
    if (start_ns > s->last_call_ns)
        s->last_call_ns = start_ns;
    if (x && x->end_ns == INT64_MAX &&
        spool_minus(start_ns, x->start_ns) > SPOOL_LOOK_NS + settle_ns)
        x->sure = true;
}

/* Finds a silence that lasts until the end of the run, from CUPTI's last record on. It counts as
 * not recorded, however short, if a library was called in it (each such call launches work, which
 * CUPTI would report), or if CUPTI never returned its buffers. Returns its length, 0: none. */
static int64_t find_silent_end_ns(struct spool *s, const struct spool_out *out)
{
    struct spool_silence *last = s->silences.n ? &s->silences.at[s->silences.n - 1] : NULL;
    if (!spool_whole(leader_of(s)) || out->times.at.n || out->times.asked || !s->cupti_told)
        return 0;
    /* the agent noticed this silence; its exact begin is known only now */
    if (last && last->end_ns > s->last_record_ns) {
        last->start_ns = least(s->last_record_ns, s->row.end_ns);
        last->sure |= spool_minus(s->last_call_ns, s->last_record_ns) > slack_ns;
        last->end_ns = INT64_MAX;
    } else if (spool_minus(s->last_call_ns, s->last_record_ns) > slack_ns &&
               (last = vec_push(&s->silences))) {
        *last = (struct spool_silence){s->last_record_ns, INT64_MAX, true, false};
    } else {
        return 0;
    }
    return last->sure ? spool_minus(s->row.end_ns, last->start_ns) : 0;
}

/* Sum of the silences worth a warning: those in which the program called a GPU library
 * or made steps. A program that compiles for seconds does not use the GPU; such a
 * silence is not reported. */
static int64_t reported_silences_ns(const struct spool *s)
{
    int64_t ns = 0;
    for (size_t i = 0; i < s->silences.n; i++) {
        const struct spool_silence *x = &s->silences.at[i];
        if (x->sure || x->stepped)
            ns = spool_plus(ns, spool_minus(least(x->end_ns, s->row.end_ns), x->start_ns));
    }
    return ns > 0 ? ns : 0;
}

static int by_start(const void *a, const void *b)
{
    int64_t x = ((const struct spool_silence *)a)->start_ns,
            y = ((const struct spool_silence *)b)->start_ns;
    return (x > y) - (x < y);
}

/* Also treats times in which the clock was set as silences. */
static void add_clock_gaps(struct spool *s)
{
    for (size_t i = 0; i < s->clock_gaps.n; i++) {
        struct spool_silence *x = vec_push(&s->silences);
        if (x)
            *x = (struct spool_silence){s->clock_gaps.at[i].start_ns, s->clock_gaps.at[i].end_ns,
                                        s->cupti_told, false};
    }
    if (s->clock_gaps.n)
        qsort(s->silences.at, s->silences.n, sizeof *s->silences.at, by_start);
}

static bool was_silent(const struct spool *s)
{
    bool sure = false;
    for (size_t i = 0; i < s->silences.n; i++)
        sure |= s->silences.at[i].sure;
    return sure;
}

/* ---- rows ---- */

static void put_one(struct spool *s, struct spool_out *out, struct row_recorded *r)
{
    if (r->end_ns <= r->start_ns)
        return;
    r->id = ++out->ids[ROW_RECORDED];
    r->process = s->process;
    spool_put(out, ROW_RECORDED, r);
}

/* Puts the intersection of two windows, without silences; r is a window of process
 * s. by_time may be NULL. */
static void put_window_overlap(struct spool *s, struct spool_out *out, struct row_recorded r,
                               const struct row_recorded *by_time)
{
    int64_t end_ns = r.end_ns;
    if (by_time) {
        if (by_time->start_ns > r.start_ns) {
            r.start_ns = by_time->start_ns;
            r.gpu_start_ns = by_time->gpu_start_ns;
        }
        end_ns = least(end_ns, by_time->end_ns);
        r.gpu_end_ns = least(r.gpu_end_ns, by_time->gpu_end_ns);
    }
    if (out->limit.left_out) {
        end_ns = least(end_ns, out->limit.from_ns);
        r.gpu_end_ns = least(r.gpu_end_ns, out->limit.from_ns);
    }
    if (r.start_ns <= s->row.start_ns)
        r.start_ns = r.gpu_start_ns = s->row.start_ns;
    if (end_ns < r.end_ns)
        r.first_step = -1; /* it ends within a step */
    r.end_ns = least(end_ns, s->row.end_ns);
    r.gpu_end_ns = least(r.gpu_end_ns, s->row.end_ns);
    for (size_t i = 0; i < s->silences.n; i++) {
        const struct spool_silence *x = &s->silences.at[i];
        if (!x->sure || x->end_ns <= r.start_ns || x->start_ns >= r.end_ns)
            continue;
        struct row_recorded before = r;
        before.end_ns = before.gpu_end_ns = x->start_ns;
        before.first_step = -1;
        put_one(s, out, &before);
        r.start_ns = x->end_ns;
        r.gpu_start_ns = r.first_step = -1;
    }
    put_one(s, out, &r);
}

/* Puts the recorded windows of a process; none if all of it was recorded. */
void spool_put_recorded(struct spool *s, struct spool_out *out)
{
    const struct spool_times *t = &out->times;
    const struct row_recorded all = {.start_ns = s->late_ns ? s->late_ns : s->row.start_ns,
                                     .end_ns = INT64_MAX,
                                     .gpu_start_ns = s->late_ns ? -1 : s->row.start_ns,
                                     .gpu_end_ns = INT64_MAX,
                                     .first_step = -1};
    spool_read_windows(leader_of(s));
    bool gated = !spool_whole(leader_of(s));
    spool_put_loss(s, out, "cupti-silent",
                   "CUPTI reported nothing for seconds while the program continued: another "
                   "profiler in it may have taken over. If the program called GPU libraries "
                   "meanwhile, this time (ms in value) counts as not recorded",
                   reported_silences_ns(s) / 1000000);
    spool_put_loss(
        s, out, "cupti-end",
        "CUPTI reported nothing until the end of the run, although the program continued to use "
        "the GPU: another profiler in it took over, or a signal killed the program before CUPTI "
        "wrote its records. This time (ms in value) counts as not recorded",
        spool_plus(find_silent_end_ns(s, out), 999999) / 1000000);
    add_clock_gaps(s);
    if (!gated && !t->at.n && !t->asked && !out->limit.left_out && !s->late_ns && !was_silent(s))
        return;
    spool_put_steps(s, out);
    const struct spool *l = leader_of(s);
    const struct row_recorded *windows = gated ? l->windows.at : &all;
    size_t n = gated ? l->windows.n : 1;
    for (size_t i = 0; i < n; i++) {
        if (!t->at.n && !t->asked)
            put_window_overlap(s, out, windows[i], NULL);
        for (size_t k = 0; k < t->at.n; k++)
            put_window_overlap(s, out, windows[i], &t->at.at[k]);
    }
}
