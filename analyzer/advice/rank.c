/* Asks every rule, and silences findings that save less than 1 % of the step at most: they are not
 * worth the user's time. order.c ranks the others. */

#include "analyzer/advice/passes.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/warm.h"

#include <stdlib.h>
#include <string.h>

static const char *add_missing(struct advice *a, const char *before, const char *what,
                               const char *how)
{
    return arena_printf(&a->arena, "%s%s%s%s%s%s", before, *before ? "; " : "", what,
                        how ? " (" : "", how ? how : "", how ? ")" : "");
}

/* %s: scope_words()->of, the unit whose parts the ranges mark. */
#define MARK_RANGES                                                                                \
    "profile with ProfilerActivity.CPU, nsys profile --trace=cuda,nvtx, "                          \
    "or mark the parts %s with NVTX ranges"

/* What a profile may lack, and how to record it; `how` is NULL if no advice is valid in general. */
static const struct lack {
    uint32_t bit; /* of enum have */
    const char *what, *how;
} lacks[] = {
    {HAVE_KERNELS, "kernels", "profile with ProfilerActivity.CUDA, or gpuprof run"},
    {HAVE_COPIES, "copies", "profile with ProfilerActivity.CUDA, or gpuprof run"},
    {HAVE_MEMORY_KINDS, "the memory kinds of copies",
     "gpuprof run records them; ROCm's profiler does not"},
    {HAVE_API, "CUDA calls",
     "profile with ProfilerActivity.CUDA, nsys profile --trace=cuda, or gpuprof run"},
    {HAVE_SYNC, "synchronisations", "gpuprof run records them"},
    {HAVE_EVENTS, "events", "gpuprof run records them"},
    {HAVE_RANGES, "NVTX ranges", MARK_RANGES},
    {HAVE_CALLS, "library calls", "gpuprof run records them"},
    {HAVE_LOADER, "data loading", "gpuprof run records it"},
    {HAVE_STEPS, "steps that repeat",
     "record three or more of them, marked by profiler.step() or an NVTX range 'step'"},
    {HAVE_DEVICE, "the GPU's properties",
     "gpuprof run records them; nsys exports of GPU metrics have them"},
    {HAVE_MEMSETS, "memsets", "profile with ProfilerActivity.CUDA, or gpuprof run"},
    {HAVE_COLLECTIVES, "collectives", NULL},
    {HAVE_RANKS, "all ranks", "pass the files of all ranks, or their folder"},
    {HAVE_HOST, "samples of the host", "gpuprof run records them"},
    {HAVE_NODES, "what runs inside the CUDA graphs",
     "nsys profile --cuda-graph-trace=node, or torch.profiler"},
    {HAVE_WAITS, "what the host waits for",
     "profile with ProfilerActivity.CPU, nsys profile --trace=cuda,nvtx,osrt, or gpuprof run"}};
enum { LACKS = sizeof lacks / sizeof *lacks };
_Static_assert(LACKS == (int)HAVE_KINDS, "a kind of data has no words");

static const char *how_to_record(struct advice *a, const struct lack *l)
{
    return l->bit == HAVE_RANGES ? arena_printf(&a->arena, MARK_RANGES, scope_words(a->facts)->of)
                                 : l->how;
}

/* Returns in words what the rule needs and the profile lacks, and how to record it. */
static const char *missing_text(struct advice *a, uint32_t missing)
{
    const char *source = timeline_meta(a->facts->tl, "source");
    /* gpuprof run recorded it: recording again in that way does not help */
    bool ours = source && strcmp(source, "run") == 0;
    bool useless = ours || (a->facts->tl->op_count == 0 && query_other_accelerator(a->facts));
    const char *all = "";
    for (size_t i = 0; i < LACKS && all; i++) {
        const char *list = lacks[i].what;
        if (!(missing & lacks[i].bit))
            continue;
        missing &= ~lacks[i].bit;
        for (size_t k = i + 1; k < LACKS && list; k++)
            if (missing & lacks[k].bit && lacks[i].how && lacks[k].how &&
                strcmp(lacks[i].how, lacks[k].how) == 0) {
                list = arena_printf(&a->arena, "%s, %s", list, lacks[k].what);
                missing &= ~lacks[k].bit;
            }
        all = list ? add_missing(a, all, list, useless ? NULL : how_to_record(a, &lacks[i])) : all;
    }
    return all ? arena_printf(&a->arena, "not recorded: %s", all) : "data is missing";
}

/* True for copies between host and GPU: only these have a kind of host memory that could be
 * recorded. */
static bool crosses_bus(const struct op *o)
{
    return o->kind == OP_COPY && (o->copy_kind == COPY_H2D || o->copy_kind == COPY_D2H);
}

/* Returns the ns from the GPU's first work to its last within the window. */
static int64_t stretch_of_work(const struct facts *f)
{
    const struct step *s = &f->steps.at[0];
    int64_t from = f->tl->gpu_start_ns, to = f->tl->gpu_end_ns;
    return (to < s->end_ns ? to : s->end_ns) - (from > s->start_ns ? from : s->start_ns);
}

/* Returns the most that a change other than of start-up can save, in ns. In a window that is mostly
 * start-up this is the rest of the time between the GPU's first work and its last. It is 0 if
 * start-up fills nearly all of that too: then the rest of the window shows nothing. */
