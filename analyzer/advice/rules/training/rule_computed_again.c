/* Fires if functions or modules of the program compute again what they have computed from the same
 * tensors. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/facts/lines.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/kernels/computed.h"

#include <stdlib.h>
#include <string.h>

struct again {
    struct query_computed told;
    bool *ops, *calls; /* what goes: GPU work, and its launches */
    int64_t *by_line;  /* by index in timeline.stacks */
    uint32_t largest;  /* the line with most of it */
    size_t module; /* that line is in this module of `told`; QUERY_SAME_MODULES: in a function */
};

static enum query_take takes(const struct facts *f, uint32_t op, const void *marks)
{
    (void)f;
    return ((const bool *)marks)[op] ? QUERY_ALL : QUERY_NO;
}

/* Marks the share of their work that need not be done. Where the results are kept only for some calls,
 * that share of each hundred launches goes. */
static void mark(const struct facts *f, struct again *a)
{
    int64_t owed = 0, most = 0;
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        const struct op *o = &f->tl->ops[i];
        size_t module;
        int64_t pct = query_used(f, i) && o->api != TL_NONE
                          ? query_computes_again(f, &a->told, i, &module)
                          : 0;
        if (pct <= 0)
            continue;
        uint32_t stack = tl_line_stack(tl_op_line(f->tl, i));
        a->by_line[stack] += o->end_ns - o->start_ns;
        if (a->by_line[stack] > most) {
            most = a->by_line[stack];
            a->largest = stack;
            a->module = module;
        }
        owed += pct;
        if (owed < 100)
            continue;
        owed -= 100;
        a->ops[i] = a->calls[o->api] = true;
    }
}

static bool cannot_tell(const struct query_computed *told, struct outcome *o)
{
    if (told->known)
        return false;
    o->verdict = RULE_CANNOT_TELL;
    o->why = "not recorded: what functions of the program read, and from which lines work comes "
             "(gpuprof run "
             "records it of PyTorch programs, from Python 3.11 on, unless they compile)";
    return true;
}

/* Of a module: which, and where it is called again. */
static void describe_module(const struct facts *f, struct arena *arena, const struct again *a,
                            struct outcome *o, int64_t cost)
{
    const struct query_same *s = &a->told.modules[a->module];
    const char *place = s->module.place;
    o->title = arena_printf(arena, "Keep what %s computes from the same tensors", s->module.name);
    o->remedy.object.place = place;
    o->remedy.conditions[CONDITION_IN_A_STEP] = true;
    o->remedy.conditions[CONDITION_PARAMETRIZED] = s->parametrized;
    outcome_evidence(o, "of its calls that read the same as one before in their forward pass",
                     100.0 * (double)s->again / (double)s->calls, "%", NULL);
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "%s is called again%s%s%s with the same tensors, unchanged, and the "
                               "same weights: %lld of %lld calls in the steps that were looked at. "
                               "That takes %s of the GPU's time %s, work and idle",
                               s->module.name, place ? " at " : "", place ? place : "",
                               a->told.module_count > 1 ? ", as other modules are," : "",
                               (long long)s->again, (long long)s->calls, time_text(arena, cost),
                               scope_words(f)->per));
}

/* The line with most of the work, and the function that it is in, which the title names. */
static void describe(const struct facts *f, struct arena *arena, const struct again *a,
                     struct outcome *o, int64_t cost)
{
    const struct gpu_lines *g = facts_gpu_lines(f);
    const struct row_stack *s = &f->tl->stacks[a->largest];
    const char *function = tl_text(f->tl, s->function), *place = a->told.place;
    for (size_t i = 0; i < g->count; i++) {
        const struct row_stack *line = &f->tl->stacks[g->at[i].stack];
        if (line->file == s->file && line->function == s->function && line->line == s->line)
            place = g->at[i].place;
    }
    o->title = arena_printf(arena, "Keep what %s() computes from the same tensors", function);
    o->remedy.object.place = place;
    o->remedy.conditions[CONDITION_SAME_INPUT] = true;
    outcome_evidence(o, "of its calls that read the same as one before", (double)a->told.pct, "%",
                     NULL);
    outcome_fires(
        o, cost,
        arena_printf(
            arena,
            "%s() at %s%s takes %s of the GPU's time %s, work and idle; in the steps that "
            "were looked at, %lld %% of the calls read the same tensors, unchanged, as one "
            "before",
            function, place ? place : "?",
            strchr(a->told.names, ';') ? ", with other functions that compute again," : "",
            time_text(arena, cost), scope_words(f)->per, (long long)a->told.pct));
}

