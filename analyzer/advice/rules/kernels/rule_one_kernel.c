/* Fires if one kernel is most of the GPU's work: then what it computes, and for which line, matters
 * more than everything else that the GPU does. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/dominant.h"
#include "analyzer/queries/host.h"

#include <string.h>

/* Kernels of libraries on tensor cores are as fast as they can be. */
static bool is_tuned(const struct kernel_class *c)
{
    return c->tensor == TRI_YES || c->family == FAMILY_ATTENTION;
}

/* By operation: the kernel's launches. NULL without memory. */
static const bool *launches_of(const struct facts *f, const struct kernel_total *k,
                               struct arena *arena)
{
    const struct op *ops = f->tl->ops;
    bool *marks = arena_array(arena, f->tl->op_count + 1, sizeof *marks);
    for (size_t i = 0; marks && i < f->tl->op_count; i++)
        marks[i] = ops[i].kind == OP_KERNEL && ops[i].full_name == ops[k->longest].full_name;
    return marks;
}

/* For the title, which stands on one line beside its saving; the evidence has the whole name. */
static const char *short_name(const char *function, struct arena *arena)
{
    enum { LONGEST = 27 };
    if (!function)
        return "one kernel";
    return strlen(function) <= LONGEST ? function : arena_printf(arena, "%.24s...", function);
}

static void check_one_kernel(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_dominant d = query_dominant(f, arena);
    o->why = "no kernel takes more than half of the kernels' time";
    if (!d.kernel)
        return;
    double share = 100.0 * (double)d.kernel->total_ns / (double)f->totals.kernel_ns;
    o->why =
        is_tuned(&d.kernel->class)
            ? arena_printf(arena,
                           "%.0f %% of the kernels' time goes to %.100s, which "
                           "computes on tensor cores",
                           share, d.name)
            : arena_printf(arena, "%.0f %% of the kernels' time goes to %.100s, which is %s %s",
                           share, d.name, time_text(arena, d.ns), scope_words(f)->per);
    if (is_tuned(&d.kernel->class) || d.ns * 100 < query_step_with_core(f) * RULES_ONE_KERNEL_PCT)
        return;
    outcome_evidence_per(o, "its time", ms(d.ns), "ms", "SELECT * FROM kernel ORDER BY name");
    outcome_evidence(o, "of the kernels' time", share, "%", NULL);
    outcome_evidence_per(o, "its launches", (double)d.kernel->count / (double)f->steps.used,
                         "count", NULL);
    o->error_class = ERROR_KERNEL_MODEL; /* its time in another form is not known */
    const bool *marks = launches_of(f, d.kernel, arena);
    if (marks)
        o->edit = (struct edit){.kind = &edit_scale, .at.op_marks = marks, .best_case = true};
    o->limit_ns = d.ns; /* nothing else gets shorter by it */
    o->title = arena_printf(arena, "Look at %s, %.0f %% of the GPU's work",
                            short_name(d.function, arena), share);
    o->remedy.object.name = d.function;
    o->remedy.object.place = d.line;
    remedy_text(&o->remedy, PARAM_CALL, d.function);
    outcome_fires(o, d.ns,
                  arena_printf(arena,
                               "%.0f %% of the kernels' time, %s of %s %s, goes to "
                               "%.100s%s%s%s%s%s",
                               share, time_text(arena, d.ns), time_text(arena, f->step_ns),
                               scope_words(f)->per, d.name, d.in ? ", in '" : "", d.in ? d.in : "",
                               d.in ? "'" : "", d.line ? ", launched at " : "",
                               d.line ? d.line : ""));
    outcome_example_op(o, f->tl, d.kernel->longest, "longest of them");
}

const struct rule rule_one_kernel = {
    .id = "one-kernel",
    .title = "Look at the kernel that is most of the GPU's work",
    .needs = HAVE_KERNELS,
    .check = check_one_kernel,
    .cheaper = true,
    .stands_in = true,
    .looks_for = "A kernel with more than half of the kernels' time, and a tenth of the step, that "
                 "does not compute on tensor cores.",
    .doc = "A single slow operator can be nearly all of a step: a distance matrix by a kernel that "
           "uses no fast units, a sort, a scan, an index into a large table. No timeline "
           "shows which form of it is faster, so the bound is the time that it takes. "
           "Its line and the "
           "operator in its name say where to look; Nsight Compute shows what limits it. It gives "
           "way to a finding about the same kernel that says how to make it cheaper and saves a "
           "good part of that.",
    .remedy = {.action = ACTION_LOOK_AT_KERNEL, .object.kind = OBJECT_KERNEL},
    .tips = {{"hot-kernel", "Find the kernel that takes most of the time, and start there", NULL}},
};
