/* Replays several plans of a graph in one pass.
 *
 * A prediction is the middle of some thirty replays that differ in durations alone. What a pass asks
 * of a task is the same in all of them, and nine of ten tasks only add and compare: here one look at
 * the task serves four plans, and one instruction does four additions. All other tasks go through
 * replay_any_task() plan by plan.
 * Cost: of a task 20 to 30 instructions for four plans, where replay.c has 60 for one. */
#include "analyzer/replay/replay_pass.h"
#include "analyzer/replay/replay_queue.h"

#include <stdlib.h>
#include <string.h>

/* A function of its own for processors with AVX2. Sanitizers do not know such functions. */
#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ &&                                \
    !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define FOR_THIS_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define FOR_THIS_PROCESSOR
#endif

/* One time of each plan. */
typedef int64_t times __attribute__((vector_size(REPLAY_WIDE * sizeof(int64_t)), may_alias));

/* a = the later of a and b */
#define RAISE(a, b)                                                                                \
    do {                                                                                           \
        const times to = (b), less = (times)(to > (a));                                            \
        (a) = (to & less) | ((a) & ~less);                                                         \
    } while (0)

struct wide_pass {
    struct pass lane[REPLAY_WIDE];
    size_t n;
    const uint8_t *mark; /* by task: the marks of any plan */
    bool usual, thinner; /* all plans are usual; some plan drops operations */
};

int replay_wide_init(struct replay_wide *w, const struct graph *g)
{
    memset(w, 0, sizeof *w);
    w->mark = malloc(g->count + sizeof(uint64_t));
    if (!w->mark || replay_make(&w->lane[0], g, REPLAY_WIDE) < 0) {
        replay_wide_release(w);
        return -1;
    }
    for (size_t k = 1; k < REPLAY_WIDE; k++) {
        struct replay *r = &w->lane[k];
        *r = w->lane[0];
        r->start += k;
        r->end += k;
        r->order += k;
        r->tail += k;
        r->step_end += k;
        r->step_begin += k;
        r->got += k;
        r->number = malloc((g->count + 1) * sizeof *r->number);
        r->queue = malloc((g->streams + 1) * QUEUE_DEPTH * sizeof *r->queue);
        r->queued = malloc((g->streams + 1) * sizeof *r->queued);
    }
    for (size_t k = 1; k < REPLAY_WIDE; k++)
        if (!w->lane[k].number || !w->lane[k].queue || !w->lane[k].queued) {
            replay_wide_release(w);
            return -1;
        }
    return 0;
}

void replay_wide_release(struct replay_wide *w)
{
    for (size_t k = 1; k < REPLAY_WIDE; k++) {
        free(w->lane[k].number);
        free(w->lane[k].queue);
        free(w->lane[k].queued);
    }
    replay_release(&w->lane[0]);
    free(w->mark);
    memset(w, 0, sizeof *w);
}

/* Fills `any` with the marks of any plan. */
static void join_marks(uint8_t *any, size_t count, struct plan *const *p, size_t n)
{
    memcpy(any, p[0]->mark, count);
    for (size_t k = 1; k < n; k++) {
        const uint8_t *mark = p[k]->mark;
        size_t i = 0;
        for (uint64_t sum, more; i + sizeof sum <= count; i += sizeof sum) {
            memcpy(&sum, any + i, sizeof sum);
            memcpy(&more, mark + i, sizeof more);
            sum |= more;
            memcpy(any + i, &sum, sizeof sum);
        }
        for (; i < count; i++)
            any[i] |= mark[i];
    }
}

/* Waits for room in a queue, where a plan drops operations: each plan's queue holds its own. */
static void wait_for_room(const struct wide_pass *x, const struct task *t, uint32_t i,
                          int64_t *done)
{
    for (size_t k = 0; k < x->n; k++) {
        const struct replay *r = x->lane[k].r;
        uint32_t room = x->lane[k].thinner ? replay_queue_room(r, x->lane[k].g, i) : t->queue;
        if (room != TASK_NONE && r->end[replay_at(r, room)] > done[k])
            done[k] = r->end[replay_at(r, room)];
    }
}

static void put_in_queues(const struct wide_pass *x, const struct task *t, uint32_t i)
{
    for (size_t k = 0; k < x->n; k++)
        if (x->lane[k].thinner)
            replay_queue_put(x->lane[k].r, t, i);
}

