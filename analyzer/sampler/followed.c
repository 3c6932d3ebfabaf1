/* Samples one process: finds its Python, keeps the list of its threads, and
 * looks at each of them. */
#include "analyzer/sampler/followed.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES = 128, THREADS = 64, TRIES = 20, FAILURES = 50 };
static const int64_t list_every_ns = 100000000;

/* ---- samples ---- */

static void put(struct samples *done, const struct sample *s)
{
    struct sample *to = vec_push(done);
    if (to)
        *to = *s;
}

/* Distinguishes running from ready: for both the kernel says R. The thread's clocks before and
 * after the look show which of both it did for longer. */
static void decide_running_or_ready(struct followed_thread *t, const struct proc_look *now)
{
    if (t->sample.state == SAMPLE_RUNNING && now->turns >= 0 &&
        now->queue_ns - t->before.queue_ns > now->cpu_ns - t->before.cpu_ns)
        t->sample.state = SAMPLE_READY;
}

static void end_sample(struct followed_thread *t, const struct proc_look *now, struct samples *done)
{
    if (!t->sampled)
        return;
    decide_running_or_ready(t, now);
    put(done, &t->sample);
    t->sampled = false;
}

static uint8_t state_of(char state)
{
    return state == 'R' ? SAMPLE_RUNNING : state == 'D' ? SAMPLE_DISK : SAMPLE_ASLEEP;
}

/* True if the thread has not had a core since the last look: its stack is the same.
 * It may have been woken. */
static bool stands_still(const struct followed_thread *t, const struct proc_look *now)
{
    return t->sampled && now->turns >= 0 && now->turns == t->last.turns &&
           t->sample.state != SAMPLE_RUNNING;
}

/* Counts one more look for the thread's sample; begins a new sample if its state changed. */
static void prolong(struct followed_thread *t, const struct proc_look *now, int64_t now_ns,
                    struct samples *done)
{
    uint8_t state = now->state == 'R' ? SAMPLE_READY : state_of(now->state);
    if (state != t->sample.state) {
        struct sample next = t->sample;
        end_sample(t, now, done);
        next.state = state;
        next.start_ns = now_ns;
        next.looks = 0;
        t->sample = next;
        t->sampled = true;
    }
    t->sample.end_ns = now_ns;
    t->sample.looks++;
}

/* True if the thread's outermost function was seen before. A stack that changed while it was read
 * mostly ends in another function than the thread's own; so a new outermost function is remembered,
 * but does not count the first time. */
static bool seen_outermost_before(struct followed_thread *t, uint64_t code)
{
    for (int i = 0; i < ROOTS; i++)
        if (t->root[i] == code)
            return true;
    t->root[t->next_root++ % ROOTS] = code;
    return false;
}

/* Looks at a thread once. If it has had no core since the last look, its stack is the same, and its
 * sample goes on. Otherwise the sample ends, and the stack is read for a new one. */
static void look_at(struct followed *f, struct followed_thread *t, struct stacks *stacks,
                    struct samples *done)
{
    struct pyframe frames[FRAMES];
    struct proc_look now;
    int64_t now_ns = clock_monotonic_ns();
    if (!proc_look(&t->proc, &now)) {
        t->listed = false;
        return;
    }
    if (stands_still(t, &now)) {
        prolong(t, &now, now_ns, done);
    } else {
        int n = pyframes_walk(f->frames, &t->py, frames, FRAMES);
        end_sample(t, &now, done);
        f->walks += n >= 0;
        f->failed = n < 0 ? f->failed + 1 : 0;
        if (n > 0 && seen_outermost_before(t, frames[n - 1].code)) {
            uint8_t state = state_of(now.state);
            t->sample = (struct sample){
                .process = f->process,
                .tid = t->py.tid,
                .start_ns = now_ns,
                .end_ns = now_ns,
                .looks = 1,
                .state = state,
                .call = state == SAMPLE_RUNNING ? "" : proc_call(f->pid, t->py.tid),
                .stack = stacks_add(stacks, frames, (size_t)n),
            };
            t->sampled = true;
        }
    }
    t->before = t->last;
    t->last = now;
}

