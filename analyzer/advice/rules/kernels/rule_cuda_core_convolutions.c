/* Fires if cuDNN computes convolutions of 16-bit numbers without tensor cores.
 *
 * The profile shows what tensor cores would take if other convolutions of the program run on them
 * (twins): a slow convolution would compute at their rate, but take at least as long as the
 * shortest of them, and as its bytes need. Without twins the rule uses the ratio of the peak
 * rates. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/search.h"
#include "analyzer/queries/kernels/shapes.h"

#include "wire/fact_keys.h"
#include "wire/spool_format.h"

#include <stdlib.h>
#include <string.h>

struct conv {
    double flops, bytes, ns;
    const struct call *call; /* NULL in a CUDA graph: its calls were made at the capture */
    uint32_t op;
};

struct found {
    struct conv *slow, *twins; /* without and with tensor cores, in used steps */
    size_t slow_count, twin_count;
    double low_rate, high_rate, short_ns, usual_ns; /* of the twins */
    struct query_trials searches;
    size_t tried; /* slow convolutions that a search also ran on tensor cores */
    bool *marks;
    /* Of the slow convolutions that would become faster, over the used steps. */
    double ns, best_ns, worst_ns;
    int64_t count, odd; /* `odd`: with channels that are no multiple of 8 */
    uint32_t longest;
};

static int by_rate(const void *x, const void *y)
{
    const struct conv *a = x, *b = y;
    double ra = a->flops / a->ns, rb = b->flops / b->ns;
    return (ra > rb) - (ra < rb);
}

static int by_time(const void *x, const void *y)
{
    const struct conv *a = x, *b = y;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

/* Sorts the recorded 16-bit convolutions into those without tensor cores and those with (twins). */
static void collect(const struct facts *f, struct found *x)
{
    bool told, bf16 = query_cc_major(f, &told) >= 8;
    for (size_t i = 0; i < f->tl->call_count; i++) {
        const struct call *c = &f->tl->calls[i];
        if (!query_conv_in_16_bits(&c->row) || (c->row.in_type == SPOOL_DT_BF16 && !bf16))
            continue;
        struct conv v = {.flops = query_conv_flops(&c->row),
                         .bytes = query_conv_bytes(&c->row),
                         .call = c,
                         .op = TL_NONE};
        v.ns = (double)query_call_ns(f, c, &v.op);
        if (v.ns <= 0 || v.flops <= 0)
            continue;
        if (query_conv_off_tensor_cores(f, c, v.op))
            x->slow[x->slow_count++] = v;
        else if (f->tl->ops[v.op].class.tensor == TRI_YES)
            x->twins[x->twin_count++] = v;
    }
}

/* Returns true if nearly all convolutions that launched kernels of this name are slow ones. The
 * first layer, with three channels, may use the same kernel. */
static bool is_name_of_slow(const struct facts *f, uint32_t name)
{
    const struct timeline *t = f->tl;
    size_t slow = 0, all = 0;
    for (size_t i = 0; i < t->call_count; i++) {
        const struct call *c = &t->calls[i];
        for (uint32_t k = 0; query_is_conv(&c->row) && c->first_api != TL_NONE && k < c->apis;
             k++) {
            uint32_t op = t->apis[c->first_api + k].op;
            if (op == TL_NONE || t->ops[op].full_name != name)
                continue;
            slow += query_conv_off_tensor_cores(f, c, op);
            all++;
        }
    }
    return all > 0 && slow * 100 >= all * QUERY_ALMOST_PCT;
}

static bool is_in_graph(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return o->in_graph == GRAPH_NODE && o->class.family == FAMILY_CONV &&
           o->class.tensor == TRI_NO && query_used(f, op);
}

static size_t count_in_graphs(const struct facts *f)
{
    size_t n = 0;
    for (uint32_t i = 0; i < f->tl->op_count; i++)
        n += is_in_graph(f, i);
    return n;
}

/* Adds kernels in CUDA graphs, recognised by the names that they had before the capture. */
static void collect_from_graphs(const struct facts *f, struct found *x)
{
    enum { NAMES = 64 };
    uint32_t names[NAMES];
    bool slow[NAMES];
    size_t n = 0;
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        const struct op *o = &f->tl->ops[i];
        if (!is_in_graph(f, i))
            continue;
        size_t k = 0;
        while (k < n && names[k] != o->full_name)
            k++;
        if (k == NAMES)
            continue;
        if (k == n) {
            names[n] = o->full_name;
            slow[n++] = is_name_of_slow(f, o->full_name);
        }
        if (slow[k])
            x->slow[x->slow_count++] =
                (struct conv){.ns = (double)(o->end_ns - o->start_ns), .op = i};
    }
}

