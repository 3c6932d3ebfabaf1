/* Fires if convolution algorithms come from cuDNN's heuristic and not from measurements.
 *
 * The profile does not show what a better algorithm would take. It shows how fast each convolution
 * ran (from its shape and the time of its kernels) compared with others of its kind (pass, 1x1 or
 * larger, type, channels of a group). The bound is the time saved if all convolutions below the
 * upper quartile ran at its rate. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/kernels/shapes.h"
#include "analyzer/queries/search.h"

#include "wire/fact_keys.h"
#include "wire/spool_format.h"

#include <stdlib.h>
#include <string.h>

struct conv {
    int64_t kind; /* pass, 1x1 or larger, type, channels of a group */
    double flops;
    int64_t ns;
    uint32_t op;
};

static int by_rate(const void *x, const void *y)
{
    const struct conv *a = x, *b = y;
    double ra = a->flops / (double)a->ns, rb = b->flops / (double)b->ns;
    return a->kind != b->kind ? (a->kind > b->kind) - (a->kind < b->kind) : (ra > rb) - (ra < rb);
}

/* Groups with few channels leave most of a tile empty, whatever the algorithm. */
static int64_t kind_of(const struct row_call *r)
{
    int64_t in_group = r->dim[10] > 1 ? 1 + r->dim[1] / r->dim[10] : 0;
    return in_group * 4096 + r->family * 64 + (r->dim[5] > 1) * 32 + r->in_type;
}

static size_t collect(const struct facts *f, struct conv *out)
{
    size_t n = 0;
    for (size_t i = 0; i < f->tl->call_count; i++) {
        const struct call *c = &f->tl->calls[i];
        if (!query_is_conv(&c->row) || c->row.dim[1] < RULES_FIRST_CHANNELS)
            continue; /* the first layer has few channels and is always slow */
        struct conv v = {
            .kind = kind_of(&c->row), .flops = query_conv_flops(&c->row), .op = TL_NONE};
        v.ns = query_call_ns(f, c, &v.op);
        if (v.flops > 0 && v.ns > 0 && !query_conv_off_tensor_cores(f, c, v.op))
            out[n++] = v; /* the others belong to cuda-core-convolutions */
    }
    return n;
}

/* Returns the ns that convolutions below the upper quartile of their kind lose, and the worst of
 * them. */
static int64_t below_upper_quartile(struct conv *v, size_t n, const struct conv **worst)
{
    int64_t lost = 0, most = 0;
    qsort(v, n, sizeof *v, by_rate);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && v[j].kind == v[i].kind; j++)
            ;
        const struct conv *q = &v[i + (j - i - 1) * (size_t)RULES_GOOD_PCT / 100];
        double rate = q->flops / (double)q->ns;
        for (size_t k = i; k < j; k++) {
            double own_ns = v[k].flops / rate;
            if (own_ns >= (double)v[k].ns)
                continue;
            int64_t more = v[k].ns - (int64_t)own_ns;
            lost += more;
            if (more > most) {
                most = more;
                *worst = &v[k];
            }
        }
    }
    return lost;
}

/* Without shapes: kernels whose names belong to algorithms that the heuristic falls back to. */
static enum query_take is_slow_name(const struct facts *f, uint32_t op)
{
    static const char *const slow[] = {"implicit_convolve_sgemm", "dgrad_engine", "dgrad2d_alg1",
                                       "wgrad_alg0_engine", "wgrad_alg1_engine"};
    const struct op *o = &f->tl->ops[op];
    if (o->kind != OP_KERNEL || o->class.family != FAMILY_CONV)
        return QUERY_NO;
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        if (strstr(tl_text(f->tl, o->full_name), slow[i]))
            return QUERY_ALL;
    return QUERY_NO;
}

static void fire(const struct facts *f, struct outcome *o, int64_t bound, uint32_t op,
                 const char *summary)
{
    o->error_class = ERROR_RERUN_DECIDES;
    o->edit.kind = &edit_algorithm;
    outcome_fires(o, bound, summary);
    outcome_example_op(o, f->tl, op, "a convolution well below its kind's rate");
}