/* ---- threads ---- */

static struct followed_thread *find_thread(struct followed *f, const struct pythread *p)
{
    for (size_t i = 0; i < f->threads.n; i++)
        if (f->threads.at[i].py.tid == p->tid && f->threads.at[i].py.state == p->state)
            return &f->threads.at[i];
    return NULL;
}

static void add_thread(struct followed *f, const struct pythread *p)
{
    struct followed_thread *t = find_thread(f, p);
    struct proc_thread proc;
    if (t) {
        t->listed = true;
        return;
    }
    if (!proc_open(&proc, f->pid, p->tid))
        return;
    if (!(t = vec_push(&f->threads))) {
        proc_close(&proc);
        return;
    }
    t->py = *p;
    t->proc = proc;
    t->listed = true;
}

static void drop_unlisted(struct followed *f, struct samples *done)
{
    for (size_t i = f->threads.n; i-- > 0;) {
        struct followed_thread *t = &f->threads.at[i];
        if (t->listed)
            continue;
        end_sample(t, &t->last, done);
        proc_close(&t->proc);
        *t = f->threads.at[--f->threads.n];
    }
}

static void list_threads(struct followed *f, struct samples *done)
{
    struct pythread list[THREADS];
    size_t n = pyframes_threads(f->frames, list, THREADS);
    for (size_t i = 0; i < f->threads.n; i++)
        f->threads.at[i].listed = false;
    for (size_t i = 0; i < n; i++)
        add_thread(f, &list[i]);
    drop_unlisted(f, done);
}

/* ---- process ---- */

static bool find_python(struct followed *f)
{
    if (f->frames)
        return true;
    enum pyframes_result r = pyframes_open(&f->frames, f->pid);
    f->tries++;
    if (r == PYFRAMES_FORBIDDEN || r == PYFRAMES_UNKNOWN)
        f->trouble = r == PYFRAMES_FORBIDDEN ? SAMPLER_FORBIDDEN : SAMPLER_UNKNOWN;
    f->over = f->trouble != SAMPLER_FINE || (!f->frames && f->tries > TRIES);
    return f->frames != NULL;
}

void followed_look(struct followed *f, struct stacks *stacks, int64_t now_ns, struct samples *done)
{
    if (!find_python(f)) {
        f->next_ns = now_ns + list_every_ns;
        return;
    }
    if (now_ns >= f->list_ns || f->threads.n == 0) {
        list_threads(f, done);
        f->list_ns = now_ns + list_every_ns;
    }
    for (size_t i = 0; i < f->threads.n; i++)
        look_at(f, &f->threads.at[i], stacks, done);
    drop_unlisted(f, done);
    if (f->walks == 0 && f->failed > FAILURES) {
        f->trouble = pyframes_forbidden(f->frames) ? SAMPLER_FORBIDDEN : SAMPLER_UNKNOWN;
        f->over = true;
    }
}

int64_t followed_pause(const struct followed *f, int64_t now_ns, int64_t usual_ns, int64_t share)
{
    int64_t least = f->cost_ns * share;
    bool spent = (f->spent_ns + f->cost_ns) * share > now_ns - f->since_ns;
    return spent && least > usual_ns ? least : usual_ns;
}

void followed_flush(struct followed *f, struct samples *done)
{
    for (size_t i = 0; i < f->threads.n; i++)
        end_sample(&f->threads.at[i], &f->threads.at[i].last, done);
}

void followed_release(struct followed *f)
{
    for (size_t i = 0; i < f->threads.n; i++)
        proc_close(&f->threads.at[i].proc);
    vec_release(&f->threads);
    pyframes_close(f->frames);
}
