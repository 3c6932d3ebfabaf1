/* The sampler's thread, which decides how often to look at each process: see sampler.h. */
#include "analyzer/sampler/sampler.h"

#include "analyzer/sampler/followed.h"
#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* COST_SHARE: all looks together take at most 1/COST_SHARE of a core; waking up costs extra, and
 * the total must stay below one per cent. Helpers get half of it if there are any. IDLE_NS: pause
 * while no process is followed. SHORTEST_NS: shortest pause. */
enum { IDLE_NS = 100000000, COST_SHARE = 125, SHORTEST_NS = 500000 };

struct sampler {
    pthread_t thread;
    pthread_mutex_t lock; /* protects all members below; not held while the thread sleeps */
    pthread_cond_t changed;
    bool stop;
    uint64_t random;
    int64_t cpu_ns;
    struct stacks stacks;
    struct samples done;
    struct VEC(struct followed) followed;
};

/* A random time between 3/4 and 5/4 of ns. With constant pauses, a loop with steps of 10 ms would
 * always be sampled at the same place. */
static int64_t jittered(struct sampler *s, int64_t ns)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return ns * 3 / 4 + (int64_t)(s->random % (uint64_t)(ns / 2 + 1));
}

/* The pause between two looks at a process, without regard to their cost. 20 samples in the GPU's
 * gaps named the first three lines of 42 programs, so a hundred samples a second are enough in the
 * first minute. A short run needs more, and the samples of a long one must not fill the profile.
 * What a program does while it imports modules matters less. */
static int64_t usual_pause(const struct followed *f, int64_t now_ns)
{
    static const int64_t ms = 1000000, first_ns = 60000 * INT64_C(1000000),
                         long_ns = 600000 * INT64_C(1000000);
    int64_t age = now_ns - f->works_ns;
    if (!f->works_ns)
        return 50 * ms;
    return age < first_ns ? 5 * ms : age < long_ns ? 10 * ms : 40 * ms;
}

static int64_t count_followed(const struct sampler *s, bool helper)
{
    int64_t n = 0;
    for (size_t i = 0; i < s->followed.n; i++)
        n += !s->followed.at[i].over && s->followed.at[i].helper == helper;
    return n;
}

/* Looks at one process and plans the next look. A look costs the CPU time of this thread
 * since the last one, including waking up. Finding a process' Python, which takes some
 * milliseconds once, does not count. */
static void look(struct sampler *s, struct followed *f, int64_t now_ns)
{
    bool known = f->frames != NULL;
    int64_t before = s->cpu_ns, usual = usual_pause(f, now_ns);
    f->next_ns = 0;
    followed_look(f, &s->stacks, now_ns, &s->done);
    s->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (known) {
        f->cost_ns = (f->cost_ns + s->cpu_ns - before) / 2;
        f->spent_ns += s->cpu_ns - before;
    }
    int64_t share =
        COST_SHARE * count_followed(s, f->helper) * (count_followed(s, !f->helper) ? 2 : 1);
    if (!f->next_ns)
        f->next_ns = now_ns + jittered(s, followed_pause(f, now_ns, usual, share));
}

/* Looks at all processes that are due. Returns the time of the next look. */
static int64_t look_at_all(struct sampler *s)
{
    int64_t now_ns = clock_monotonic_ns(), next = now_ns + IDLE_NS;
    for (size_t i = 0; i < s->followed.n; i++) {
        struct followed *f = &s->followed.at[i];
        if (f->over || f->rests)
            continue;
        if (f->next_ns <= now_ns)
            look(s, f, now_ns);
        if (!f->over && f->next_ns < next)
            next = f->next_ns;
    }
    return next > now_ns + SHORTEST_NS ? next : now_ns + SHORTEST_NS;
}

