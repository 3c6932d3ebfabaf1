/* Names the largest saving, or the one to begin with, and what to do next, which is its remedy. */
#include "analyzer/advice/verdict.h"
#include "analyzer/advice/limits.h"
#include "analyzer/queries/dominant.h"
#include "analyzer/queries/query.h"
#include "base/size.h"

#include <string.h>

static double percent(int64_t ns, int64_t of_ns)
{
    return of_ns > 0 ? 100.0 * (double)ns / (double)of_ns : 0;
}

static double share(const struct advice *a, int64_t ns)
{
    return percent(ns, a->facts->step_ns);
}

/* Returns how to mark steps, for the tool that made this recording. */
static const char *mark_steps_text(const struct advice *a)
{
    const char *framework = timeline_meta(a->facts->tl, "framework");
    if (query_of_xla(a->facts))
        return "To see what a step could save, record several steps of the loop, each in "
               "jax.profiler.StepTraceAnnotation('train', step_num=i) or "
               "tf.profiler.experimental.Trace('train', step_num=i, _r=1).";
    return framework && strcmp(framework, "pytorch") == 0
               ? "To see what a step could save, record several steps of the loop: call "
                 "profiler.step() after each one, or put each one in torch.cuda.nvtx.range('step')."
               : "To see what a step could save, record several steps of the loop, each in an NVTX "
                 "range named 'step'.";
}

static const char *why_no_graph(const struct advice *a)
{
    for (size_t i = 0; i < a->outcome_count; i++)
        if (a->outcomes[i].rule->one_launch && a->outcomes[i].verdict != RULE_FIRES)
            return a->outcomes[i].why;
    return NULL;
}

/* True if the steps that count use several streams of the GPU. */
static bool several_streams(const struct facts *f)
{
    uint32_t first = TL_NONE;
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        if (!query_used(f, i))
            continue;
        if (first != TL_NONE && f->tl->ops[i].stream != first)
            return true;
        first = f->tl->ops[i].stream;
    }
    return false;
}

/* True if the calls that launched nearly all operations are known. */
static bool launches_recorded(const struct timeline *t)
{
    size_t unknown = 0;
    for (uint32_t i = 0; i < t->op_count; i++)
        unknown += t->ops[i].api == TL_NONE;
    return t->op_count > 0 && unknown * QUERY_SOME < t->op_count;
}

/* Returns which copies are exposed, for cases in which no rule has a remedy, or NULL. */
static const char *copies_text(struct advice *a)
{
    const struct totals *t = &a->facts->totals;
    const struct copy_total *c = NULL;
    for (size_t i = 0; i < t->copy_count; i++)
        if (!c || t->copies[i].exposed_ns > c->exposed_ns)
            c = &t->copies[i];
    if (!c || c->total_ns <= 0 || (c->kind != COPY_H2D && c->kind != COPY_D2H))
        return NULL;
    bool to = c->kind == COPY_H2D, one = c->count == 1;
    unsigned kind = to ? c->src_kind : c->dst_kind;
    char ns[24];
    const char *memory = kind == MEMORY_PAGEABLE  ? "pageable memory"
                         : kind == MEMORY_PINNED  ? "pinned memory"
                         : kind == MEMORY_MANAGED ? "managed memory"
                                                  : "host memory";
    return arena_printf(
        &a->arena,
        "Copy less, or beside kernels: %lld cop%s %s %s (%.1f MB at %.1f GB/s) take%s %s without "
        "compute%s.",
        (long long)c->count, one ? "y" : "ies", to ? "to the GPU from" : "from the GPU to", memory,
        (double)c->bytes / 1e6, (double)c->bytes / (double)c->total_ns, one ? "s" : "",
        time_words(ns, sizeof ns, c->exposed_ns),
        kind == MEMORY_PAGEABLE ? "; a buffer that is used more than once is worth pinning, one "
                                  "that is used once is not"
                                : "");
}

