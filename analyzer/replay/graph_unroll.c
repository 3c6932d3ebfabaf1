/* Repeats a window of one to three steps, which alone does not show how one step runs into the
 * next. In each copy the host's next step begins where the last one ended, each stream continues
 * behind the work that it still holds, and a task waits for the copies of what it waited for in its
 * own step. Work launched before the recording is not copied. Cost: a copy of the tasks and edges
 * for each turn. */
#include "analyzer/replay/graph.h"

#include "analyzer/replay/limits.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct unroller {
    struct graph *g;
    size_t recorded, room; /* number of recorded tasks */
    uint32_t *copy;        /* by recorded task: its latest copy; TASK_NONE: it has none */
    uint32_t *last;        /* by lane: its latest task */
    uint32_t *get_of;      /* by batch number: the GET that takes it */
    uint32_t *first_work;  /* by lane: the first recorded operation that is copied */
    uint32_t *left;        /* recorded operations that are not copied, in order */
    size_t left_count;
    int64_t *first_ns;   /* by lane: start of the first operation whose launch is recorded */
    size_t *each, *from; /* by lane: number of operations of a turn; where they begin in `work` */
    size_t *done;        /* by lane: operations copied in this turn so far */
    uint32_t *work;      /* operations, lane by lane and turn by turn */
    uint32_t begin;      /* the training thread's last task of the turn before */
    size_t batches, turn;
    struct VEC(struct edge) edges;
};

static bool is_work(const struct task *t)
{
    return task_on_gpu(t) && t->kind < TASK_EV_REC;
}

/* True for work that was launched before the recording: it belongs to an earlier step. */
static bool left_over(const struct graph *g, const struct task *t, int64_t first_launched_ns)
{
    if (!is_work(t) || t->issue != TASK_NONE)
        return false;
    return g->a->tl->ops[t->source].api != TL_NONE || t->at_ns < first_launched_ns;
}

static bool of_batch(const struct task *t)
{
    return t->kind == TASK_GET || t->kind == TASK_LOAD;
}

/* Fills first_ns for each lane separately: a copy in one lane may start at once, ahead of kernels
 * of earlier steps in another. Lanes without a recorded launch get the earliest start of all. */
static void find_first(struct unroller *u)
{
    const struct graph *g = u->g;
    int64_t first_ns = INT64_MAX;
    for (size_t lane = 0; lane < g->lanes; lane++)
        u->first_ns[lane] = INT64_MAX;
    for (size_t i = 0; i < u->recorded; i++) {
        const struct task *t = &g->tasks[i];
        if (!task_on_gpu(t) || t->issue == TASK_NONE)
            continue;
        first_ns = t->at_ns < first_ns ? t->at_ns : first_ns;
        if (is_work(t) && t->at_ns < u->first_ns[t->lane])
            u->first_ns[t->lane] = t->at_ns;
    }
    first_ns = first_ns == INT64_MAX ? INT64_MIN : first_ns;
    for (size_t lane = 0; lane < g->lanes; lane++)
        u->first_ns[lane] = u->first_ns[lane] == INT64_MAX ? first_ns : u->first_ns[lane];
}

/* Sorts the recorded tasks into those that are copied and those that are left over from before the
 * recording. */
static void look_at_recorded(struct unroller *u)
{
    const struct graph *g = u->g;
    memset(u->last, 0xff, (g->lanes + 1) * sizeof *u->last);
    memset(u->first_work, 0xff, (g->lanes + 1) * sizeof *u->first_work);
    find_first(u);
    for (uint32_t i = 0; i < u->recorded; i++) {
        const struct task *t = &g->tasks[i];
        u->copy[i] = left_over(g, t, u->first_ns[t->lane]) ? TASK_NONE : i;
        u->last[t->lane] = i;
        if (u->copy[i] == TASK_NONE)
            u->left[u->left_count++] = i;
        else if (is_work(t))
            u->each[t->lane]++;
        if (u->first_work[t->lane] == TASK_NONE && u->copy[i] == i && is_work(t))
            u->first_work[t->lane] = i;
        u->batches += of_batch(t) && !(t->flags & TASK_BEHIND);
        if (t->kind == TASK_GET && t->source < g->gets)
            u->get_of[t->source] = i;
    }
    u->begin = u->last[g->streams + g->a->steps.main_thread];
}

