/* Fires if the forward pass calls one module again and again for little work each time. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/facts/lines.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/kernels/modules.h"
#include "analyzer/queries/training/actions.h"
#include "wire/fact_keys.h"

#include <stdlib.h>
#include <string.h>

static enum query_take takes(const struct facts *f, uint32_t op, const void *marks)
{
    (void)f;
    return ((const bool *)marks)[op] ? QUERY_BUSY : QUERY_NO;
}

struct kind {
    uint32_t name, step, op;
};

static int by_kind(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* Marks what one call for all would not launch: of each kernel in a step, all but its share of one
 * call. NULL: out of memory. */
static const bool *spared(const struct facts *f, struct arena *arena, const struct query_module *m,
                          const bool *of_module)
{
    const struct timeline *t = f->tl;
    bool *marks = arena_array(arena, t->op_count + 1, sizeof *marks);
    struct kind *all = arena_array(arena, t->op_count + 1, sizeof *all);
    size_t n = 0;
    if (!marks || !all)
        return NULL;
    for (uint32_t i = 0; i < t->op_count; i++)
        if (of_module[i])
            all[n++] = (struct kind){t->ops[i].full_name, f->steps.op_step[i], i};
    qsort(all, n, sizeof *all, by_kind);
    for (size_t i = 0, next; i < n; i = next) {
        next = i;
        while (next < n && all[next].name == all[i].name && all[next].step == all[i].step)
            next++;
        size_t keep = (next - i + (size_t)m->times - 1) / (size_t)m->times;
        for (size_t k = i + keep; k < next; k++)
            marks[all[k].op] = true;
    }
    return marks;
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_module *m,
                         const struct query_ops *ops)
{
    const char *rows = "SELECT * FROM module_gpu_time LIMIT 20";
    outcome_evidence(o, "calls of it in one forward pass", (double)m->times, "count", rows);
    outcome_evidence_per(o, "its launches, with those of its backward pass",
                         (double)each_step(f, ops->count), "count", rows);
    outcome_evidence_per(o, "their GPU time", ms(per_step(f, ops->busy_ns)), "ms", rows);
    outcome_evidence_per(o, "GPU idle before them", ms(per_step(f, ops->idle_ns)), "ms", NULL);
}

/* True if most calls choose an action, which the program reads before the next call: what that gets
 * is the environment's answer. */
static bool chooses_actions(const struct facts *f, const struct query_module *m)
{
    return query_actions(f).count * 2 >= m->times * (int64_t)f->steps.used;
}

static void set_remedy(struct outcome *o, const struct query_module *m)
{
    bool whole = m->in_turn && (m->sequence || m->cell);
    o->remedy.object.place = m->place;
    o->remedy.conditions[CONDITION_IN_TURN] = m->in_turn && !whole;
    o->remedy.conditions[CONDITION_SEQUENCE] = whole && !m->cell;
    o->remedy.conditions[CONDITION_CELL] = whole && m->cell;
    remedy_number(&o->remedy, PARAM_TIMES, m->times);
}

/* Time of the forward pass in the line that calls the module, and in smaller lines of its function, which may stand in the same
 * loop (the loss of each call), per step. */
static int64_t forward_ns(const struct facts *f, const char *place)
{
    const struct lines *all = facts_lines(f, LINES_STEP);
    const struct line *call = NULL;
    int64_t ns = 0;
    for (size_t i = 0; i < all->count && !call; i++)
        if (place && strcmp(all->at[i].place, place) == 0)
            call = &all->at[i];
    for (size_t i = 0; call && i < all->count; i++) {
        const struct line *l = &all->at[i];
        bool beside = strcmp(l->file, call->file) == 0 && strcmp(l->function, call->function) == 0;
        if (l == call || (beside && l->part_ns[PART_FORWARD] <= call->part_ns[PART_FORWARD]))
            ns += l->part_ns[PART_FORWARD];
    }
    return ns;
}

/* Without a GPU: the program reads a result behind most calls. That may choose an action, whose answer the next call needs. */
static bool reads_results(const struct facts *f, const struct query_module *m)
{
    const struct timeline *t = f->tl;
    const struct thread *th = &t->threads[f->steps.main_thread];
    int64_t n = 0;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        uint32_t step = query_step_at(f, t->ranges[i].start_ns);
        n += step != TL_NONE && f->steps.at[step].used &&
             strncmp(tl_text(t, t->ranges[i].name), "read ", 5) == 0;
    }
    return n * 2 >= m->times * (int64_t)f->steps.used;
}

/* Without a GPU: the calls have their share of the backward pass as of the forward pass, and one call for all takes as long as
 * one of them at best. */