/* Returns what to do about the largest lost part if no finding comes near it, or NULL. */
static const char *unanswered(struct advice *a)
{
    int most = PART_COMM;
    for (int p = PART_COMM + 1; p < PART_COUNT; p++)
        if (a->facts->breakdown_ns[p] > a->facts->breakdown_ns[most])
            most = p;
    int64_t lost = a->facts->breakdown_ns[most];
    if (share(a, lost) < ADVICE_LOST_PCT ||
        (a->ranked_count && !(a->ranked[0]->rule->cheaper && a->ranked[0]->rule->stands_in) &&
         a->ranked[0]->saves_high_ns * 100 >= lost * ADVICE_ANSWERED_PCT))
        return NULL;
    const char *why = analysis_of_window(a->facts) ? NULL : why_no_graph(a);
    if (most == PART_IDLE_LAUNCH)
        return arena_printf(
            &a->arena, "Launch fewer kernels%s: %s.%s%s%s", scope_words(a->facts)->per_of,
            query_of_pytorch(a->facts) ? "torch.compile(model), fused operations, a larger batch"
                                       : "merge small kernels, or give each one more work",
            why ? " CUDA graph: " : "", why ? why : "", why ? "." : "");
    if (most == PART_COPY && analysis_of_window(a->facts))
        return copies_text(a);
    if (most == PART_UNEXPLAINED && launches_recorded(a->facts->tl))
        return "Record a longer part: when this recording began, the GPU may have been at work on "
               "what was launched before.";
    if (most == PART_UNEXPLAINED)
        return query_of_pytorch(a->facts)
                   ? "Record the host as well (ProfilerActivity.CPU and ProfilerActivity.CUDA, or "
                     "gpuprof run CMD): the recording lacks most of the calls that launched this "
                     "work."
                   : "Record the CUDA calls as well (nsys profile --trace=cuda,nvtx, or gpuprof "
                     "run CMD): the recording lacks most of the calls that launched this work.";
    if (most == PART_IDLE_QUEUED && !several_streams(a->facts))
        return "Find what the launched work waits for: consecutive graphs or other "
               "programs on this GPU (nvidia-smi); this program uses one stream. gpuprof report "
               "shows the longest gaps.";
    if (most == PART_IDLE_QUEUED)
        return "Find what the queued work waits for: events of other streams, consecutive graphs, "
               "or other programs on this GPU (nvidia-smi). gpuprof report shows the longest gaps.";
    return NULL;
}

/* Returns e.g. "23.0 to 33.6 ms per step (15 to 22 %)". */
static const char *saving_words(struct advice *a, const struct outcome *o)
{
    char low[24], high[24];
    const char *per = outcome_scope(a->facts, o)->per;
    int64_t of_ns = outcome_of_ns(a->facts, o);
    time_words(high, sizeof high, o->saves_high_ns);
    if (o->upper_bound)
        return arena_printf(&a->arena, "at most %s %s (%.0f %%)", high, per,
                            percent(o->saves_high_ns, of_ns));
    return arena_printf(&a->arena, "%s to %s %s (%.0f to %.0f %%)",
                        time_words(low, sizeof low, o->saves_low_ns), high, per,
                        percent(o->saves_low_ns, of_ns), percent(o->saves_high_ns, of_ns));
}

/* True if no other finding may save more. Findings rank by what is certain, so the first one need
 * not save most. */
static bool saves_most(const struct advice *a, const struct outcome *o)
{
    for (size_t i = 0; i < a->ranked_count; i++)
        if (a->ranked[i]->saves_high_ns > o->saves_high_ns)
            return false;
    return true;
}

/* Of a bound and a prediction it is not known which saves more, and the verdict may be about
 * either, so the second one is named as well if it saves nearly as much. */
static const char *nearly_as_much(struct advice *a)
{
    const struct outcome *o = a->ranked[0];
    const struct outcome *next = a->ranked_count > 1 ? a->ranked[1] : NULL;
    if (!next || o->upper_bound == next->upper_bound || next->rule->cheaper ||
        2 * next->saves_mid_ns < o->saves_mid_ns)
        return "";
    return arena_printf(&a->arena, " Besides: %s, %s.", next->title, saving_words(a, next));
}