static int edge_to(struct unroller *u, uint32_t to, uint32_t from, int64_t lag_ns)
{
    if (from == TASK_NONE)
        return 0;
    struct edge *e = vec_push(&u->edges);
    if (!e)
        return -1;
    *e = (struct edge){from, (int32_t)(lag_ns > INT32_MAX ? INT32_MAX : lag_ns)};
    u->g->tasks[to].edges++;
    return 0;
}

/* Removes a stall whose cause lies before the recording: a copy of the task does not have it. */
static void forget_stall(struct unroller *u, uint32_t to)
{
    struct task *t = &u->g->tasks[to];
    if (t->wait_ns > REPLAY_STALL_NS || t->flags & TASK_ROOT)
        t->wait_ns = 0;
    if (u->g->loose_ns && u->g->loose_ns[to] > REPLAY_STALL_NS)
        u->g->loose_ns[to] = t->wait_ns;
    t->flags &= (uint8_t) ~(TASK_STALL | TASK_ROOT);
}

/* The first task of its lane that is copied: what it waited for lies before the recording. A copy
 * continues behind the lane's latest task. If its launch is not known and it has no edges, it
 * begins as long after the training thread's previous turn as the recorded task began after the
 * window's start. */
static int begin_lane(struct unroller *u, uint32_t to, struct task *t)
{
    bool main = t->lane == u->g->streams + u->g->a->steps.main_thread;
    int64_t at_ns = t->at_ns;
    t->prev = u->last[t->lane];
    t->prev_lag_ns = 0;
    forget_stall(u, to);
    if (main || t->issue != TASK_NONE || t->edges || t->flags & TASK_BEHIND)
        return 0;
    t->wait_ns = 0;
    return edge_to(u, to, u->begin, at_ns > 0 ? at_ns : 0);
}

/* Copies the edges of a recorded task into this turn. Edges between loads and gets follow the batch
 * numbers. */
static int copy_edges(struct unroller *u, uint32_t to, const struct task *was)
{
    struct graph *g = u->g;
    uint32_t number = g->tasks[to].source;
    for (uint32_t e = was->edge; e < was->edge + was->edges; e++) {
        struct edge edge = u->edges.at[e];
        if (was->kind == TASK_GET)
            edge.from = g->load_of[number];
        else if (was->kind == TASK_LOAD && was->flags & TASK_BEHIND && was->edges == 1 &&
                 g->tasks[edge.from].kind == TASK_GET)
            edge.from = number >= (uint32_t)g->credits ? u->get_of[number - (uint32_t)g->credits]
                                                       : TASK_NONE;
        else
            edge.from = u->copy[edge.from];
        if (edge_to(u, to, edge.from, edge.lag_ns) < 0)
            return -1;
        if (e >= was->edge + was->edges - was->guessed && edge.from != TASK_NONE)
            g->tasks[to].guessed++;
    }
    return 0;
}

/* Finds the left-over operation that ended last while the host waited in task t, and stores it in
 * *left. Returns how many left-over operations of that lane follow it, itself included; 0 if none
 * ended in that time. */
static size_t waited_for(const struct unroller *u, const struct task *t, uint32_t *left)
{
    const struct graph *g = u->g;
    int64_t from = t->prev == TASK_NONE ? 0 : task_end(&g->tasks[t->prev]), end = INT64_MIN;
    size_t at = u->left_count, back = 1;
    for (size_t k = 0; k < u->left_count; k++) {
        int64_t ended = task_end(&g->tasks[u->left[k]]);
        if (ended < from || ended > t->at_ns || ended < end)
            continue;
        end = ended;
        at = k;
    }
    if (at == u->left_count)
        return 0;
    *left = u->left[at];
    for (size_t k = at + 1; k < u->left_count; k++)
        back += g->tasks[u->left[k]].lane == g->tasks[*left].lane;
    return back;
}

