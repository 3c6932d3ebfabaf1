/* Fires if some steps repeatedly do additional work: a checkpoint, a validation, a log, a compilation. They are
 * not part of the usual step, but take their share of every run. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/facts/lines.h"
#include "analyzer/queries/calls.h"
#include "analyzer/queries/training/actions.h"
#include "analyzer/queries/training/eval.h"
#include "analyzer/queries/query.h"
#include "wire/fact_keys.h"

/* Returns the line with most of the time of these steps, or NULL if none has, or if no samples were
 * taken. */
static const struct line *line_of(const struct facts *f)
{
    const struct lines *l = facts_lines(f, LINES_OTHER);
    return l->count && l->at[0].ns * 2 >= l->ns ? &l->at[0] : NULL;
}

/* "; the evaluation makes a graph that no backward pass goes through"; "" if it does not, or if none was
 * recorded. */
static const char *graph_of_evaluation(const struct facts *f, struct arena *arena,
                                       struct outcome *o)
{
    int64_t evaluations = 0;
    const char *nodes = timeline_meta(f->tl, FACT_TORCH_EVALUATION_NODES),
               *read = timeline_meta(f->tl, FACT_TORCH_EVALUATION_GRAD_ENABLED);
    if ((!nodes && !read) || !query_evaluating(f, arena, &evaluations) || evaluations == 0)
        return "";
    o->remedy.conditions[CONDITION_KEEPS_GRAPH] = true;
    return arena_printf(
        arena, "; the evaluation makes a graph%s%s%s that no backward pass goes through%s%s",
        nodes ? " of " : "", nodes ? nodes : "", nodes ? " nodes" : "",
        read ? ", and results with it are read at " : "", read ? read : "");
}

/* True if the GPU idles for most of these steps, and no line of them waits for a loader, as an
 * evaluation's does. */
static bool calls_are_small(const struct facts *f)
{
    const struct lines *l = facts_lines(f, LINES_OTHER);
    int64_t idle = 0;
    for (size_t i = 0; i < f->gap_count; i++)
        if (f->gaps[i].step != TL_NONE && f->steps.at[f->gaps[i].step].other)
            idle += f->gaps[i].end_ns - f->gaps[i].start_ns;
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].loads)
            return false;
    return l->count && idle * 100 >= f->other_ns * (int64_t)f->other_steps * RULES_ACTING_IDLE_PCT;
}

/* "; in each of them the program calls the model 256 times ..."; "" if no agent acts in these steps. */
static const char *acts_in_them(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t each = query_actions(f).other / (int64_t)f->other_steps;
    if (each < RULES_ACTIONS || !calls_are_small(f))
        return "";
    o->title = "Ask the model for more values in each call";
    o->remedy.action = ACTION_CHOOSE_ACTIONS_TOGETHER;
    outcome_evidence(o, "forward passes of such a step whose result is read before the next one",
                     (double)each, "count", NULL);
    return arena_printf(arena,
                        "; in each of them the program calls the model %lld times, and reads the "
                        "result before it calls it again",
                        (long long)each);
}

/* True if such steps are no chance: three of many, two of few, or two in which the program evaluates. */
static bool recur(const struct facts *f, struct arena *arena, size_t all)
{
    int64_t evaluations = 0;
    if (f->other_steps >= RULES_PAUSES || (f->other_steps >= 2 && all <= RULES_FEW_STEPS))
        return true;
    return f->other_steps >= 2 && query_evaluating(f, arena, &evaluations) && evaluations >= 2;
}

static void check_other_steps(const struct facts *f, struct arena *arena, struct outcome *o)
{
    size_t all = steps_like(&f->steps) + f->other_steps;
    int64_t more = f->other_ns - f->step_ns;
    o->why = arena_printf(arena, "%zu steps contain other work", f->other_steps);
    if (more <= 0 || !recur(f, arena, all))
        return;
    int64_t each = (int64_t)((double)more * (double)f->other_steps / (double)all);
    if (each * QUERY_WORTH < f->run_ns)
        return;
    const struct line *l = line_of(f);
    struct query_calls calls = {.place = NULL};
    char text[512];
    const char *most = l ? line_text(l, text, sizeof text) : NULL;
    if (!l)
        calls = query_calls(f, arena, LINES_OTHER, facts_lines(f, LINES_OTHER)->ns / 2);
    if (calls.place)
        most = query_calls_text(&calls, arena);
    outcome_evidence(o, "steps with other work", (double)f->other_steps, "count", NULL);
    outcome_evidence(o, "such a step, on average", ms(f->other_ns), "ms", NULL);
    outcome_evidence(o, "any other step", ms(f->step_ns), "ms", NULL);
    outcome_evidence(o, "any step, on average", ms(f->run_ns), "ms", NULL);
    outcome_evidence(o, "that work, spread over all steps", ms(each), "ms", NULL);
    if (most)
        outcome_evidence(o, "of such a step, in its line", ms(l ? l->ns : calls.ns), "ms",
                         "SELECT file, line, function, looks FROM stack_time LIMIT 10");
    o->of_run = true;
    o->error_class = ERROR_RERUN_DECIDES; /* how much of it can go or move is not known */
    o->remedy.object.place = l ? l->place : calls.place;
    if (l && l->compiles) {
        o->title = "Compile once, not anew for other values";
        o->remedy.action = ACTION_COMPILE_ONCE;
    }
    outcome_fires(o, each,
                  arena_printf(arena,
                               "%zu of %zu steps do other work besides and take %s in place of %s, "
                               "which is %s for each step of the run%s%s%s%s",
                               f->other_steps, all, time_text(arena, f->other_ns),
                               time_text(arena, f->step_ns), time_text(arena, each),
                               most ? "; most of it: " : "", most ? most : "",
                               graph_of_evaluation(f, arena, o), acts_in_them(f, arena, o)));
}

const struct rule rule_other_steps = {
    .id = "other-steps",
    .title = "Do the extra work of some steps less often, or beside the loop",
    .needs = HAVE_STEPS,
    .check = check_other_steps,
    .looks_for =
        "Steps with work that the others lack (more kernels, other launches, or on the CPU "
        "more time outside the model), three or more of them (two of 16 steps, or two "
        "evaluations), and their lines; "
        "whether torch.compile works in them, or an agent acts.",
    .doc = "A checkpoint after every short epoch, a validation every few steps, or pictures for a "
           "log are left out of the step that all other numbers are about. Where they come often "
           "they take most of the run. The bound is all of that work, spread over all steps of the "
           "run, so it may be longer than a usual step; its share is that of all steps' time. How "
           "much of it can go, move to a thread or become rarer only the program's author knows.",
    .remedy = {.action = ACTION_MOVE_RARE_WORK, .object.kind = OBJECT_PROGRAM},
    .tips = {{"rare-work", "Save checkpoints and log beside the loop, or less often", NULL}},
};