/* Factors on the delays of task i, of which some plans make a node. */
static void node_lags(const struct wide_pass *x, uint32_t i, int64_t *permille)
{
    for (size_t k = 0; k < REPLAY_WIDE; k++) {
        const struct plan *p = x->lane[k < x->n ? k : 0].p;
        permille[k] = p->mark[i] & PLAN_NODE ? p->node_lag_permille : 1000;
    }
}

/* As usual_tasks() in replay.c. */
FOR_THIS_PROCESSOR static __attribute__((noinline)) uint32_t usual_tasks(const struct wide_pass *x,
                                                                         uint32_t i, unsigned odd)
{
    const struct pass *first = &x->lane[0];
    const struct replay *r = first->r;
    const struct task *tasks = first->g->tasks;
    const struct edge *edges = first->g->edges; /* NULL where no task has one */
    const uint8_t *way = r->way, *mark = x->mark;
    const uint32_t count = (uint32_t)first->g->count;
    const int64_t *dur[REPLAY_WIDE],
        *loose = assumes(first, ASSUME_NO_EVENTS) ? first->g->loose_ns : NULL;
    for (size_t k = 0; k < REPLAY_WIDE; k++) /* a lane without a plan computes the first one's */
        dur[k] = x->lane[k < x->n ? k : 0].p->dur;
    times *start = (times *)r->start, *end = (times *)r->end, *order = (times *)r->order,
          *step_end = (times *)r->step_end, *tail = (times *)r->tail;
    for (; i < count && !(way[i] & odd) && !(mark[i] & ~PLAN_NODE); i++) {
        const struct task *t = &tasks[i];
        const times takes = {dur[0][i], dur[1][i], dur[2][i], dur[3][i]};
        times at = order[t->lane];
        if (!(way[i] | mark[i]) && !loose) { /* the host goes on */
            at += t->prev_lag_ns + t->wait_ns;
            start[i] = at;
            at += takes;
            end[i] = order[t->lane] = at;
            RAISE(step_end[t->step], at);
            continue;
        }
        int64_t rest = loose ? loose[i] : t->wait_ns;
        bool node = mark[i], keeps = node && t->flags & TASK_STALL && in_call(first, t);
        times permille;
        if (node) {
            node_lags(x, i, (int64_t *)&permille);
            at += t->prev_lag_ns * permille / 1000;
        } else {
            at += (int64_t)t->prev_lag_ns;
        }
        if (way[i] & WAY_GPU) {
            RAISE(at, start[t->issue] + (int64_t)t->issue_lag_ns);
            uint32_t last = t->edge + t->edges - (loose ? t->guessed : 0);
            for (uint32_t e = t->edge; e < last; e++)
                RAISE(at, end[edges[e].from] + (int64_t)edges[e].lag_ns);
        }
        if (node && !keeps)
            at += rest * permille / 1000;
        else
            at += rest;
        start[i] = at;
        at += takes;
        if (way[i] & WAY_ROOM) {
            if (x->thinner)
                wait_for_room(x, t, i, (int64_t *)&at);
            else
                RAISE(at, end[t->queue]);
        }
        end[i] = order[t->lane] = at;
        if (way[i] & WAY_GPU) {
            tail[t->lane] = at;
            if (x->thinner)
                put_in_queues(x, t, i);
        }
        if (!(way[i] & WAY_SILENT))
            RAISE(step_end[t->step], at);
    }
    return i;
}

void replay_wide_run(struct replay_wide *w, const struct graph *g, struct plan *const *p, size_t n)
{
    struct wide_pass x = {.n = n, .mark = w->mark, .usual = true};
    join_marks(w->mark, g->count, p, n);
    for (size_t k = 0; k < n; k++) {
        x.lane[k] = replay_begin(&w->lane[k], g, p[k]);
        x.usual &= x.lane[k].usual;
        x.thinner |= x.lane[k].thinner;
    }
    for (uint32_t i = 0; i < g->count; i++) {
        unsigned odd = 0;
        for (size_t k = 0; k < n; k++)
            odd |= odd_ways(&x.lane[k]);
        if (x.usual && (i = usual_tasks(&x, i, odd)) == g->count)
            break;
        for (size_t k = 0; k < n; k++)
            replay_odd_task(&x.lane[k], &g->tasks[i], i);
    }
    for (size_t k = 0; k < n && g->count; k++)
        replay_end(&x.lane[k]);
}
