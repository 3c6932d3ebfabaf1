/* Fires if a loop of the program does with many small operations what one or a few could do: an
 * average over all parameters, a mask filled row by row, a loss that goes from pair to pair. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/kernels/piecewise.h"

/* Of a run that only launches, the pauses between launches; of one that reads, and of a loop whose
 * lines are known, all. */
static int64_t idle_of(const struct query_piecewise *p)
{
    return p->answers || p->visits ? p->idle_ns : p->ops.idle_ns;
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_piecewise *p)
{
    double count = (double)each_step(f, p->ops.count);
    outcome_evidence_per(
        o, p->visits ? "small operations of such lines and runs" : "small operations in such runs",
        count, "count", "SELECT * FROM kernel ORDER BY stream, start_ns");
    if (p->visits)
        outcome_evidence_per(o, "the line with most of them runs", (double)p->visits, "count",
                             "SELECT * FROM line_gpu_time LIMIT 20");
    if (p->runs)
        outcome_evidence(o, "in the longest run", (double)p->longest_run, "count", NULL);
    outcome_evidence(o, "mean length",
                     p->ops.count ? (double)p->ops.busy_ns / (double)p->ops.count / 1e3 : 0, "us",
                     NULL);
    outcome_evidence_per(o, "their GPU time", ms(per_step(f, p->ops.busy_ns)), "ms", NULL);
    outcome_evidence_per(o, "GPU idle between them", ms(per_step(f, idle_of(p))), "ms", NULL);
    if (p->answers)
        outcome_evidence_per(o, "of them, numbers that the host reads and waits for",
                             (double)each_step(f, p->answers), "count",
                             "SELECT * FROM copy WHERE kind = 2 AND bytes <= 64");
}

static const char *summary(const struct facts *f, struct arena *arena,
                           const struct query_piecewise *p, int64_t cost)
{
    int64_t answers = each_step(f, p->answers);
    const char *reads = answers ? arena_printf(arena,
                                               "; the host reads a number behind %lld of "
                                               "them, and waits for the GPU each time",
                                               (long long)answers)
                                : "";
    if (p->visits)
        return arena_printf(arena,
                            "%lld small operations %s come from a loop whose lines run up to %lld "
                            "times each%s%s: %s of the GPU's time, work and idle%s",
                            (long long)each_step(f, p->ops.count), scope_words(f)->per,
                            (long long)p->visits, p->line.place ? ", most of them at " : "",
                            line_found_text(&p->line, arena), time_text(arena, cost), reads);
    return arena_printf(arena,
                        "%lld small operations %s come one after another, in runs of up to %lld of "
                        "the same few kinds%s%s: %s of the GPU's time, work and idle%s",
                        (long long)each_step(f, p->ops.count), scope_words(f)->per,
                        (long long)p->longest_run, p->line.place ? ", launched at " : "",
                        line_found_text(&p->line, arena), time_text(arena, cost), reads);
}

static void check_piecewise_work(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_piecewise p = query_piecewise(f, arena);
    int64_t cost = per_step(f, p.ops.busy_ns + idle_of(&p));
    int64_t count = each_step(f, p.ops.count);
    o->why = arena_printf(arena, "%lld operations %s come in long runs of the same few",
                          (long long)count, scope_words(f)->per);
    if (!p.op_marks || count < QUERY_PIECES_LEAST || cost * QUERY_WORTH < f->step_ns)
        return;
    add_evidence(f, o, &p);
    o->edit = (struct edit){.kind = &edit_fuse, .at.op_marks = p.op_marks, .fuse.loop = true};
    if (p.answers)
        o->edit.at.call_marks = p.call_marks;
    o->remedy.object.place = p.line.place;
    o->remedy.conditions[CONDITION_FILLS] = p.fills;
    o->remedy.conditions[CONDITION_READS] = p.answers > 0;
    o->remedy.conditions[CONDITION_LOOP] = p.visits > 0;
    outcome_fires(o, cost, summary(f, arena, &p, cost));
    outcome_example_op(o, f->tl, p.ops.longest, "longest of them");
}

const struct rule rule_piecewise_work = {
    .id = "piecewise-work",
    .title = "Do at once what a loop does piece by piece",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_piecewise_work,
    .looks_for =
        "Runs of many small operations of the same few kinds (fills, copies, casts, sums, "
        "pointwise work, numbers that the host reads), launched one after another by the "
        "training thread, outside the optimizer and zero_grad(); and short operations of any "
        "kind from lines that one forward pass runs eight times or more in one module, with "
        "their backward pass.",
    .doc =
        "A Python loop over parameters, rows or boxes launches a kernel or three for each: every "
        "launch costs the host some microseconds, and the GPU hardly works meanwhile. Averages of "
        "parameters (EMA), masks filled row by row, gradients looked at one by one are such loops. "
        "Operations on lists of tensors, or one on the whole tensor, do the same in a few "
        "launches. Python's max(), sum(), `in` and `if` of a tensor's elements read each of them, "
        "and "
        "wait. torch.compile(model) does not reach such a loop. The line is the one that "
        "launches most of them, or, where launches carry no lines, the one where the thread was "
        "found most often meanwhile.",
    .remedy = {.action = ACTION_DO_AT_ONCE, .object.kind = OBJECT_CALL},
    .tips = {{"no-python-loops", "Do not loop over tensors or elements in Python", NULL}},
};
