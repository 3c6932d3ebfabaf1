/* Fires if kernels are too small for the GPU and its memory has room for a larger batch. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/gpu.h"
#include "analyzer/queries/lines.h"
#include "analyzer/queries/training/actions.h"
#include "analyzer/queries/training/passes.h"
#include "wire/fact_keys.h"

#include <string.h>

static bool grows_with_batch(const struct facts *f, const struct op *o)
{
    /* The blocks of persistent kernels and of weight gradients depend on other sizes than the
     * batch. */
    return o->class.family != FAMILY_COMM && o->class.pass != PASS_WGRAD &&
           !query_name_has(tl_text(f->tl, o->full_name), "ersist");
}

/* Returns the share of a kernel's time, in ns, that empty multiprocessors correspond to, if its
 * blocks fill at most half of them. A kernel that fills more may divide its work differently for a
 * larger batch, so it counts 0. */
static int64_t empty_part(const struct facts *f, const struct op *o)
{
    int64_t blocks = (int64_t)o->grid[0] * o->grid[1] * o->grid[2];
    int64_t sms = f->device->sm_count;
    if (o->kind != OP_KERNEL || !grows_with_batch(f, o) || blocks <= 0 || blocks * 2 > sms)
        return 0;
    return (int64_t)((double)(o->end_ns - o->start_ns) * (1 - (double)blocks / (double)sms));
}

struct fill {
    int64_t empty_ns, count; /* per step, of kernels with too few blocks */
    double short_pct;        /* of all kernels: under 10 us */
};

static struct fill fill_of(const struct facts *facts)
{
    struct fill f = {0};
    for (uint32_t i = 0; i < facts->tl->op_count; i++) {
        int64_t ns = query_used(facts, i) ? empty_part(facts, &facts->tl->ops[i]) : 0;
        f.empty_ns += ns;
        f.count += ns > 0;
    }
    f.empty_ns = per_step(facts, f.empty_ns);
    f.count = each_step(facts, f.count);
    if (facts->totals.kernel_count_all)
        f.short_pct =
            100.0 * (double)facts->totals.short_kernels / (double)facts->totals.kernel_count_all;
    return f;
}

/* Returns true if a step gets new data, from a loader or by a copy to the GPU. */
static bool brings_data(const struct facts *f)
{
    if (f->tl->loader_count || timeline_meta(f->tl, FACT_TORCH_LOADER))
        return true;
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        const struct op *o = &f->tl->ops[i];
        if (o->kind == OP_COPY && o->copy_kind == COPY_H2D && o->bytes > RULES_SCALAR_BYTES &&
            query_used(f, i))
            return true;
    }
    return false;
}

/* Returns true for programs with layers that gather from neighbours in a graph. */
static bool of_graph(const struct facts *f)
{
    for (uint32_t i = 0; i < f->tl->strings.n; i++)
        if (query_name_has(f->tl->strings.text[i],
                           "aten::scatter_add|aten::scatter_reduce|spmm|SpMM|torch_scatter|"
                           "torch_sparse|csrmm"))
            return true;
    return false;
}

/* Returns true if each step may train on all data, so that there is no larger batch. Graph networks
 * often train on the whole graph, which stays on the GPU. Any PyTorch program that brings no data
 * to its steps may do the same. */
static bool takes_all_data(const struct facts *f)
{
    bool hooked = timeline_meta(f->tl, FACT_TORCH_SETTINGS) != NULL;
    return (hooked || (f->tl->have & HAVE_COPIES && of_graph(f))) && !brings_data(f);
}

/* Returns 2, 4 or 8 if so many times the batch fits, assuming that all memory in use grows with the
 * batch; else 1. */
static int times_that_fit(int64_t used, int64_t all)
{
    int times = 1;
    while (times < RULES_BATCH_TIMES && used > 0 && used * times * 2 < all / 100 * RULES_MEMORY_PCT)
        times *= 2;
    return times;
}

/* Whether the program trains, and whether a loader makes its batches. If the recording shows
 * neither, the rule assumes what most programs do. Names of compiled kernels show nothing;
 * hand-written kernels of a training step are named after what they do. */
struct program {
    bool trains, loads;
};

static const char trains_or_hides[] =
    "backward|Backward|bwd|Bwd|grad|Grad|adam|Adam|sgd|Sgd|SGD|update|Update|train|Train|loss|Loss|"
    "fusion|graph|triton";

