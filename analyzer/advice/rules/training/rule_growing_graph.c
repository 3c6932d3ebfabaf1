/* Steps that do more and more: what one hands to the next carries the autograd graph of all before
 * it, and each backward pass goes through them again. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/facts/lines.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/training/passes.h"
#include "base/order.h"
#include "wire/fact_keys.h"

#include <stdlib.h>
#include <string.h>

struct growth {   /* in operations of the GPU */
    int64_t each; /* more in a step than in the one before it */
    int64_t first, last, mean;
    int64_t own; /* what a step would have if nothing grew */
};

/* By how much most steps have more than the one before them; 0: not by the same number. The first
 * step and the last may be cut off. */
static int64_t growth_of(const struct steps *s, struct arena *arena)
{
    int64_t *more = arena_array(arena, s->count + 1, sizeof *more);
    size_t n = 0, same = 0;
    for (size_t i = 2; more && i + 1 < s->count; i++)
        if (s->at[i].length_ns && s->at[i - 1].length_ns)
            more[n++] = (int64_t)s->at[i].ops - (int64_t)s->at[i - 1].ops;
    if (n < (size_t)RULES_GROWTHS)
        return 0;
    qsort(more, n, sizeof *more, order_int64);
    int64_t each = more[n / 2];
    for (size_t i = 0; i < n; i++)
        same += llabs(more[i] - each) * RULES_GROWTH_NEAR <= each;
    return each > 0 && same * 100 >= n * (size_t)RULES_GROWTH_PCT ? each : 0;
}

/* Are the steps' numbers those of the run? A profiler's trace may begin anywhere in it. */
static bool numbered(const struct facts *f)
{
    const char *source = timeline_meta(f->tl, "source");
    return source && strcmp(source, "run") == 0;
}

static struct growth find_growth(const struct facts *f, struct arena *arena)
{
    const struct steps *s = &f->steps;
    struct growth g = {.each = growth_of(s, arena)};
    int64_t sum = 0, n = 0;
    for (size_t i = 0; g.each && i < s->count; i++) {
        if (!s->at[i].used && !s->at[i].slow)
            continue;
        if (n++ == 0) {
            g.first = s->at[i].ops;
            g.own = numbered(f) ? g.first - g.each * (facts_step_number(f, i) - 1) : 0;
        }
        g.last = s->at[i].ops;
        sum += s->at[i].ops;
    }
    g.mean = n ? sum / n : 0;
    g.own = g.own > g.each ? g.own : g.each; /* one backward pass is its own */
    return g;
}

/* The line whose backward work is most; NULL: not known. */
static const struct gpu_line *line_of(const struct facts *f)
{
    const struct gpu_lines *g = facts_gpu_lines(f);
    const struct gpu_line *best = NULL;
    for (size_t i = 0; i < g->count; i++)
        if (g->at[i].backward_ns > (best ? best->backward_ns : 0))
            best = &g->at[i];
    return best;
}

/* Without a GPU: passes that go through the graphs of several steps, as the hook counted nodes. Where each step adds its own
 * graph, the mean of N passes goes through (N + 1) / 2 of them. */
static void check_on_cpu(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const char *told = timeline_meta(f->tl, FACT_TORCH_BACKWARD_AGAIN);
    const char *place = timeline_meta_place(f->tl, FACT_TORCH_BACKWARD_AGAIN);
    long long times = told ? strtoll(told, NULL, 10) : 0, each = query_passes_each(f, arena);
    double steps = (double)f->steps.count;
    if (!timeline_meta(f->tl, FACT_TORCH_VERSION)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: which backward passes keep their graph (gpuprof run records it of "
                 "PyTorch programs)";
        return;
    }
    o->why = "no backward pass was seen that goes through the graphs of earlier steps";
    if (!each || times < each + RULES_STEPS_BEHIND || steps < 2)
        return;
    int64_t ns = f->breakdown_ns[PART_BACKWARD];
    outcome_evidence(o, "backward passes through one graph", (double)times, "count",
                     "SELECT * FROM fact WHERE key = 'torch.backward.again'");
    outcome_evidence_per(o, "backward passes", ms(ns), "ms", NULL);
    o->remedy.object.place = place;
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(
        o, (int64_t)((double)ns * (1 - 2 / (steps + 1))),
        arena_printf(arena,
                     "up to %lld backward passes go through one graph%s%s: each goes through the "
                     "steps before it again, in %s %s",
                     times, place ? ", at " : "", place ? place : "", time_text(arena, ns),
                     scope_words(f)->per));
}

static void check_growing_graph(const struct facts *f, struct arena *arena, struct outcome *o)
{
    if (f->on_cpu) {
        check_on_cpu(f, arena, o);
        return;
    }
    struct growth g = find_growth(f, arena);
    o->why = "no step launches as many operations more than the one before it as all others do";
    if (!query_of_pytorch(f) || !g.each || g.mean <= g.own)
        return;
    const struct gpu_line *l = line_of(f);
    int64_t again = (int64_t)((double)f->step_ns * (1 - (double)g.own / (double)g.mean));
    outcome_evidence(o, "more in each step than in the one before it", (double)g.each, "count",
                     NULL);
    outcome_evidence(o, "operations of the first step that counts", (double)g.first, "count", NULL);
    outcome_evidence(o, "of the last one", (double)g.last, "count", NULL);
    outcome_evidence(o, "a step, on average", ms(f->step_ns), "ms", NULL);
    if (l)
        outcome_evidence_per(o, "the line's backward passes,", ms(l->backward_ns), "ms",
                             "SELECT * FROM line_gpu_time LIMIT 10");
    o->remedy.object.place = l ? l->place : NULL;
    o->error_class = ERROR_STRUCTURAL;
    outcome_fires(
        o, again,
        arena_printf(arena,
                     "each step launches %lld operations more than the one before it (%lld, then "
                     "up to %lld): its backward pass goes through the steps before it again%s%s",
                     (long long)g.each, (long long)g.first, (long long)g.last,
                     l ? ", most of it back through " : "", l ? l->place : ""));
}

const struct rule rule_growing_graph = {
    .id = "growing-graph",
    .title = "Detach what one step hands to the next",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_growing_graph,
    .asks_cpu = true,
    .looks_for = "Steps of which each has the same number of operations more than the one before "
                 "it, and the line whose backward passes take most. On a CPU: backward passes that "
                 "go through the graphs of several steps.",
    .doc = "A state, a running loss or an average that a step computes from the last one's keeps "
           "the autograd graph of all steps before it. Then backward(retain_graph=True) goes "
           "through all of them: steps become longer and longer, and memory grows with them. "
           "PyTorch asks for retain_graph=True where the graph should have been cut. The bound is "
           "all that the mean step has beside one step's own operations, by their number. A loss "
           "that is kept without detach(), and never goes backward again, costs memory alone, "
           "which this rule does not see. Training through time wants such a graph, over few "
           "steps.",
    .remedy = {.action = ACTION_DETACH_STATE, .object.kind = OBJECT_PROGRAM},
    .tips = {{"detached-state", "Detach hidden states and running losses between steps", NULL}},
};
