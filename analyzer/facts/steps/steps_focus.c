/* Chooses the process, the device and the training thread that the facts are about, and the marks of
 * its steps. */
#include "analyzer/facts/limits.h"
#include "analyzer/facts/steps/step_marks.h"
#include "analyzer/facts/steps/steps.h"
#include "analyzer/measure/input.h"
#include "analyzer/timeline/name_test.h"

#include <stdlib.h>
#include <string.h>

static uint32_t index_of_max(const int64_t *v, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (v[i] > v[best])
            best = i;
    return (uint32_t)best;
}

static bool of_loop(const char *name)
{
    return input_name(name) || strncmp(name, "Optimizer.step", 14) == 0;
}

/* The training thread. PyTorch runs backward on another thread, which may launch more than the
 * thread of the loop. So among threads with at least FACTS_TRAINS_PCT of the most launches it
 * is the one with most ranges that take a batch or update parameters; without such ranges the
 * one that launches most. */
static uint32_t training_thread(const struct timeline *t, const int64_t *launches)
{
    uint32_t most = index_of_max(launches, t->thread_count), best = most;
    struct name_test loop = name_test_open(t, of_loop);
    size_t best_n = 0;
    for (uint32_t i = 0; i < t->thread_count; i++) {
        const struct thread *th = &t->threads[i];
        size_t n = 0;
        for (uint32_t k = th->first_range; launches[i] * 100 >= launches[most] * FACTS_TRAINS_PCT &&
                                           k < th->first_range + th->ranges;
             k++)
            n += name_test(&loop, t->ranges[k].name);
        if (n > best_n) {
            best_n = n;
            best = i;
        }
    }
    name_test_close(&loop);
    return best;
}

/* Says which ranks there are. NULL: out of memory. */
static const char *ranks_here(struct facts *f)
{
    const struct timeline *t = f->tl;
    int64_t first = INT64_MAX, last = -1;
    for (size_t i = 0; i < t->process_count; i++) {
        int64_t rank = t->processes[i].rank;
        first = rank >= 0 && rank < first ? rank : first;
        last = rank > last ? rank : last;
    }
    if (last < 0 && t->process_count <= 1)
        return "the recording is of one process";
    if (last < 0)
        return arena_printf(&f->arena, "the recording has ranks 0 to %zu, by their places",
                            t->process_count - 1);
    return first == last ? arena_printf(&f->arena, "the recording has rank %lld", (long long)first)
                         : arena_printf(&f->arena, "the recording has ranks %lld to %lld",
                                        (long long)first, (long long)last);
}

/* *process: that of the rank that the user asked for, otherwise of the one that has all its rows where
 * others have a summary; TL_NONE: neither is known. -1 with *e set: it cannot be analysed. */
static int asked_process(struct facts *f, uint32_t *process, struct err *e)
{
    const char *whole = timeline_meta(f->tl, "rows.rank");
    const char *rank = timeline_meta(f->tl, "steps.rank");
    *process = TL_NONE;
    if (rank && whole && strcmp(rank, whole) != 0)
        return err_set(
            e,
            "rank %s has only a summary here, rank %s has all its rows: pass the files of "
            "all ranks, or reduce them again with --rank %s",
            rank, whole, rank);
    const char *chosen = rank ? rank : whole;
    if (!chosen)
        return 0;
    int64_t number = strtoll(chosen, NULL, 10), last = -1;
    for (uint32_t i = 0; i < f->tl->process_count; i++) {
        last = f->tl->processes[i].rank > last ? f->tl->processes[i].rank : last;
        if (f->tl->processes[i].rank == number && *process == TL_NONE)
            *process = i;
    }
    if (last < 0 && number < (int64_t)f->tl->process_count)
        *process = (uint32_t)number; /* by their places, as the ranks are numbered then */
    if (*process == TL_NONE && rank)
        return err_set(e, "no rank %s: %s", rank, ranks_here(f));
    return 0;
}

/* Chooses the process, the device and the training thread. Process: the one that was asked for,
 * otherwise that of the marks if it has GPU work, otherwise the one with most GPU time. Device: its device with most GPU time. Training
 * thread: that of the marks if it launches GPU work. -1: out of memory. */
static int choose_focus(struct facts *f, const struct mark_group *g, uint32_t asked)
{
    const struct timeline *t = f->tl;
    size_t n = t->process_count + t->device_count + t->thread_count + 3;
    int64_t *sums = calloc(n, sizeof *sums);
    if (!sums)
        return -1;
    int64_t *process = sums, *device = process + t->process_count + 1;
    int64_t *thread = device + t->device_count + 1;
    for (size_t i = 0; i < t->op_count; i++)
        process[t->streams[t->ops[i].stream].process] += t->ops[i].end_ns - t->ops[i].start_ns + 1;
    f->steps.process = index_of_max(process, t->process_count);
    if (g->count && (process[t->threads[g->thread].process] || t->op_count == 0))
        f->steps.process = t->threads[g->thread].process;
    if (asked != TL_NONE)
        f->steps.process = asked;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct stream *s = &t->streams[t->ops[i].stream];
        if (s->process != f->steps.process)
            continue;
        device[s->device] += t->ops[i].end_ns - t->ops[i].start_ns + 1;
        if (t->ops[i].api != TL_NONE)
            thread[tl_op_thread(t, i)]++;
    }
    f->steps.device = index_of_max(device, t->device_count);
    f->steps.main_thread = training_thread(t, thread);
    if (g->count && t->threads[g->thread].process == f->steps.process &&
        (thread[g->thread] || t->op_count == 0))
        f->steps.main_thread = g->thread;
    free(sums);
    return 0;
}

int steps_focus(struct facts *f, struct mark_group *marks, struct err *e)
{
    uint32_t asked;
    if (asked_process(f, &asked, e) < 0)
        return -1;
    *marks = steps_marks(f->tl, asked);
    return choose_focus(f, marks, asked) < 0 ? err_no_memory(e) : 0;
}
