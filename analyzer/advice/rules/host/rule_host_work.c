/* The GPU is idle while the host does something else than launching: Python, post-processing,
 * framework overhead. Named by the range in which it falls. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/warm.h"

#include <stdlib.h>
#include <string.h>

/* The innermost range that holds most of it, unless that is the step itself; with its share. */
static const char *where_most(const struct facts *f, int64_t *in_it)
{
    int64_t *sum = calloc((size_t)f->tl->strings.n + 1, sizeof *sum);
    uint32_t best = 0;
    for (size_t i = 0; sum && i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->step == TL_NONE || !f->steps.at[g->step].used || g->range == TL_NONE)
            continue;
        const struct range *r = &f->tl->ranges[g->range];
        if ((r->end_ns - r->start_ns) * 10 >= f->step_ns * 9)
            continue;
        sum[r->name] += gap_ns(f, g, PART_IDLE_HOST);
        if (sum[r->name] > sum[best])
            best = r->name;
    }
    *in_it = sum && best ? sum[best] : 0;
    free(sum);
    return *in_it ? tl_text(f->tl, best) : NULL;
}

/* What other rules name by its cause: one-time work, copies on the host. */
static int64_t explained_elsewhere(const struct facts *f, struct arena *arena)
{
    struct query_host_copies copies;
    int64_t ns = query_warm_up(f).host_ns;
    if (query_host_copies(f, arena, &copies) == 0)
        ns += copies.host_ns;
    return per_step(f, ns);
}

/* torch.compile's own code: what it wrote into its cache, and its marks. */
static bool is_compiled(const char *range)
{
    static const char *const marks[] = {"torchinductor", "Torch-Compiled Region", "CompiledFxGraph",
                                        "CompiledFunction", "compiled_fn"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strstr(range, marks[i]))
            return true;
    return false;
}

/* Without the folders before the last, which say nothing in generated code. */
static const char *short_name(const char *range)
{
    const char *slash = *range == '/' ? strrchr(range, '/') : NULL;
    return slash ? slash + 1 : range;
}

static void check_host_work(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t idle = f->breakdown_ns[PART_IDLE_HOST] - explained_elsewhere(f, arena), inside;
    o->why = arena_printf(arena, "the GPU waits %.3f ms per step for other work of the host",
                          ms(idle > 0 ? idle : 0));
    if (idle * 100 < f->step_ns)
        return;
    size_t with_it = query_steps_with(f, PART_IDLE_HOST);
    if (with_it * 2 < f->steps.used) {
        o->why = arena_printf(arena,
                              "only %zu of %zu steps contain such work: it is not part of the loop",
                              with_it, f->steps.used);
        return;
    }
    if (query_crowded_out(f)) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(arena,
                              "the training thread was ready to run but had no core for %s "
                              "per step: other programs, or too many threads, take the cores",
                              query_time(arena, f->host.starved_ns));
        return;
    }
    const char *where = where_most(f, &inside);
    if (per_step(f, inside) * 2 < idle)
        where = NULL;
    outcome_evidence_idle(o, f, "GPU idle while the host does other work per step", ms(idle),
                          PART_IDLE_HOST);
    if (where)
        outcome_evidence(o, arena_printf(arena, "of that, inside '%s'", short_name(where)),
                         ms(per_step(f, inside)), "ms", NULL);
    o->error_class = ERROR_RERUN_DECIDES; /* nobody knows how far that work can be cut */
    bool compiled = where && is_compiled(where);
    if (compiled)
        o->remedy = (struct remedy){
            "torch.compile(model, mode='reduce-overhead'): CUDA graphs launch the compiled code at "
            "once; if shapes or host code prevent that, torch._inductor.config.cpp_wrapper = True "
            "removes Python from its launches",
            o->rule->remedy.tensorflow, o->rule->remedy.cuda};
    outcome_fires(
        o, idle,
        where ? arena_printf(arena,
                             "the GPU waits %s per step while the host does other work, most of it "
                             "(%s) in %s'%s'",
                             query_time(arena, idle), query_time(arena, per_step(f, inside)),
                             compiled ? "torch.compile's launching code, " : "", short_name(where))
              : arena_printf(arena,
                             "the GPU waits %s per step while the host does other work outside all "
                             "recorded ranges%s",
                             query_time(arena, idle),
                             f->tl->have & HAVE_RANGES ? " (Python between operators)" : ""));
    outcome_example_gaps(o, f, PART_IDLE_HOST, "GPU idle, host busy with other work");
}

const struct rule rule_host_work = {
    .id = "host-work",
    .title = "Move other host work out of the loop",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_host_work,
    .in_window = true,
    .window_title = "Do other host work beside the GPU, not before it",
    .looks_for = "A GPU that idles while the launching thread does something other than launching, "
                 "copying, waiting or loading data, for at least 0.2 ms at a time.",
    .doc = "Typical causes are Python between operators, post-processing on the CPU, metrics and "
           "logging. If the profile contains ranges, the finding names the range or function that "
           "contains most of this work; Python stacks (with_stack=True) or NVTX ranges make the "
           "name more precise. The bound is the whole idle time, because gpuprof cannot know how "
           "much of the work can go or move.",
    .remedy = {"move it to the GPU (torch ops, torchvision.transforms.v2), to loader workers or "
               "another thread, or run it every N steps; record with "
               "torch.profiler.profile(with_stack=True) to see the lines",
               "keep it inside tf.function (in JAX, jax.jit), or in dataset.map(..., "
               "num_parallel_calls=AUTOTUNE)",
               "move it to another thread, or do it while the next step's work is queued"},
    .tips = {{"no-sync-reads", "Do not read results (.item(), .cpu(), print) in every step", NULL},
             {"compiled-steps", "Wrap the step in tf.function instead of running it eagerly",
              "gpuprof sees that launches come too slowly, but not which wrapper is missing"}},
};