/* A recorded wait for work from before the recording becomes, in each copy, a wait for the same
 * work of the turn before. So the GPU delays the host in every turn as it did in the recorded
 * one. */
static int bind_wait(struct unroller *u, uint32_t to, const struct task *was)
{
    struct graph *g = u->g;
    struct task *t = &g->tasks[to];
    uint32_t left = TASK_NONE;
    bool open = t->kind == TASK_WAIT && g->tails[to] == WAIT_NOTHING && was->edges == 0 &&
                !(t->flags & (TASK_COPY_WAIT | TASK_FOR_KERNEL)) &&
                t->flags & (TASK_ROOT | TASK_STALL);
    size_t back = open ? waited_for(u, was, &left) : 0;
    if (back == 0)
        return 0;
    uint32_t lane = g->tasks[left].lane;
    size_t before = u->turn * u->each[lane];
    int64_t lag_ns = t->at_ns - task_end(&g->tasks[left]);
    forget_stall(u, to);
    if (back > before || before - back >= before + u->done[lane])
        return 0;
    return edge_to(u, to, u->work[u->from[lane] + before - back], lag_ns > 0 ? lag_ns : 0);
}

static void note_work(struct unroller *u, uint32_t i)
{
    const struct task *t = &u->g->tasks[i];
    if (is_work(t))
        u->work[u->from[t->lane] + u->turn * u->each[t->lane] + u->done[t->lane]++] = i;
}

static int copy_task(struct unroller *u, uint32_t i)
{
    struct graph *g = u->g;
    const struct task was = g->tasks[i];
    uint32_t to = (uint32_t)g->count++;
    struct task *t = &g->tasks[to];
    *t = was;
    g->classes[to] = g->classes[i];
    g->tails[to] = g->tails[i];
    t->step = (uint16_t)(was.step + u->turn * g->recorded_steps);
    t->edge = (uint32_t)u->edges.n;
    t->edges = t->guessed = 0;
    if (g->loose_ns)
        g->loose_ns[to] = g->loose_ns[i];
    t->issue = was.issue == TASK_NONE ? TASK_NONE : u->copy[was.issue];
    t->queue = was.queue == TASK_NONE ? TASK_NONE : u->copy[was.queue];
    if (of_batch(t))
        t->source += (uint32_t)(u->turn * u->batches);
    int rc = copy_edges(u, to, &was);
    if (rc == 0)
        rc = bind_wait(u, to, &was);
    if (t->kind == TASK_WAIT && t->flags & TASK_ROOT) /* for room in a queue: cause unknown */
        t->wait_ns = 0;
    note_work(u, to);
    if (was.prev != TASK_NONE && u->copy[was.prev] != TASK_NONE)
        t->prev = u->copy[was.prev];
    else if (rc == 0)
        rc = begin_lane(u, to, t);
    if (i == u->first_work[was.lane])
        forget_stall(u, to);
    if (t->kind == TASK_GET && t->source < g->gets)
        u->get_of[t->source] = to;
    if (t->kind == TASK_LOAD && t->flags & TASK_BEHIND && t->source < g->gets)
        g->load_of[t->source] = to;
    return rc;
}

/* Grows the array *p from `had` to n elements of `size` bytes and sets the new ones to all ones. */
static int grow(void *p, size_t had, size_t n, size_t size)
{
    void **at = p, *more = realloc(*at, (n + 1) * size);
    if (!more)
        return -1;
    *at = more;
    memset((char *)more + had * size, 0xff, (n + 1 - had) * size);
    return 0;
}

