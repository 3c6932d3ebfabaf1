/* Charges samples ("looks") of the program's threads to lines, list by list: see lines.h. */
#include "analyzer/facts/lines/lines_looks.h"

#include "analyzer/facts/limits.h"
#include "analyzer/facts/passes.h"

#include <stdlib.h>
#include <string.h>

enum { WAITS = 0 }; /* lists that are not divided by part of the step use this index */

/* Charges the training thread's looks in these stretches, and sums them up into list
 * `which`. -1: out of memory. */
static int charge_main(struct looks *p, const struct stretches *at,
                       const int64_t part_ns[PART_COUNT], enum lines_of which)
{
    const struct timeline *t = p->f->tl;
    looks_forget(p);
    for (size_t i = 0; i < t->stack_sample_count; i++) {
        const struct row_stack_sample *s = &t->stack_samples[i];
        if (p->stack_of[i] != TL_NONE && s->looks > 0 &&
            timeline_thread_index(t, s->thread) == p->f->steps.main_thread)
            looks_charge_sample(p, s, p->stack_of[i], at);
    }
    return lines_sum(p->f, p->stacks, p->charged, part_ns, &p->f->lines->of[which]);
}

/* ---- the step ---- */

/* Idle time that the host could have prevented. Gaps between queued kernels are not among it. */
static const enum part idle[] = {PART_IDLE_INPUT,  PART_IDLE_COPY,  PART_IDLE_SYNC,
                                 PART_IDLE_LAUNCH, PART_IDLE_ALLOC, PART_IDLE_HOST};
enum { IDLE = sizeof idle / sizeof *idle };

static bool is_idle(enum part part)
{
    for (size_t i = 0; i < IDLE; i++)
        if (idle[i] == part)
            return true;
    return false;
}

/* The stretches of LINES_STEP. False: out of memory. */
static bool find_idle(const struct facts *f, struct stretches *at)
{
    bool ok = true;
    for (size_t i = 0; i < f->gap_count && ok; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->step != TL_NONE && f->steps.at[g->step].used && is_idle(g->part))
            ok = looks_add_stretch(at, g->start_ns, g->end_ns, g->part);
    }
    for (size_t i = 0; f->on_cpu && i < f->steps.count && ok; i++)
        if (f->steps.at[i].used)
            ok = looks_add_stretch(at, f->steps.at[i].start_ns, f->steps.at[i].end_ns, PART_OTHER);
    return ok;
}

static int charge_gaps(struct looks *p)
{
    const struct facts *f = p->f;
    struct stretches at = {0};
    int64_t part_ns[PART_COUNT] = {0};
    bool ok = find_idle(f, &at);
    for (size_t i = 0; i < IDLE; i++)
        part_ns[idle[i]] = f->breakdown_ns[idle[i]];
    int rc = ok ? charge_main(p, &at, part_ns, LINES_STEP) : -1;
    vec_release(&at);
    return rc;
}

/* Without a GPU: the part of the step that the training thread is in at `ns`. */
static enum part cpu_part_at(const struct looks *p, int64_t ns)
{
    int64_t parts[PART_COUNT] = {0};
    if (p->cpu)
        cpu_spans_part(p->cpu, ns, ns + 1, parts);
    for (int i = PART_DATA; i < PART_COUNT; i++)
        if (parts[i] > 0)
            return (enum part)i;
    return PART_OTHER;
}

static void charge_look(struct looks *p, const struct row_stack_sample *s, uint32_t stack)
{
    for (int64_t i = 0; i < s->looks; i++) {
        int64_t ns = looks_time_ns(s, i);
        uint32_t step = facts_step_at(p->f, ns);
        if (step != TL_NONE && p->f->steps.at[step].used)
            looks_charge(p, s, stack, cpu_part_at(p, ns), 1);
    }
}

static int charge_cpu(struct looks *p)
{
    const struct facts *f = p->f;
    int64_t part_ns[PART_COUNT] = {0};
    if (!(p->cpu = cpu_spans_find(f, f->steps.main_thread)))
        return -1;
    looks_forget(p);
    for (size_t i = 0; i < f->tl->stack_sample_count; i++)
        if (p->stack_of[i] != TL_NONE &&
            timeline_thread_index(f->tl, f->tl->stack_samples[i].thread) == f->steps.main_thread)
            charge_look(p, &f->tl->stack_samples[i], p->stack_of[i]);
    for (int i = PART_DATA; i < PART_COUNT; i++)
        part_ns[i] = f->breakdown_ns[i];
    cpu_spans_free(p->cpu);
    return lines_sum(p->f, p->stacks, p->charged, part_ns, &f->lines->of[LINES_STEP]);
}