/* Measures the twins: the shortest and the usual time, and the range of rates. */
static void learn(struct found *x)
{
    size_t n = x->twin_count;
    if (n < RULES_COMPARED)
        return;
    qsort(x->twins, n, sizeof *x->twins, by_time);
    x->short_ns = x->twins[0].ns;
    x->usual_ns = x->twins[n / 2].ns;
    qsort(x->twins, n, sizeof *x->twins, by_rate);
    const struct conv *low = &x->twins[n / (size_t)QUERY_SOME];
    const struct conv *high = &x->twins[n * (size_t)RULES_GOOD_PCT / 100];
    x->low_rate = low->flops / low->ns;
    x->high_rate = high->flops / high->ns;
}

static double most(double a, double b, double c)
{
    double m = a > b ? a : b;
    return m > c ? m : c;
}

/* Sets the range of ns that the convolution would take on tensor cores. A kernel that the search
 * ran may need another one beside it (padding, partial sums). */
static void range_of(const struct found *x, const struct conv *v, double rate, double tried,
                     double *best, double *worst)
{
    if (tried > 0) {
        *best = tried;
        *worst = tried * RULES_BESIDE_TRIED;
        return;
    }
    double bytes_ns = rate > 0 ? v->bytes / rate : 0;
    if (x->twin_count >= RULES_COMPARED && v->call) {
        *best = most(v->flops / x->high_rate, x->short_ns, bytes_ns);
        *worst = most(v->flops / x->low_rate, x->usual_ns, bytes_ns);
    } else {
        *best = most(v->ns * RULES_TO_TENSOR_CORES.good, bytes_ns, 0);
        *worst = most(v->ns * RULES_TO_TENSOR_CORES.bad, bytes_ns, 0);
    }
}

/* Adds up the slow convolutions that tensor cores would make faster, and marks their kernels. */
static void add_slow(const struct facts *f, struct found *x)
{
    const struct timeline *t = f->tl;
    double most_ns = 0;
    for (size_t i = 0; i < x->slow_count; i++) {
        const struct conv *v = &x->slow[i];
        double best, worst, tried = v->call ? query_tried_ns(f, &x->searches, v->call) : 0;
        range_of(x, v, query_memory_rate(f), tried, &best, &worst);
        if (worst >= v->ns)
            continue;
        x->tried += tried > 0;
        x->marks[v->op] = true;
        for (uint32_t k = 0; v->call && k < v->call->apis; k++) {
            const struct api *a = &t->apis[v->call->first_api + k];
            if (a->op != TL_NONE && a->ops == 1)
                x->marks[a->op] = true;
        }
        x->count++;
        x->odd += v->call && (v->call->row.dim[1] % 8 != 0 || v->call->row.dim[4] % 8 != 0);
        x->ns += v->ns;
        x->best_ns += best;
        x->worst_ns += worst;
        if (v->ns > most_ns) {
            most_ns = v->ns;
            x->longest = v->op;
        }
    }
}