static int make_room(struct unroller *u, size_t turns)
{
    struct graph *g = u->g;
    size_t had = g->gets;
    g->gets += u->batches * turns;
    return grow(&g->tasks, g->count, g->count * (turns + 1), sizeof *g->tasks) < 0 ||
                   grow(&g->classes, g->count, g->count * (turns + 1), sizeof *g->classes) < 0 ||
                   grow(&g->tails, g->count, g->count * (turns + 1), sizeof *g->tails) < 0 ||
                   (g->loose_ns && grow(&g->loose_ns, g->count, g->count * (turns + 1),
                                        sizeof *g->loose_ns) < 0) ||
                   grow(&g->load_of, had, g->gets, sizeof *g->load_of) < 0 ||
                   grow(&u->get_of, had, g->gets, sizeof *u->get_of) < 0
               ? -1
               : 0;
}

/* Adds one copy of the recorded tasks. Returns -1 without memory. */
static int one_turn(struct unroller *u)
{
    struct graph *g = u->g;
    int rc = 0;
    size_t from = g->count;
    memset(u->done, 0, (g->lanes + 1) * sizeof *u->done);
    for (uint32_t i = 0; rc == 0 && i < u->recorded; i++) {
        if (u->copy[i] == TASK_NONE)
            continue;
        rc = copy_task(u, i);
        u->copy[i] = (uint32_t)g->count - 1;
    }
    for (size_t i = from; i < g->count; i++)
        u->last[g->tasks[i].lane] = (uint32_t)i;
    u->begin = u->last[g->streams + g->a->steps.main_thread];
    return rc;
}

/* Lists the recorded operations in `work`, with room for those of all turns. */
static int list_work(struct unroller *u, size_t turns)
{
    size_t n = 0;
    for (size_t lane = 0; lane < u->g->lanes; lane++) {
        u->from[lane] = n;
        n += u->each[lane] * (turns + 1);
    }
    u->work = malloc((n + 1) * sizeof *u->work);
    if (!u->work)
        return -1;
    for (uint32_t i = 0; i < u->recorded; i++)
        if (u->copy[i] != TASK_NONE)
            note_work(u, i);
    return 0;
}

static int start(struct unroller *u, size_t turns)
{
    const struct graph *g = u->g;
    u->copy = calloc(g->count + 1, sizeof *u->copy);
    u->last = calloc(g->lanes + 1, sizeof *u->last);
    u->first_work = calloc(g->lanes + 1, sizeof *u->first_work);
    u->get_of = malloc((g->gets + 1) * sizeof *u->get_of);
    u->left = calloc(g->count + 1, sizeof *u->left);
    u->first_ns = calloc(g->lanes + 1, sizeof *u->first_ns);
    u->each = calloc(g->lanes + 1, sizeof *u->each);
    u->from = calloc(g->lanes + 1, sizeof *u->from);
    u->done = calloc(g->lanes + 1, sizeof *u->done);
    if (!u->first_ns || !u->copy || !u->last || !u->get_of || !u->left || !u->first_work ||
        !u->each || !u->from || !u->done)
        return -1;
    memset(u->get_of, 0xff, (g->gets + 1) * sizeof *u->get_of);
    look_at_recorded(u);
    return list_work(u, turns) < 0 || make_room(u, turns) < 0 ? -1 : 0;
}

static void finish(struct unroller *u)
{
    free(u->copy);
    free(u->last);
    free(u->first_work);
    free(u->get_of);
    free(u->left);
    free(u->each);
    free(u->first_ns);
    free(u->from);
    free(u->done);
    free(u->work);
}

int graph_unroll(struct graph *g, size_t turns, struct err *e)
{
    struct unroller u = {.g = g, .recorded = g->count};
    int rc = start(&u, turns);
    u.edges.at = g->edges;
    u.edges.n = u.edges.cap = g->edge_count;
    for (u.turn = 1; rc == 0 && u.turn <= turns; u.turn++)
        rc = one_turn(&u);
    g->edges = u.edges.at;
    g->edge_count = u.edges.n;
    g->steps = g->recorded_steps * (turns + 1);
    finish(&u);
    return rc < 0 ? err_no_memory(e) : 0;
}