static void check_shapes(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct conv *v = calloc(f->tl->call_count + 1, sizeof *v);
    const struct conv *worst = NULL;
    size_t n = v ? collect(f, v) : 0;
    int64_t all = 0, bound = n ? per_step(f, below_upper_quartile(v, n, &worst)) : 0;
    for (size_t i = 0; i < n; i++)
        all += v[i].ns;
    o->why = arena_printf(
        arena, "convolutions slower than others of their kind cost %.3f ms per step", ms(bound));
    if (worst && bound * QUERY_WORTH >= f->step_ns) {
        const char *rows = "SELECT * FROM library_call WHERE family IN (2, 3, 4)";
        outcome_evidence_per(o, "convolution calls", (double)n / (double)f->steps.used, "count",
                             rows);
        outcome_evidence_per(o, "their GPU time", ms(per_step(f, all)), "ms", rows);
        outcome_evidence(o, "autotuning calls in the profile", 0, "count",
                         "SELECT * FROM library_call WHERE family = 11");
        outcome_evidence(o, "slowest: rate", worst->flops / (double)worst->ns / 1e3, "TFLOP/s",
                         rows);
        fire(f, o, bound, worst->op,
             arena_printf(arena,
                          "cuDNN measured no algorithm, and convolutions slower than the upper "
                          "quartile of their kind cost %s per step",
                          time_text(arena, bound)));
    }
    free(v);
}

/* Returns why no search is advised, or NULL if it is. */
static const char *measured_already(const struct facts *f)
{
    if (query_find_seen(f))
        return "the program already measures cuDNN's algorithms (the recording contains Find "
               "calls)";
    if (query_cudnn_benchmark(f))
        return "the program already has torch.backends.cudnn.benchmark = True";
    return NULL;
}

static void check_cudnn_algorithm(const struct facts *f, struct arena *arena, struct outcome *o)
{
    if (f->totals.family_ns[FAMILY_CONV] == 0) {
        o->why = "no convolutions";
        return;
    }
    if (query_of_xla(f)) {
        o->why = "XLA and TensorFlow time cuDNN's algorithms themselves";
        return;
    }
    double new_pct = query_new_sizes_pct(f);
    if (new_pct >= RULES_NEW_SIZES_PCT) {
        o->verdict = RULE_SUPPRESSED;
        o->why =
            arena_printf(arena,
                         "%.0f %% of the steps bring convolutions of sizes that no step before "
                         "had: each would be measured anew, which takes far longer than it "
                         "saves",
                         new_pct);
        return;
    }
    const char *already = measured_already(f);
    if (already) {
        o->verdict = RULE_SUPPRESSED;
        o->why = already;
        return;
    }
    if (f->tl->have & HAVE_CALLS) {
        check_shapes(f, arena, o);
        return;
    }
    struct query_ops ops = query_ops(f, is_slow_name);
    int64_t cost = per_step(f, ops.busy_ns);
    o->why = arena_printf(arena, "%.3f ms per step in algorithms that autotuning tends to replace",
                          ms(cost));
    if (cost * QUERY_WORTH < f->step_ns)
        return;
    outcome_evidence_per(o, "such kernels", (double)ops.count / (double)f->steps.used, "count",
                         "SELECT * FROM kernel_time WHERE name LIKE '%dgrad_engine%' OR name LIKE "
                         "'%wgrad_alg%' OR name LIKE '%implicit_convolve%'");
    outcome_evidence_per(o, "their GPU time", ms(cost), "ms", NULL);
    fire(f, o, cost, ops.longest,
         arena_printf(arena,
                      "%s per step in convolution kernels that autotuning tends to replace (%s)",
                      time_text(arena, cost),
                      ops.longest == TL_NONE ? "-" : tl_text(f->tl, f->tl->ops[ops.longest].name)));
}

const struct rule rule_cudnn_algorithm = {
    .id = "cudnn-algorithm",
    .title = "Let cuDNN measure its algorithms once",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check_cudnn_algorithm,
    .program = {.now = FACT_TORCH_CUDNN_BENCHMARK},
    .looks_for =
        "Convolutions whose rate is well below that of others of their kind, in a profile without "
        "autotuning calls; if shapes are missing, kernels of known fallback algorithms.",
    .doc =
        "cuDNN's heuristic guesses an algorithm per shape. Measuring the candidates once finds "
        "the best one, given enough workspace. This pays only for fixed shapes: with changing "
        "shapes cuDNN measures again and again. cudnnFind's times contain what the host takes to "
        "prepare a kernel: on an H200, where convolutions are short, a step that ran the "
        "heuristic's choice in 8 ms took 18 with its answers. A profile does not show how much it "
        "saves; a "
        "rerun decides.",
    .remedy = {.action = ACTION_MEASURE_ALGORITHMS, .object.kind = OBJECT_KERNEL},
    .tips = {{"cudnn-benchmark", "Let cuDNN measure its algorithms",
              "gpuprof sees a search in its own recordings, and in imported traces it sees slow "
              "algorithms by name"}},
};