static struct program program_of(const struct facts *f)
{
    bool of_torch = false;
    struct program p = {false, f->tl->loader_count || timeline_meta(f->tl, FACT_TORCH_LOADER)};
    for (uint32_t i = 0; i < f->tl->strings.n; i++) {
        const char *name = f->tl->strings.text[i];
        of_torch |= strncmp(name, "aten::", 6) == 0;
        p.loads |= strncmp(name, "enumerate(DataLoader)", 21) == 0;
        p.trains |= strncmp(name, "autograd::engine", 16) == 0 || strcmp(name, "backward") == 0 ||
                    strncmp(name, "Optimizer.step", 14) == 0;
    }
    for (uint32_t i = 0; i < f->tl->op_count && !p.trains; i++) {
        uint8_t pass = f->tl->ops[i].class.pass;
        p.trains = pass == PASS_DGRAD || pass == PASS_WGRAD || query_is_optimizer(f, i) != QUERY_NO;
    }
    for (uint32_t i = 0; i < f->tl->op_count && !p.trains && !of_torch; i++) {
        const struct op *o = &f->tl->ops[i];
        p.trains =
            o->kind == OP_KERNEL && query_name_has(tl_text(f->tl, o->full_name), trains_or_hides);
    }
    p.loads |= !of_torch && !timeline_meta(f->tl, FACT_TORCH_SETTINGS);
    return p;
}

/* Returns true if the hook saw the program, and no training in it, but new data in each step. Then
 * the host's work for a call of the model is shared by more samples as well. */
static bool only_infers(const struct facts *f, const struct program *p)
{
    return !p->trains && timeline_meta(f->tl, FACT_TORCH_SETTINGS) && brings_data(f);
}

/* Returns how long the GPU waits for launches, or for the host if it launches for single samples. */
static int64_t waits_for_launches(const struct facts *f)
{
    struct program p = program_of(f);
    int64_t idle = query_launches(f).block ? 0 : f->breakdown_ns[PART_IDLE_LAUNCH];
    if (only_infers(f, &p))
        return idle + f->breakdown_ns[PART_IDLE_HOST];
    /* The launches waited for a core, not for the next small kernel. */
    int64_t starved = f->host.starved_ns > 0 ? f->host.starved_ns : 0;
    return idle - (starved < idle ? starved : idle);
}

/* Mentions only what was seen: kernels that leave multiprocessors empty, or a host that launches
 * slowly. */
static const char *summary_of(struct arena *arena, const struct fill *f, int64_t idle, int times)
{
    if (f->empty_ns * QUERY_SOME < idle)
        return arena_printf(
            arena,
            "the GPU waits %s of each step for launches, and has memory for %d "
            "times the batch: more samples would share these waits, and the host's work",
            time_text(arena, idle), times);
    return arena_printf(
        arena,
        "the kernels are too small for this GPU, which has memory for %d times the "
        "batch: %s of each step are empty multiprocessors and waits for launches; more "
        "samples would share them, and the host's work",
        times, time_text(arena, f->empty_ns + idle));
}

static void advise(const struct facts *facts, struct arena *arena, struct outcome *o,
                   const struct fill *f, int64_t idle, const struct query_gpu *g, int times)
{
    outcome_evidence_per(o, "kernels with blocks for half of the multiprocessors or fewer,",
                         (double)f->count, "count",
                         "SELECT * FROM kernel WHERE grid_x * grid_y * grid_z * 2 <= (SELECT "
                         "max(sm_count) FROM device)");
    outcome_evidence_per(o, "their time multiplied by the share of empty multiprocessors,",
                         ms(f->empty_ns), "ms", NULL);
    outcome_evidence(o, "kernels under 10 us", f->short_pct, "%",
                     "SELECT * FROM kernel WHERE end_ns - start_ns < 10000");
    outcome_evidence_per(o, "GPU idle between launches", ms(idle), "ms", NULL);
    outcome_evidence(o, "peak memory in use", (double)g->memory_peak / 1e9, "GB", g->memory_sql);
    outcome_evidence(o, "memory of the GPU", (double)facts->device->memory_bytes / 1e9, "GB",
                     "SELECT * FROM device");
    struct program p = program_of(facts);
    o->remedy.conditions[CONDITION_ONLY_INFERS] = !p.trains;
    o->remedy.conditions[CONDITION_NO_LOADER] = !p.loads;
    o->trains_not = only_infers(facts, &p);
    o->error_class = ERROR_RERUN_DECIDES;
    o->edit = (struct edit){.kind = &edit_batch, .batch.times = times};
    outcome_fires(o, (f->empty_ns + idle) / times * (times - 1), summary_of(arena, f, idle, times));
}

/* The line of a program that only infers which takes most of what the GPU waits for: what makes its
 * inputs takes as long for each sample, in a larger batch too. NULL: none. */
static const struct line *line_for_each_sample(const struct facts *f)
{
    struct program p = program_of(f);
    struct query_cause c = query_own_cause(f);
    return c.line && only_infers(f, &p) && c.ns * 2 > waits_for_launches(f) ? c.line : NULL;
}