/* ---- waits, workers, other steps ---- */

static bool waits(const struct api *a)
{
    return a->kind == API_SYNC_DEVICE || a->kind == API_SYNC_STREAM || a->kind == API_SYNC_EVENT ||
           a->kind == API_COPY_SYNC;
}

static int charge_waits(struct looks *p)
{
    const struct facts *f = p->f;
    const struct thread *th = facts_main_thread(f);
    struct stretches at = {0};
    int64_t part_ns[PART_COUNT] = {0}, all_ns = 0;
    bool ok = true;
    for (uint32_t i = 0; i < th->apis && ok; i++) {
        const struct api *a = &f->tl->apis[th->first_api + i];
        uint32_t step = waits(a) ? facts_step_at(f, a->start_ns) : TL_NONE;
        if (step == TL_NONE || !f->steps.at[step].used)
            continue;
        ok = looks_add_stretch(&at, a->start_ns, a->end_ns, (enum part)WAITS);
        all_ns += a->end_ns - a->start_ns;
    }
    part_ns[WAITS] = facts_per_step(f, all_ns);
    int rc = ok ? charge_main(p, &at, part_ns, LINES_WAITS) : -1;
    vec_release(&at);
    return rc;
}

static int charge_other_steps(struct looks *p)
{
    const struct facts *f = p->f;
    struct stretches at = {0};
    int64_t part_ns[PART_COUNT] = {[WAITS] = f->other_ns};
    bool ok = true;
    for (size_t i = 0; i < f->steps.count && ok; i++)
        if (f->steps.at[i].other)
            ok = looks_add_stretch(&at, f->steps.at[i].start_ns, f->steps.at[i].end_ns,
                                   (enum part)WAITS);
    int rc = ok ? charge_main(p, &at, part_ns, LINES_OTHER) : -1;
    vec_release(&at);
    return rc;
}

/* Charges all looks at worker processes inside the user's code. Outside of it a
 * worker waits for its queue. */
static int charge_workers(struct looks *p)
{
    const struct facts *f = p->f;
    int64_t part_ns[PART_COUNT] = {[WAITS] = f->host.fetch_ns};
    looks_forget(p);
    for (size_t i = 0; i < f->tl->stack_sample_count; i++) {
        const struct row_stack_sample *s = &f->tl->stack_samples[i];
        uint32_t stack = p->stack_of[i];
        if (stack != TL_NONE && p->stacks[stack].in_worker && s->looks > 0)
            looks_charge(p, s, stack, (enum part)WAITS, s->looks);
    }
    return lines_sum(p->f, p->stacks, p->charged, part_ns, &f->lines->of[LINES_WORKERS]);
}

/* ---- other threads ---- */

/* Adds the part of each idle stretch in which the training thread sleeps on a lock, as it does
 * while another thread has Python's. False: out of memory. */
static bool find_asleep(const struct looks *p, const struct stretches *steps, struct stretches *at)
{
    const struct timeline *t = p->f->tl;
    bool ok = true;
    for (size_t i = 0; i < t->stack_sample_count && ok; i++) {
        const struct row_stack_sample *s = &t->stack_samples[i];
        int64_t from = s->start_ns - FACTS_TOGETHER_NS, to = s->end_ns + FACTS_TOGETHER_NS;
        if (p->stack_of[i] == TL_NONE || looks_do(p, s, p->stack_of[i]) != LINE_SLEEPS ||
            strcmp(tl_text(t, s->call), "futex") != 0 ||
            timeline_thread_index(t, s->thread) != p->f->steps.main_thread)
            continue;
        for (size_t k = looks_first_after(steps, from);
             k < steps->n && steps->at[k].start_ns <= to && ok; k++) {
            const struct stretch *x = &steps->at[k];
            ok = looks_add_stretch(at, x->start_ns > from ? x->start_ns : from,
                                   x->end_ns < to ? x->end_ns : to, (enum part)WAITS);
        }
    }
    return ok;
}