static void check_on_cpu(const struct facts *f, struct arena *arena, struct outcome *o,
                         const struct query_module *m)
{
    const int64_t *part = f->breakdown_ns;
    int64_t forward = forward_ns(f, m->place);
    if (m->times < 2 || !forward || part[PART_FORWARD] <= 0)
        return;
    if (!m->in_turn && reads_results(f, m)) {
        o->why = arena_printf(arena, "the program reads what a call of %s computed before the next",
                              m->name);
        return;
    }
    double share = (double)forward / (double)part[PART_FORWARD];
    share = share < 1 ? share : 1;
    int64_t backward = (int64_t)(share * (double)part[PART_BACKWARD]);
    /* In a loop over samples that was measured the optimizer's step became shorter as well. */
    int64_t update = (int64_t)(share * (double)part[PART_OPTIMIZER]);
    int64_t ns = forward + backward + update;
    o->why = arena_printf(arena, "%lld calls of %s take %s %s", (long long)m->times, m->name,
                          time_text(arena, ns), scope_words(f)->per);
    if (ns * QUERY_SOME < f->step_ns)
        return;
    outcome_evidence(o, "calls of it in one forward pass", (double)m->times, "count",
                     "SELECT * FROM fact WHERE key = 'torch.modules.repeated'");
    outcome_evidence_per(o, "forward pass in its line, and smaller ones of the function",
                         ms(forward), "ms",
                         "SELECT file, line, function, state, looks FROM stack_time LIMIT 10");
    outcome_evidence_per(o, "such a share of the backward pass", ms(backward), "ms", NULL);
    outcome_evidence_per(o, "such a share of the optimizer's step", ms(update), "ms", NULL);
    set_remedy(o, m);
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(
        o, (int64_t)((double)ns * (1 - 1 / (double)m->times)),
        arena_printf(arena,
                     "the forward pass calls %s %lld times%s%s: with their share of the "
                     "backward pass and the optimizer's step they take up to %s of %s %s%s",
                     m->name, (long long)m->times, m->place ? ", at " : "",
                     m->place ? m->place : "", time_text(arena, ns), time_text(arena, f->step_ns),
                     scope_words(f)->per,
                     m->in_turn ? "; each call gets what the one before computed" : ""));
}

static void check_repeated_calls(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_module m = query_module_of(f->tl, FACT_TORCH_MODULES_REPEATED);
    bool told = f->on_cpu ? facts_line_looks(f) >= LINES_LEAST : facts_gpu_lines(f)->module_ns > 0;
    if (!timeline_meta(f->tl, FACT_TORCH_VERSION) || !told) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: which modules are called, and what they launch (gpuprof run "
                 "records it of PyTorch programs, from Python 3.11 on, unless they compile)";
        return;
    }
    o->why = "the forward pass calls no module again and again";
    if (f->on_cpu) {
        check_on_cpu(f, arena, o, &m);
        return;
    }
    if (m.times < 2)
        return;
    if (chooses_actions(f, &m)) {
        o->why = arena_printf(arena, "the program reads what a call of %s chose before the next",
                              m.name);
        return;
    }
    const bool *marks = query_module_ops(f, arena, &m);
    if (!marks)
        return;
    struct query_ops ops = query_ops_of(f, takes, marks);
    /* A loop that calls a module does nothing else. */
    ops.idle_ns = query_idle_before(f, marks);
    int64_t cost = per_step(f, ops.busy_ns + ops.idle_ns);
    o->why = arena_printf(arena, "%lld calls of %s take %s %s, which one call would take as well",
                          (long long)m.times, m.name, time_text(arena, cost), scope_words(f)->per);
    if (cost * QUERY_SOME < f->step_ns || ops.count == 0 ||
        (ops.busy_ns / ops.count > RULES_SHORT_CALL_NS && ops.idle_ns * 2 < ops.busy_ns))
        return;
    add_evidence(f, o, &m, &ops);
    set_remedy(o, &m);
    o->edit = (struct edit){.kind = &edit_fuse,
                            .at.op_marks = spared(f, arena, &m, marks),
                            .best_case = m.in_turn && !m.sequence,
                            .fuse = {.good = 1.0 / (double)m.times, .bad = 1, .loop = true}};
    o->error_class = ERROR_STRUCTURAL;
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "the forward pass calls %s %lld times%s%s, for %lld launches with "
                               "its backward pass: %s of the GPU's time %s, work and idle%s",
                               m.name, (long long)m.times, m.place ? ", at " : "",
                               m.place ? m.place : "", (long long)each_step(f, ops.count),
                               time_text(arena, cost), scope_words(f)->per,
                               m.in_turn ? "; each call gets what the one before computed" : ""));
    outcome_example_op(o, f->tl, ops.longest, "longest of them");
}

const struct rule rule_repeated_calls = {
    .id = "repeated-calls",
    .title = "Call the module once for all, not once for each",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_repeated_calls,
    .asks_cpu = true,
    .looks_for = "A module with weights that one forward pass calls four times or more, with short "
                 "kernels or idle time of the GPU before them, a tenth of the step in all; on a "
                 "CPU a line with such calls that takes as much.",
    .doc = "A loop in Python over points in time, crops, pairs or objects calls a module for each: "
           "every call launches all of its kernels, and each computes little. One call with the "
           "inputs stacked along the batch does the same work in as many launches as one of them "
           "needs. If each call needs the result of the one before, the library's recurrent layers "
           "take the whole sequence in one call; of other cells a CUDA graph or a compiler "
           "shortens the launches, and the saving is a bound. A module that is called for each "
           "layer with the same weights looks alike.",
    .remedy = {.action = ACTION_CALL_ONCE, .object.kind = OBJECT_CALL},
    .tips = {{"no-python-loops", "Do not loop over tensors or elements in Python", NULL},
             {"whole-sequences", "Give recurrent layers whole sequences, not one point in time",
              NULL}},
};