static int64_t most_to_save(const struct facts *f)
{
    if (!analysis_of_window(f))
        return f->step_ns;
    struct query_warm w = query_warm_up(f);
    int64_t work_ns = stretch_of_work(f);
    if (2 * w.ns <= f->step_ns)
        return f->step_ns;
    int64_t rest_ns = work_ns - w.inside_ns;
    return rest_ns * 100 < work_ns * ADVICE_REST_PCT ? 0 : rest_ns;
}

/* Returns the kinds of data that rules may use (bits of enum have). */
static uint32_t have_of(const struct advice *a, int64_t most_ns)
{
    uint32_t have = (a->facts->tl->have & ~(uint32_t)HAVE_STEPS) | HAVE_NODES;
    int64_t kernels_ns = 0, opaque_ns = 0;
    bool crossed = false;
    for (size_t i = 0; i < a->facts->tl->op_count; i++) {
        const struct op *o = &a->facts->tl->ops[i];
        int64_t ns = o->end_ns - o->start_ns;
        crossed |= crosses_bus(o);
        kernels_ns += o->kind == OP_KERNEL ? ns : 0;
        opaque_ns += o->in_graph == GRAPH_WHOLE ? ns : 0;
    }
    if (have & HAVE_COPIES && !crossed)
        have |= HAVE_MEMORY_KINDS;
    if (have & HAVE_RANGES || a->facts->tl->os_call_count)
        have |= HAVE_WAITS;
    if (opaque_ns * QUERY_SOME > kernels_ns)
        have &= ~(uint32_t)HAVE_NODES;
    return a->facts->step_ns <= 0 || query_thin(a->facts, NULL) || most_ns == 0 ? have
                                                                                : have | HAVE_STEPS;
}

static int64_t at_most(int64_t v, int64_t limit)
{
    return v < limit ? v : limit;
}

enum {
    OF_GPU = HAVE_KERNELS | HAVE_COPIES | HAVE_MEMORY_KINDS | HAVE_API | HAVE_SYNC | HAVE_EVENTS |
             HAVE_CALLS | HAVE_DEVICE | HAVE_MEMSETS | HAVE_COLLECTIVES | HAVE_NODES
};

/* Returns what the rule needs of this program (bits of enum have). */
static uint32_t needs_of(const struct facts *f, const struct rule *r)
{
    return r->needs & ~(f->on_cpu && r->asks_cpu ? (uint32_t)OF_GPU : 0);
}

bool outcome_wants_gpu(const struct facts *f, const struct outcome *o)
{
    return f->on_cpu && o->verdict == RULE_CANNOT_TELL && needs_of(f, o->rule) & OF_GPU;
}

static void ask(struct advice *a, struct outcome *o, uint32_t have, int64_t most_ns)
{
    if (analysis_of_window(a->facts) && !o->rule->in_window)
        have &= ~(uint32_t)HAVE_STEPS;
    uint32_t missing = needs_of(a->facts, o->rule) & ~have;
    if (missing) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = outcome_wants_gpu(a->facts, o) ? "it checks GPU work, and this run had none"
                                                : missing_text(a, missing);
        return;
    }
    o->rule->check(a->facts, &a->arena, o);
    if (o->later)
        outcome_in_program(a->facts, &a->arena, o);
    if (o->verdict != RULE_FIRES)
        return;
    /* Sums over streams that run at the same time can exceed the step; a saving cannot. */
    int64_t of_ns = outcome_of_ns(a->facts, o);
    int64_t limit = o->rule->start_up || o->of_run || most_ns == 0 ? of_ns : most_ns;
    o->limit_ns = o->limit_ns > 0 && o->limit_ns < limit ? o->limit_ns : limit;
    o->saves_mid_ns = at_most(o->saves_mid_ns, o->limit_ns);
    o->saves_high_ns = at_most(o->saves_high_ns, o->limit_ns);
    int least_pct = analysis_of_window(a->facts) ? ADVICE_WINDOW_PCT : 100 / QUERY_WORTH;
    if (o->saves_high_ns <= 0 || o->saves_high_ns * 100 < of_ns * least_pct) {
        o->verdict = RULE_SILENT;
        o->why =
            arena_printf(&a->arena, "would save at most %.3f ms, under %d %% %s",
                         (double)o->saves_high_ns / 1e6, least_pct, outcome_scope(a->facts, o)->of);
        return;
    }
    outcome_in_program(a->facts, &a->arena, o);
}

const struct rule *rule_find(const char *id)
{
    for (size_t i = 0; i < rule_count; i++)
        if (strcmp(rules[i]->id, id) == 0)
            return rules[i];
    return NULL;
}

const char *rule_title(const struct facts *f, const struct rule *r)
{
    return r->window_title && analysis_of_window(f) ? r->window_title : r->title;
}

int rules_ask(struct advice *a, struct err *e)
{
    a->outcomes = arena_array(&a->arena, rule_count, sizeof *a->outcomes);
    a->ranked = arena_array(&a->arena, rule_count, sizeof *a->ranked);
    if (!a->outcomes || !a->ranked)
        return err_no_memory(e);
    a->outcome_count = rule_count;
    int64_t most_ns = most_to_save(a->facts);
    uint32_t have = have_of(a, most_ns);
    for (size_t i = 0; i < rule_count; i++) {
        a->outcomes[i].rule = rules[i];
        a->outcomes[i].title = rule_title(a->facts, rules[i]);
        a->outcomes[i].remedy = rules[i]->remedy;
        ask(a, &a->outcomes[i], have, most_ns);
    }
    return 0;
}
