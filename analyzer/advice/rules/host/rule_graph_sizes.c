/* Fires if compiled code that should run as CUDA graphs keeps getting new sizes: each size needs a
 * graph of its own, and until it has one its kernels are launched one by one. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/capture.h"
#include "analyzer/queries/once.h"
#include "wire/fact_keys.h"

#include <string.h>

/* Returns the mode that torch.compile was called with if that uses CUDA graphs, or NULL. */
static const char *wants_graphs(const struct facts *f)
{
    const char *mode = timeline_meta(f->tl, FACT_TORCH_COMPILE);
    bool graphs = mode && (strstr(mode, "'reduce-overhead'") || strstr(mode, "'max-autotune'"));
    return graphs ? mode : NULL;
}

static void check_graph_sizes(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const char *mode = wants_graphs(f);
    size_t captures = query_captures_seen(f);
    const int64_t *part = f->breakdown_ns;
    int64_t lost = part[PART_IDLE_LAUNCH] + part[PART_IDLE_HOST];
    struct query_capture s;
    o->why = "no compiled code that is to run as CUDA graphs";
    if (!mode && captures < RULES_PAUSES)
        return;
    if (query_capture(f, &s) < 0 || s.steps == 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    o->why =
        arena_printf(arena, "graphs launch %.0f %% of the kernels, and %zu of %zu steps are alike",
                     s.graph_pct, s.alike, s.steps);
    if (s.graph_pct > 50 || s.alike * 100 >= s.steps * RULES_SAME_STEPS_PCT ||
        lost * QUERY_WORTH < f->step_ns)
        return;
    o->remedy.object.place = mode ? timeline_meta_place(f->tl, FACT_TORCH_COMPILE) : NULL;
    outcome_evidence(o, "kernels that graphs launch", s.graph_pct, "%", NULL);
    outcome_evidence(o, "steps that launch the same kernels on the same grids",
                     100.0 * (double)s.alike / (double)s.steps, "%", NULL);
    outcome_evidence(o, "graphs captured in these steps", (double)captures, "count",
                     "SELECT a.* FROM api a JOIN string s ON s.id = a.name WHERE s.text LIKE "
                     "'cudaGraphInstantiate%'");
    outcome_evidence_per(o, "GPU idle while the host launches or does other work,", ms(lost), "ms",
                         NULL);
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, lost,
                  arena_printf(arena,
                               "%s is to run as CUDA graphs, but sizes change: only %zu of %zu "
                               "steps launch the same, graphs launch %.0f %% of the kernels, and "
                               "the GPU waits %s %s for the host",
                               mode ? mode : "the program", s.alike, s.steps, s.graph_pct,
                               time_text(arena, lost), scope_words(f)->per));
}

const struct rule rule_graph_sizes = {
    .id = "graph-sizes",
    .title = "Give code that runs as CUDA graphs a few fixed sizes",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_graph_sizes,
    .looks_for = "torch.compile with a mode that uses CUDA graphs, or captures in several steps, "
                 "while steps differ in kernels or grids and graphs launch less than half of them.",
    .doc = "A graph replays one size. For each new one torch.compile(mode='reduce-overhead') first "
           "runs the kernels one by one, then records and instantiates another graph, which takes "
           "far longer than a step. Pad or bucket lengths to a few sizes, or leave graphs out for "
           "the part whose size changes.",
    .remedy = {.action = ACTION_FIX_GRAPH_SIZES, .object.kind = OBJECT_PROGRAM},
    .program = {.now = FACT_TORCH_COMPILE},
    .tips = {{"fixed-shapes", "Keep shapes fixed, or pad them to a few sizes", NULL}},
};