const char *verdict_saving(struct advice *a)
{
    const struct outcome *o = a->ranked_count ? a->ranked[0] : NULL;
    return o ? arena_printf(&a->arena, " %s: %s, %s.%s",
                            saves_most(a, o) ? "The largest saving" : "What to change first",
                            o->title, saving_words(a, o), nearly_as_much(a))
             : "";
}

const char *verdict_rest(struct advice *a)
{
    const struct outcome *o = a->ranked_count > 1 ? a->ranked[1] : NULL;
    return o ? arena_printf(&a->arena, " What to change first in the rest: %s, %s.", o->title,
                            saving_words(a, o))
             : "";
}

/* The training thread needs a core before anything else can be judged. */
static const char *free_a_core(const struct advice *a)
{
    return a->class == VERDICT_CONTENTION
               ? "Give the training thread a core of its own: fewer busy threads and no other "
                 "program on its cores (top, taskset, --cpus-per-task), then record again. "
               : "";
}

/* Returns a sentence about the kernel that takes longer than the rest of the step, whatever advice
 * there is for the rest, or "". It returns "" for a kernel that waits for other ranks. */
const char *verdict_one_kernel(struct advice *a)
{
    struct query_dominant d = query_dominant(a->facts, &a->arena);
    char ms[32];
    if (!d.kernel || 2 * d.ns <= a->facts->step_ns)
        return "";
    return arena_printf(&a->arena, " One kernel takes %s (%.0f %%): %.100s%s%s%s%s%s.",
                        time_words(ms, sizeof ms, d.ns), share(a, d.ns), d.name,
                        d.in ? ", in '" : "", d.in ? d.in : "", d.in ? "'" : "",
                        d.line ? ", launched at " : "", d.line ? d.line : "");
}

/* For steps with nothing to change in how kernels are launched: names the kernel that takes
 * longest. A timeline does not show what limits it; Nsight Compute does, but kernels of libraries
 * cannot be changed anyway. */
static const char *only_kernels(struct advice *a)
{
    const struct totals *t = &a->facts->totals;
    const char *none = "No rule found a change that saves more than 1 % of the step.";
    const struct kernel_total *k = t->kernel_count ? &t->kernels[0] : NULL;
    if (!k || k->total_ns * 100 < t->kernel_ns * ADVICE_ONE_KERNEL_PCT ||
        2 * a->facts->breakdown_ns[PART_COMPUTE] < a->facts->step_ns)
        return none;
    const char *name = tl_text(a->facts->tl, k->name);
    bool of_library = k->class.family == FAMILY_GEMM || k->class.family == FAMILY_CONV ||
                      k->class.family == FAMILY_ATTENTION || k->class.family == FAMILY_COMM;
    const char *function = of_library ? NULL : query_kernel_function(name, &a->arena);
    const char *ncu = !function ? ""
                                : arena_printf(&a->arena,
                                               "; Nsight Compute shows what limits it: ncu "
                                               "--kernel-name regex:%s --launch-count 3 CMD",
                                               function);
    return arena_printf(&a->arena, "%s %.0f %% of the kernels' time goes to %.80s%s.", none,
                        100.0 * (double)k->total_ns / (double)t->kernel_ns, name, ncu ? ncu : "");
}

const char *verdict_next(struct advice *a)
{
    const char *open = unanswered(a);
    if (a->ranked_count) {
        const struct outcome *o = a->ranked[0];
        bool same = action_general(o->remedy.action) == ACTION_FREE_A_CORE;
        return arena_printf(&a->arena, "%s%s: %s%s%s", same ? "" : free_a_core(a), o->title,
                            outcome_remedy(a->facts, o),
                            open ? ". Most of the lost time has another cause: " : "",
                            open ? open : "");
    }
    if (*free_a_core(a))
        return free_a_core(a);
    if (open)
        return open;
    return analysis_of_window(a->facts) ? mark_steps_text(a) : only_kernels(a);
}