/* Returns the number of distinct convolutions among the recorded calls. */
static size_t shapes_of(const struct facts *f)
{
    enum { SHAPES = 256 };
    const struct row_call *seen[SHAPES];
    size_t n = 0;
    for (size_t i = 0; i < f->tl->call_count; i++) {
        const struct row_call *r = &f->tl->calls[i].row;
        size_t k = 0;
        if (!query_is_conv(r))
            continue;
        while (k < n &&
               (seen[k]->family != r->family || memcmp(seen[k]->dim, r->dim, sizeof r->dim) != 0))
            k++;
        if (k == n && n < SHAPES)
            seen[n++] = r;
    }
    return n;
}

static void advise(const struct facts *f, struct outcome *o, const struct found *x)
{
    bool *so = o->remedy.conditions;
    so[CONDITION_SEARCHES] = query_find_seen(f);
    so[CONDITION_SEARCHES_TWICE] = query_find_seen(f) && x->searches.count >= 2 * shapes_of(f);
    so[CONDITION_BENCHMARK_ON] = query_cudnn_benchmark(f);
    so[CONDITION_ODD_CHANNELS] = x->odd > 0;
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct found *x,
                         int64_t each)
{
    const char *rows = "SELECT * FROM library_call WHERE family IN (2, 3, 4)";
    outcome_evidence_per(o, "16-bit convolutions without tensor cores",
                         (double)x->count / (double)f->steps.used, "count", rows);
    outcome_evidence_per(
        o, "their GPU time", ms(each), "ms",
        "SELECT * FROM kernel_time WHERE name LIKE '%alg0%' OR name LIKE '%convolve%' "
        "OR name LIKE '%engine%' OR name LIKE '%direct%' OR name LIKE '%ffma%'");
    outcome_evidence_share(o, "their share", share_pct(f, each), NULL);
    double flops = 0, ns = 0;
    for (size_t i = 0; i < x->slow_count; i++) {
        flops += x->slow[i].flops;
        ns += x->slow[i].call ? x->slow[i].ns : 0;
    }
    if (flops > 0)
        outcome_evidence(o, "rate of convolutions without tensor cores", flops / ns / 1e3,
                         "TFLOP/s", rows);
    if (x->twin_count >= RULES_COMPARED) {
        outcome_evidence_per(o, "convolutions on tensor cores",
                             (double)x->twin_count / (double)f->steps.used, "count", rows);
        outcome_evidence(o, "their rate, upper quartile", x->high_rate / 1e3, "TFLOP/s", rows);
    }
    if (x->odd > 0)
        outcome_evidence_per(o, "of the slow ones, with channels that are no multiple of 8,",
                             (double)x->odd / (double)f->steps.used, "count", rows);
    if (x->tried)
        outcome_evidence_per(o,
                             "of the slow ones, run on tensor cores by the program's own search,",
                             (double)x->tried / (double)f->steps.used, "count", rows);
    outcome_evidence(o, "searches for an algorithm in the profile", (double)x->searches.count,
                     "count", "SELECT * FROM library_call WHERE family = 11");
}

static void judge(const struct facts *f, struct arena *arena, struct outcome *o, struct found *x)
{
    learn(x);
    add_slow(f, x);
    int64_t each = per_step(f, (int64_t)x->ns), lost = per_step(f, (int64_t)(x->ns - x->best_ns));
    o->why =
        arena_printf(arena, "%.3f ms%s of 16-bit convolutions could run faster on tensor cores",
                     ms(each), scope_words(f)->per_of);
    if (x->count == 0 || lost * QUERY_WORTH < f->step_ns)
        return;
    add_evidence(f, o, x, each);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = &edit_scale,
                            .at.op_marks = x->marks,
                            .scale = {x->best_ns / x->ns, x->worst_ns / x->ns}};
    advise(f, o, x);
    outcome_fires(o, lost,
                  arena_printf(arena,
                               "%.0f convolutions %s have 16-bit operands and run on CUDA cores "
                               "all the same: %s (longest: %s)",
                               (double)x->count / (double)f->steps.used, scope_words(f)->per,
                               time_text(arena, each),
                               tl_text(f->tl, f->tl->ops[x->longest].name)));
    outcome_example_op(o, f->tl, x->longest, "longest 16-bit convolution on CUDA cores");
}