static void check_computed_again(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct again a = {.told = query_computed(f, arena)};
    if (cannot_tell(&a.told, o))
        return;
    o->why = "no function that launches work computes again from the same tensors";
    if (!a.told.names && !a.told.module_count)
        return;
    a.ops = arena_array(arena, f->tl->op_count + 1, sizeof *a.ops);
    a.calls = arena_array(arena, f->tl->api_count + 1, sizeof *a.calls);
    a.by_line = arena_array(arena, f->tl->stack_count + 1, sizeof *a.by_line);
    if (!a.ops || !a.calls || !a.by_line)
        return;
    mark(f, &a);
    struct query_ops ops = query_ops_of(f, takes, a.ops);
    ops.idle_ns = query_idle_before(f, a.ops);
    int64_t cost = per_step(f, ops.busy_ns + ops.idle_ns);
    o->why = arena_printf(arena, "what %s compute again takes %s %s",
                          a.told.names ? a.told.names : a.told.modules[0].module.name,
                          time_text(arena, cost), scope_words(f)->per);
    if (cost * QUERY_SOME < f->step_ns)
        return;
    o->edit = (struct edit){.kind = &edit_remove,
                            .at = {.op_marks = a.ops, .call_marks = a.calls},
                            .remove = {.pauses = true}};
    o->error_class = ERROR_STRUCTURAL;
    outcome_evidence_per(o, "GPU time of what is computed again", ms(per_step(f, ops.busy_ns)),
                         "ms", "SELECT * FROM line_gpu_time LIMIT 20");
    outcome_evidence_per(o, "its launches", (double)each_step(f, ops.count), "count", NULL);
    if (a.module < a.told.module_count)
        describe_module(f, arena, &a, o, cost);
    else
        describe(f, arena, &a, o, cost);
    outcome_example_op(o, f->tl, ops.longest, "longest of it");
}

const struct rule rule_computed_again = {
    .id = "computed-again",
    .title = "Keep what is computed from the same tensors",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_computed_again,
    .looks_for = "Functions of the program that launch work, a tenth of the step in all, and of "
                 "whose calls half or more could read the same tensors as a call before, none of "
                 "which was written since; modules of which a fifth of the calls or more could, in "
                 "one forward pass.",
    .doc =
        "Positions, angles, features of a fixed geometry, embeddings of the same words and weights "
        "that are rounded or normalised depend on no batch, and need computing once, or once per "
        "step if they depend on weights that learn. In a few steps gpuprof looks at what a call of "
        "each function that launches work can read: its arguments, its object's attributes, the "
        "globals that it names, and what it has closed over. Where all tensors are the same ones "
        "and unwritten, all other values equal, and no name in it draws random numbers, the result "
        "is the same. A function that reads a batch is never named, and neither are single lines "
        "of "
        "it: move such work into a function of its own, and keep what that returns. Of modules "
        "that learn it looks at calls within one forward pass: a generator that runs twice for the "
        "same noise, a model that is asked twice about one batch, a weight that is normalised "
        "anew for each point in time. Dropout and other modules that draw numbers, those with "
        "hooks, "
        "and those of other packages are left out.",
    .remedy = {.action = ACTION_KEEP_RESULTS, .object.kind = OBJECT_CALL},
    .tips = {{"keep-constants", "Compute once what depends on no batch", NULL}},
};
