/* Finds the late rank among ranks that train without a GPU. Gloo's collectives leave no records,
 * but the ranks wait for each other in their backward passes: the late rank works longest before
 * its backward pass and waits least in it. If the ranks do not show this pattern, no rank is called
 * late or in time. Cost: the parts of every step of every rank. */
#include "analyzer/facts/passes.h"
#include "analyzer/facts/limits.h"
#include "analyzer/measure/median.h"
#include "base/size.h"

#include "wire/spool_format.h"

#include <stdlib.h>
#include <string.h>

/* The thread of the process with the most step marks of the hook, if it has more than
 * FACTS_CPU_STEPS; else TL_NONE. */
static uint32_t thread_with_steps(const struct timeline *t, uint32_t process)
{
    uint32_t best = TL_NONE;
    size_t most = FACTS_CPU_STEPS;
    for (uint32_t k = 0; k < t->thread_count; k++) {
        const struct thread *th = &t->threads[k];
        size_t n = 0;
        for (uint32_t i = 0; th->process == process && i < th->ranges; i++)
            n += strcmp(tl_text(t, t->ranges[th->first_range + i].name), "gpuprof.step") == 0;
        if (n > most) {
            most = n;
            best = k;
        }
    }
    return best;
}

/* Sums the rank's steps into means and the median. Leaves out the first step, which runs with cold
 * caches. -1: out of memory. */
static int add_steps(const struct facts *f, struct cpu_rank *r, uint32_t thread)
{
    const struct thread *th = &f->tl->threads[thread];
    struct cpu_spans *spans = cpu_spans_find(f, thread);
    int64_t *lengths = malloc((th->ranges + 1) * sizeof *lengths);
    bool first = true;
    for (uint32_t i = th->first_range; spans && lengths && i < th->first_range + th->ranges; i++) {
        const struct range *s = &f->tl->ranges[i];
        int64_t parts[PART_COUNT] = {0};
        if (strcmp(tl_text(f->tl, s->name), "gpuprof.step") != 0 || s->end_ns <= s->start_ns)
            continue;
        if (first) {
            first = false;
            continue;
        }
        cpu_spans_part(spans, s->start_ns, s->end_ns, parts);
        for (int p = 0; p < PART_COUNT; p++)
            r->parts[p] += parts[p];
        lengths[r->steps++] = s->end_ns - s->start_ns;
    }
    r->median_ns = lengths ? median_ns(lengths, r->steps) : 0;
    free(lengths);
    for (int p = 0; p < PART_COUNT && r->steps; p++) {
        r->parts[p] /= (int64_t)r->steps;
        r->step_ns += r->parts[p];
    }
    r->own_ns = r->step_ns - r->parts[PART_BACKWARD];
    cpu_spans_free(spans);
    return spans && lengths ? 0 : -1;
}