/* By its name a 16-bit convolution on CUDA cores, grouped or not. */
static enum query_take may_be_slow(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return o->kind == OP_KERNEL && o->class.family == FAMILY_CONV && o->class.tensor == TRI_NO &&
                   o->class.half
               ? QUERY_BUSY
               : QUERY_NO;
}

/* Returns false, with the reason in *o, if there is nothing to find or too little is known. */
static bool can_tell(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t cost = per_step(f, query_ops(f, may_be_slow).busy_ns);
    bool told;
    o->why = "no convolutions of cuDNN's";
    if (f->totals.family_ns[FAMILY_CONV] == 0 || !query_nvidia(f))
        return false;
    if (query_cc_major(f, &told) < 7 && told) {
        o->verdict = RULE_SUPPRESSED;
        o->why = "this GPU has no tensor cores";
        return false;
    }
    if (f->tl->have & HAVE_CALLS)
        return true;
    o->why = arena_printf(arena, "%.3f ms%s of 16-bit convolutions on CUDA cores", ms(cost),
                          scope_words(f)->per_of);
    if (cost * QUERY_WORTH >= f->step_ns) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: whether the 16-bit convolutions on CUDA cores are grouped, which "
                 "need such kernels (gpuprof run records it of cuDNN's calls)";
    }
    return false;
}

static void check_cuda_core_convolutions(const struct facts *f, struct arena *arena,
                                         struct outcome *o)
{
    if (!can_tell(f, arena, o))
        return;
    size_t n = f->tl->call_count + count_in_graphs(f) + 1;
    struct found x = {.slow = malloc(n * sizeof *x.slow),
                      .twins = malloc(n * sizeof *x.twins),
                      .searches = query_trials(f, arena),
                      .marks = arena_array(arena, f->tl->op_count + 1, sizeof *x.marks),
                      .longest = TL_NONE};
    if (x.slow && x.twins && x.marks) {
        collect(f, &x);
        collect_from_graphs(f, &x);
        judge(f, arena, o, &x);
    } else {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
    }
    free(x.slow);
    free(x.twins);
}

const struct rule rule_cuda_core_convolutions = {
    .id = "cuda-core-convolutions",
    .title = "Have 16-bit convolutions computed by tensor cores",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check_cuda_core_convolutions,
    .cheaper = true,
    .in_window = true,
    .program = {.now = FACT_TORCH_CUDNN_BENCHMARK},
    .looks_for =
        "Calls of cuDNN's convolutions with 16-bit tensors in channels-last, one group and "
        "eight channels or more, whose kernels' names mean CUDA cores (wgrad_alg0, "
        "implicit_convolve_sgemm, convolve_common_engine_float, ffma).",
    .doc =
        "Types of 16 bits do not ensure tensor cores: the algorithm decides. cuDNN's search "
        "times each algorithm once, with what the host takes to prepare its kernel, and the first "
        "time with loading the module as well (CUDA_MODULE_LOADING=LAZY is the default). So an "
        "algorithm without tensor cores may win that is ten times slower: on an H200 one of "
        "104 us won over one of 19 us that the host took 0.9 ms to prepare. A small workspace, "
        "CUDNN_DEFAULT_MATH in the call, "
        "or channels that are no multiple of 8 also lead there. Grouped and depthwise "
        "convolutions, and those of fewer than eight channels, have such kernels for good "
        "reasons, and gpuprof leaves them out, as it does where the number of groups was not "
        "recorded. The saving is what the program's own search measured of kernels on tensor "
        "cores for the same convolution; where it ran none, what these would take at the rates of "
        "those of the same program that run there; if there are too few of them, half of their "
        "time at worst, and a fifteenth at best.",
    .remedy = {.action = ACTION_USE_TENSOR_CORE_ALGORITHM, .object.kind = OBJECT_KERNEL},
    .tips = {{"tensor-core-algorithm", "Check that 16-bit convolutions use tensor cores",
              "seen in gpuprof's own recordings, which have the number of groups"}},
};