static void *work(void *self)
{
    struct sampler *s = self;
    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        int64_t next = look_at_all(s);
        struct timespec until = {next / 1000000000, next % 1000000000};
        pthread_cond_timedwait(&s->changed, &s->lock, &until);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Starts the thread with all signals blocked: they belong to the recorder's first thread. */
static bool start_thread(struct sampler *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&s->thread, NULL, work, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct sampler *sampler_start(const char *hidden_folder)
{
    struct sampler *s = calloc(1, sizeof *s);
    pthread_condattr_t clock;
    if (!s)
        return NULL;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, &clock);
    pthread_condattr_destroy(&clock);
    s->random = (uint64_t)clock_monotonic_ns() | 1;
    if (stacks_init(&s->stacks, hidden_folder) == 0 && start_thread(s))
        return s;
    stacks_release(&s->stacks);
    free(s);
    return NULL;
}

void sampler_follow(struct sampler *s, pid_t pid, int64_t process, bool helper)
{
    pthread_mutex_lock(&s->lock);
    struct followed *f = vec_push(&s->followed);
    if (f)
        *f = (struct followed){.pid = pid,
                               .process = process,
                               .helper = helper,
                               .since_ns = clock_monotonic_ns(),
                               .works_ns = helper ? clock_monotonic_ns() : 0};
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static struct followed *find(struct sampler *s, int64_t process)
{
    for (size_t i = 0; i < s->followed.n; i++)
        if (s->followed.at[i].process == process)
            return &s->followed.at[i];
    return NULL;
}

void sampler_works(struct sampler *s, int64_t process)
{
    pthread_mutex_lock(&s->lock);
    struct followed *f = find(s, process);
    if (f && !f->works_ns)
        f->works_ns = clock_monotonic_ns();
    pthread_mutex_unlock(&s->lock);
}

void sampler_rest(struct sampler *s, int64_t process, bool rests)
{
    pthread_mutex_lock(&s->lock);
    struct followed *f = find(s, process);
    if (f && f->rests != rests) {
        f->rests = rests;
        f->next_ns = 0;
        pthread_cond_signal(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
}

void sampler_forget(struct sampler *s, int64_t process)
{
    pthread_mutex_lock(&s->lock);
    struct followed *f = find(s, process);
    if (f) {
        followed_flush(f, &s->done);
        followed_release(f);
        *f = s->followed.at[--s->followed.n];
    }
    pthread_mutex_unlock(&s->lock);
}

void sampler_take(struct sampler *s, struct samples *out, bool all)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; all && i < s->followed.n; i++)
        followed_flush(&s->followed.at[i], &s->done);
    for (size_t i = 0; i < s->done.n; i++) {
        struct sample *to = vec_push(out);
        if (to)
            *to = s->done.at[i];
    }
    s->done.n = 0;
    pthread_mutex_unlock(&s->lock);
}

struct stack_frame sampler_frame(struct sampler *s, uint32_t stack)
{
    struct stack_frame frame = {.file = "", .function = ""};
    pthread_mutex_lock(&s->lock);
    if (stack > 0 && stack < s->stacks.at.n)
        frame = s->stacks.at.at[stack];
    pthread_mutex_unlock(&s->lock);
    return frame;
}

enum sampler_trouble sampler_trouble(struct sampler *s, int64_t process)
{
    pthread_mutex_lock(&s->lock);
    const struct followed *f = find(s, process);
    enum sampler_trouble trouble = f ? f->trouble : SAMPLER_FINE;
    pthread_mutex_unlock(&s->lock);
    return trouble;
}

int64_t sampler_cpu_ns(struct sampler *s)
{
    pthread_mutex_lock(&s->lock);
    int64_t cpu_ns = s->cpu_ns;
    pthread_mutex_unlock(&s->lock);
    return cpu_ns;
}

void sampler_stop(struct sampler *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    for (size_t i = 0; i < s->followed.n; i++)
        followed_release(&s->followed.at[i]);
    vec_release(&s->followed);
    vec_release(&s->done);
    stacks_release(&s->stacks);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    free(s);
}