static int by_rank(const void *a, const void *b)
{
    const struct cpu_rank *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Index of the rank that works longest outside backward passes; *second: the longest
 * time of any other rank. */
static uint32_t longest_own(const struct cpu_ranks *r, int64_t *second)
{
    uint32_t best = 0;
    *second = 0;
    for (uint32_t i = 1; i < r->count; i++)
        if (r->at[i].own_ns > r->at[best].own_ns)
            best = i;
    for (uint32_t i = 0; i < r->count; i++)
        if (i != best && r->at[i].own_ns > *second)
            *second = r->at[i].own_ns;
    return best;
}

/* True if both ranks have the same median or the same mean step, within 1/FACTS_IN_STEP. Either one
 * is enough: a single delay of one rank reaches the others in a later step or after the last one,
 * so means may differ, and the median of few steps may differ by chance. */
static bool in_step(const struct cpu_rank *a, const struct cpu_rank *b)
{
    return llabs(a->median_ns - b->median_ns) * FACTS_IN_STEP <= a->median_ns ||
           llabs(a->step_ns - b->step_ns) * FACTS_IN_STEP <= a->step_ns;
}

/* True if every other rank waits for the late one: its backward passes are longer by at least half
 * of late_ns, and its steps take as long. */
static bool others_wait(const struct cpu_ranks *r, uint32_t late, int64_t late_ns)
{
    for (uint32_t i = 0; i < r->count; i++) {
        int64_t waits = r->at[i].parts[PART_BACKWARD] - r->at[late].parts[PART_BACKWARD];
        if (i != late && (waits * 2 < late_ns || !in_step(&r->at[i], &r->at[late])))
            return false;
    }
    return true;
}

/* The part, other than the backward pass, in which the late rank exceeds the
 * mean of the others most. */
static int part_that_differs(const struct cpu_ranks *r, uint32_t late)
{
    int best = PART_OTHER;
    int64_t most = INT64_MIN;
    for (int p = 0; p < PART_COUNT; p++) {
        int64_t others = 0;
        for (uint32_t i = 0; i < r->count; i++)
            others += i == late ? 0 : r->at[i].parts[p];
        int64_t more = r->at[late].parts[p] - others / (int64_t)(r->count - 1);
        if (part_in(p, CPU_PARTS) && p != PART_BACKWARD && more > most) {
            most = more;
            best = p;
        }
    }
    return best;
}

static bool is_longer(const struct cpu_rank *most, int64_t second)
{
    return (most->own_ns - second) * 100 >= most->step_ns * FACTS_LATE_PCT;
}

static const char *text_of(struct facts *f, const struct cpu_ranks *r, uint32_t most,
                           int64_t second)
{
    char own[32], next[32], late[32];
    const char *missing =
        r->world > (int64_t)r->count
            ? arena_printf(&f->arena, "; %lld of %lld ranks are missing",
                           (long long)(r->world - (int64_t)r->count), (long long)r->world)
            : "";
    if (r->late == TL_NONE && is_longer(&r->at[most], second))
        return arena_printf(&f->arena,
                            "%zu ranks compared by the parts of their steps: rank %lld works for "
                            "%s per step before backward, the next slowest rank for %s, but the "
                            "other ranks do not wait for it in backward: none is named as late%s",
                            r->count, (long long)r->at[most].rank,
                            time_words(own, sizeof own, r->at[most].own_ns),
                            time_words(next, sizeof next, second), missing);
    if (r->late == TL_NONE)
        return arena_printf(&f->arena,
                            "%zu ranks compared by the parts of their steps: all ranks reach "
                            "backward at about the same time; whether one is late within backward "
                            "is unknown, since the recording does not show waits there%s",
                            r->count, missing);
    const struct cpu_rank *l = &r->at[r->late];
    return arena_printf(
        &f->arena,
        "%zu ranks compared by the parts of their steps: rank %lld works for %s per step before "
        "backward, the next slowest rank for %s; most of the difference is '%s'; the other ranks "
        "wait for it in backward, %s per step%s",
        r->count, (long long)l->rank, time_words(own, sizeof own, l->own_ns),
        time_words(next, sizeof next, second), part_title[part_that_differs(r, r->late)],
        time_words(late, sizeof late, r->late_ns), missing);
}

static int find_ranks(struct facts *f)
{
    const struct timeline *t = f->tl;
    struct cpu_ranks *r = &f->cpu_ranks;
    r->at = arena_array(&f->arena, t->process_count + 1, sizeof *r->at);
    if (!r->at)
        return -1;
    for (uint32_t i = 0; i < t->process_count; i++) {
        uint32_t thread = t->processes[i].rank >= 0 ? thread_with_steps(t, i) : TL_NONE;
        if (thread == TL_NONE)
            continue;
        struct cpu_rank *one = &r->at[r->count++];
        *one = (struct cpu_rank){.rank = t->processes[i].rank, .process = i};
        if (t->processes[i].world_size > r->world)
            r->world = t->processes[i].world_size;
        if (add_steps(f, one, thread) < 0)
            return -1;
    }
    return 0;
}

int cpu_ranks_measure(struct facts *f, struct err *e)
{
    struct cpu_ranks *r = &f->cpu_ranks;
    int64_t second = 0;
    r->late = TL_NONE;
    if (!f->on_cpu || f->tl->process_count < 2)
        return 0;
    if (find_ranks(f) < 0)
        return err_no_memory(e);
    if (r->count < 2) {
        r->count = 0;
        return 0;
    }
    qsort(r->at, r->count, sizeof *r->at, by_rank);
    uint32_t most = longest_own(r, &second);
    int64_t longer = r->at[most].own_ns - second;
    if (is_longer(&r->at[most], second) && others_wait(r, most, longer)) {
        r->late = most;
        r->late_ns = longer;
    }
    r->text = text_of(f, r, most, second);
    return 0;
}