/* True for a look at a thread of the training process that runs Python beside the training. */
static bool is_beside(const struct looks *p, size_t sample)
{
    const struct timeline *t = p->f->tl;
    const struct row_stack_sample *s = &t->stack_samples[sample];
    uint32_t thread = timeline_thread_index(t, s->thread), main = p->f->steps.main_thread;
    return p->stack_of[sample] != TL_NONE && s->looks > 0 &&
           (s->state == STACK_RUNNING || s->state == STACK_READY) && thread != TL_NONE &&
           thread != main && t->threads[thread].process == t->threads[main].process;
}

/* Charges what other threads compute in Python while the training thread sleeps on a lock. */
static int charge_threads(struct looks *p)
{
    struct facts *f = p->f;
    struct stretches steps = {0}, at = {0};
    int64_t part_ns[PART_COUNT] = {0}, looks = 0;
    bool ok = find_idle(f, &steps) && find_asleep(p, &steps, &at);
    looks_forget(p);
    for (size_t i = 0; i < f->tl->stack_sample_count && at.n && ok; i++)
        if (is_beside(p, i))
            looks_charge_sample(p, &f->tl->stack_samples[i], p->stack_of[i], &at);
    for (size_t i = 0; i < f->tl->stack_count; i++)
        looks += p->stacks[i].line == TL_NONE ? 0 : p->charged[i].all;
    const struct lines *step = &f->lines->of[LINES_STEP];
    double share = step->looks > looks ? (double)looks / (double)step->looks : 1;
    part_ns[WAITS] = looks ? (int64_t)(share * (double)step->ns) : 0;
    int rc = ok ? lines_sum(f, p->stacks, p->charged, part_ns, &f->lines->of[LINES_THREADS]) : -1;
    vec_release(&steps);
    vec_release(&at);
    return rc;
}

/* ---- the pass ---- */

static int begin(struct looks *p)
{
    const struct timeline *t = p->f->tl;
    p->stacks = stack_lines_find(p->f);
    p->charged = calloc(t->stack_count + 1, sizeof *p->charged);
    p->stack_of = malloc((t->stack_sample_count + 1) * sizeof *p->stack_of);
    for (size_t i = 0; p->stack_of && i < t->stack_sample_count; i++)
        p->stack_of[i] = timeline_stack_index(t, t->stack_samples[i].stack);
    p->hooks = malloc((t->stack_sample_count + 1) * sizeof *p->hooks);
    if (!p->stacks || !p->charged || !p->stack_of || !p->hooks)
        return -1;
    for (size_t i = 0; i < t->stack_sample_count; i++)
        if (looks_of_hook(p, &t->stack_samples[i], p->stack_of[i]))
            p->hooks[p->hook_count++] = (uint32_t)i;
    return 0;
}

static void count_looks(struct looks *p)
{
    const struct timeline *t = p->f->tl;
    for (size_t i = 0; i < t->stack_sample_count; i++)
        if (timeline_thread_index(t, t->stack_samples[i].thread) == p->f->steps.main_thread)
            p->f->lines->looks += t->stack_samples[i].looks;
}

int lines_measure(struct facts *f, struct err *e)
{
    struct looks p = {.f = f};
    f->lines = arena_alloc(&f->arena, sizeof *f->lines);
    if (!f->lines)
        return err_no_memory(e);
    if (lines_measure_gpu(f) < 0)
        return err_no_memory(e);
    if (f->tl->stack_sample_count == 0 || f->steps.count == 0)
        return 0;
    int rc = begin(&p);
    if (rc == 0) {
        count_looks(&p);
        rc = f->on_cpu ? charge_cpu(&p) : charge_gaps(&p);
    }
    if (rc == 0 && !f->on_cpu)
        rc = charge_waits(&p);
    if (rc == 0 && f->other_steps)
        rc = charge_other_steps(&p);
    if (rc == 0)
        rc = charge_workers(&p);
    if (rc == 0)
        rc = charge_threads(&p);
    free(p.stacks);
    free(p.charged);
    free(p.stack_of);
    free(p.hooks);
    return rc < 0 ? err_no_memory(e) : 0;
}