/* Returns true, with the reason in *o, if a larger batch is impossible or does not make the program
 * faster. */
static bool has_no_larger(const struct facts *facts, struct arena *arena, struct outcome *o)
{
    if (takes_all_data(facts)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why =
            "the kernels are small, but nothing brings data to a step, neither a loader nor a "
            "copy to the GPU: if each step trains on all data, as on a whole graph, there is no "
            "larger batch";
        return true;
    }
    int64_t playing = query_actions(facts).steps;
    if (playing > 0 && playing * 2 >= (int64_t)facts->steps.used) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(arena,
                              "the kernels are small, but an agent acts in %lld of %zu steps: a "
                              "larger batch leaves as many steps to do. More environments at once "
                              "fill the GPU",
                              (long long)playing, facts->steps.used);
        return true;
    }
    int64_t micro = query_micro_batches(facts, arena);
    if (micro > 1) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(arena,
                              "the kernels are small, but a step takes %lld micro-batches: fewer, "
                              "larger ones come first, which micro-batches is about",
                              (long long)micro);
        return true;
    }
    const struct line *line = line_for_each_sample(facts);
    if (line) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(arena,
                              "the GPU mostly waits for %s, which takes as long for each sample in "
                              "a larger batch",
                              line->place);
    }
    return line != NULL;
}

/* Returns true, with the reason in *o, if the recording does not show how much memory the training
 * uses. */
static bool memory_is_unknown(const struct facts *facts, struct arena *arena, struct outcome *o,
                              const struct fill *f, const struct query_gpu *g)
{
    if (query_of_xla(facts)) { /* it reserves most of the memory at its start */
        o->verdict = RULE_CANNOT_TELL;
        o->why = "the kernels are small and a larger batch would fill the GPU, but JAX and "
                 "TensorFlow reserve memory ahead: how much the training uses was not recorded "
                 "(XLA_PYTHON_CLIENT_PREALLOCATE=false and TF_FORCE_GPU_ALLOW_GROWTH=true show it)";
        return true;
    }
    if (g->memory_peak < 0 || facts->device->memory_bytes <= 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = arena_printf(
            arena,
            "the kernels are small (%.0f %% under 10 us) and a larger batch would fill the GPU, "
            "but the recording does not show how much memory the training uses "
            "(profile_memory=True in "
            "torch.profiler; gpuprof run samples it through NVML; record more steps)",
            f->short_pct);
        return true;
    }
    return false;
}

static void check_batch_size(const struct facts *facts, struct arena *arena, struct outcome *o)
{
    if (!facts->device || facts->device->sm_count <= 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: how many multiprocessors the GPU has";
        return;
    }
    struct fill f = fill_of(facts);
    int64_t idle = waits_for_launches(facts);
    double pct = share_pct(facts, f.empty_ns + idle);
    o->why =
        arena_printf(arena, "empty multiprocessors and waits for launches cost only %.0f %% %s",
                     pct, scope_words(facts)->of);
    if (pct < RULES_BATCH_PCT)
        return;
    if (has_no_larger(facts, arena, o))
        return;
    struct query_gpu g = query_gpu(facts);
    if (memory_is_unknown(facts, arena, o, &f, &g))
        return;
    int times = times_that_fit(g.memory_peak, facts->device->memory_bytes);
    if (times < 2) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(
            arena,
            "the kernels are small, but %.1f of %.1f GB are in use: twice the batch does not fit",
            (double)g.memory_peak / 1e9, (double)facts->device->memory_bytes / 1e9);
        return;
    }
    advise(facts, arena, o, &f, idle, &g, times);
}

const struct rule rule_batch_size = {
    .id = "batch-size",
    .title = "Use a larger batch",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_DEVICE | HAVE_STEPS,
    .check = check_batch_size,
    .cheaper = true,
    .looks_for = "Kernels whose blocks fill at most half of the multiprocessors, waits for "
                 "launches, and enough measured free memory for twice the batch.",
    .doc = "The kernels of a small batch leave most of the GPU empty and end before the next "
           "launch arrives. Twice the batch then takes little longer, so each sample costs less. "
           "The saving counts this per step of the present batch size. A larger batch changes the "
           "training: the learning rate usually grows with it, and beyond some size more samples "
           "no longer speed up convergence. gpuprof gives this advice only if the recording shows "
           "how much memory is in use, and not where each step seems to train on all data, or a "
           "policy that is set to eval() acts in each.",
    .remedy = {.action = ACTION_ENLARGE_BATCH},
    .changes_training = true,
    .tips = {{"larger-batch", "Use the largest batch that fits in memory",
              "gpuprof always sees small kernels; it must have sampled the free memory"}},
};
