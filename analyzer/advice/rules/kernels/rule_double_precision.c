/* Fires if the program trains in double precision, usually by accident: NumPy's default is
 * float64. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"
#include "wire/fact_keys.h"

#include <ctype.h>
#include <string.h>

/* True if all weights are float64: then all computing with them is, too. */
static bool all_double(const struct facts *f)
{
    const char *weights = timeline_meta(f->tl, FACT_TORCH_PARAMETERS);
    return weights && strstr(weights, f->on_cpu ? ", float64, on cpu" : ", float64, on cuda");
}

/* What stands first is the type of the elements: FusedAdamMathFunctor<float, ...>, double, double
 * updates floats by numbers that the host passes as doubles. */
static bool names_double(const char *name)
{
    static const char *const others[] = {"float", "half", "Half", "BFloat16"};
    const char *type = strstr(name, "double");
    if (query_name_has(name, "dgemm|_f64|d884"))
        return true;
    for (size_t i = 0; type && i < sizeof others / sizeof *others; i++) {
        const char *other = strstr(name, others[i]);
        if (other && other < type)
            return false;
    }
    return type && strncmp(type, "double_buffer", 13) != 0;
}

/* Moves behind an identifier, a literal or a reference to an earlier type. */
static const char *behind(const char *p)
{
    size_t n = 0;
    if (isdigit((unsigned char)*p)) {
        while (isdigit((unsigned char)*p) && n < 4096)
            n = n * 10 + (size_t)(*p++ - '0');
        return p + strnlen(p, n);
    }
    bool number = *p == 'L' && islower((unsigned char)p[1]);
    bool reference = (*p == 'S' || *p == 'T') && (isalnum((unsigned char)p[1]) || p[1] == '_');
    const char *end = number ? strchr(p, 'E') : reference ? strchr(p, '_') : NULL;
    return end ? end + 1 : p + 1;
}

/* True for a C++ name as compilers write it whose parameters point to doubles (Pd, PKd), and to no
 * smaller floating-point type: kernel(double const*, double*, int). */
static bool points_to_doubles(const char *name)
{
    bool doubles = false;
    if (strncmp(name, "_Z", 2) != 0)
        return false;
    for (const char *p = name + 2; *p; p = behind(p)) {
        if (*p != 'P')
            continue;
        char to = p[1 + (p[1] == 'K')];
        if (to == 'f')
            return false;
        doubles |= to == 'd';
    }
    return doubles;
}

static bool is_double(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    if (o->kind != OP_KERNEL || o->class.family == FAMILY_COMM)
        return false;
    return all_double(f) || names_double(tl_text(f->tl, o->name)) ||
           names_double(tl_text(f->tl, o->full_name)) ||
           points_to_doubles(tl_text(f->tl, o->full_name));
}

static enum query_take takes(const struct facts *f, uint32_t op)
{
    return is_double(f, op) ? QUERY_BUSY : QUERY_NO;
}

/* True if the GPU computes FP64 at half the rate of FP32, as GPUs for data centres do. */
static bool half_rate(const struct facts *f)
{
    const struct row_device *d = f->device;
    return d && d->cc_minor == 0 && d->cc_major >= 6 && d->cc_major <= 10;
}

static void check_on_cpu(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const int64_t *part = f->breakdown_ns;
    int64_t ns = part[PART_FORWARD] + part[PART_BACKWARD] + part[PART_OPTIMIZER];
    const char *weights = timeline_meta(f->tl, FACT_TORCH_PARAMETERS);
    o->why = "the weights are not float64";
    if (!weights) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: the type of the weights (gpuprof run records it at an optimizer's "
                 "first step)";
        return;
    }
    if (!all_double(f))
        return;
    outcome_evidence_per(o, "passes and optimizer, in FP64", ms(ns), "ms",
                         "SELECT * FROM fact WHERE key = 'torch.parameters'");
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, (int64_t)((double)ns * (1 - RULES_FP32_OF_CPU)),
                  arena_printf(arena, "%s %s are computed in FP64: the weights are %s",
                               time_text(arena, ns), scope_words(f)->per, weights));
}

static void check_double_precision(const struct facts *f, struct arena *arena, struct outcome *o)
{
    if (f->on_cpu) {
        check_on_cpu(f, arena, o);
        return;
    }
    struct query_ops ops = query_ops(f, takes);
    int64_t busy = per_step(f, ops.busy_ns);
    double best = half_rate(f) ? RULES_FP32_HALF.good : RULES_FP32_FAST.good;
    double worst = half_rate(f) ? RULES_FP32_HALF.bad : RULES_FP32_FAST.bad;
    int64_t most = (int64_t)((double)busy * (1 - best));
    o->why =
        arena_printf(arena, "%.3f ms of kernels %s compute in FP64", ms(busy), scope_words(f)->per);
    if (most * QUERY_WORTH < f->step_ns)
        return;
    const char *weights = timeline_meta(f->tl, FACT_TORCH_PARAMETERS);
    outcome_evidence_per(o, "kernels in FP64", (double)each_step(f, ops.count), "count",
                         "SELECT * FROM kernel_time WHERE name LIKE '%double%' OR name LIKE "
                         "'%dgemm%'");
    outcome_evidence_per(o, "their GPU time", ms(busy), "ms", NULL);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = &edit_scale, .at.ops = is_double, .scale = {best, worst}};
    outcome_fires(o, most,
                  arena_printf(arena, "%s %s are computed in FP64%s%s", time_text(arena, busy),
                               scope_words(f)->per,
                               weights && all_double(f) ? ": the weights are " : "",
                               weights && all_double(f) ? weights : ""));
    outcome_example_op(o, f->tl, ops.longest, "longest FP64 kernel");
}

const struct rule rule_double_precision = {
    .id = "double-precision",
    .title = "Compute in FP32, not in FP64",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_double_precision,
    .asks_cpu = true,
    .cheaper = true,
    .in_window = true,
    .program = {.line = FACT_TORCH_FLOAT64_WHERE, .now = FACT_TORCH_PARAMETERS},
    .looks_for = "Kernels that compute in FP64, by their names, by the types that they point to, "
                 "or because all "
                 "weights are float64; on a CPU the weights alone.",
    .doc = "NumPy makes float64 by default; a tensor made of it stays so, and a model that is "
           "converted to match (.double()) then computes and copies twice the bytes, at half of "
           "the FP32 rate on GPUs for data centres and at a small part of it on all others. "
           "Training needs FP64 rarely: some solvers and physical models do.",
    .remedy = {.action = ACTION_USE_SINGLE_PRECISION, .object.kind = OBJECT_PROGRAM},
    .tips = {{"fp32-not-fp64", "Do not train in double precision", NULL}},
};
