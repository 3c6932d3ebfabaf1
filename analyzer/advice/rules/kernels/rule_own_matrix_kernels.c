/* Fires if the program computes matrix products and convolutions in kernels of its own although
 * cuBLAS and cuDNN have fast ones. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/query.h"

#include <ctype.h>
#include <string.h>

/* Names that people give to kernels that multiply, convolve, or compute gradients of weights. */
static const char computes[] =
    "matmul|mat_mul|MatMul|matMul|Matmul|matrixMul|matrix_mul|MatrixMul|matrixmul|gemm|Gemm|GEMM|"
    "conv2d|conv2D|Conv2d|Conv2D|conv3d|convolution|Convolution|conv_forward|conv_backward|"
    "convForward|convBackward|linear_forward|linear_backward|linearForward|linearBackward|"
    "linearLayer|linear_layer|fc_forward|fc_backward|fully_connected|fullyConnected|dweight|"
    "matrixMult|MatrixMult|matrix_mult|MatMult|matmult|mat_mult|multiplyMatri|multiply_matri|"
    "matrixProduct|matrix_product|mmul|mm_kernel|kernel_mm|mm_nn|mm_nt|mm_tn|dense_forward|"
    "dense_backward|denseForward|denseBackward|dense_layer|denseLayer|conv_fwd|conv_bwd|conv1d|"
    "Conv1d|conv_layer|convLayer|dot_product_kernel|qkv_proj|"
    "dWeight|weight_grad|weightGrad|grad_weight|gradWeight";

/* Names of libraries and of generated kernels; kernels that name tensor cores are tuned already.
 * cuBLAS and cuDNN have a few kernels without a prefix: those of the second and third line. */
static const char of_library[] =
    "cutlass|xmma|nvjet|cublas|cudnn|ampere_|volta_|turing_|maxwell_|pascal_|kepler|hopper_|"
    "gemv|gemmk1|gemmSN|gemm2x2|gemm_kernel2x2|splitK|dot_kernel|magma|Cijk_|bgemm|"
    "convolve_|grouped_direct|nchw_hw_packed|fft2d|wgrad_|dgrad|compute_gemm_pointers|"
    "triton|native|cub::|thrust|flash|fmha|marlin|deep_gemm|fbgemm|tilelang|nvte|"
    "wmma|hmma|_mma|tensorop|tensor_core|tensorcore|TensorCore|igemm|mul_mat_q|quant|gen_sgemm|gen_"
    "dgemm|fermi|LDS128|_ldg";

/* True for names such as "sgemm_128x128x8_NN_vec": libraries put the tile into the name. */
static bool names_tile(const char *name)
{
    for (const char *x = strchr(name, 'x'); x; x = strchr(x + 1, 'x'))
        if (x - name >= 2 && isdigit((unsigned char)x[-1]) && isdigit((unsigned char)x[-2]) &&
            isdigit((unsigned char)x[1]))
            return true;
    return false;
}

/* "matmul_backward_bias" only adds rows; "dweight_dbias" multiplies as well. */
static bool only_bias(const char *name)
{
    return query_name_has(name, "backward_bias|bias_backward|bias_grad|grad_bias|biasGrad") &&
           !query_name_has(name, "eight");
}

/* True if the kernel itself lies in a namespace, as those of libraries do: "cutlass::Kernel<...>",
 * "_ZN7cutlass...". A namespace within its (template) arguments does not count. */
static bool in_namespace(const char *name)
{
    if (strncmp(name, "_Z", 2) == 0)
        return name[2] == 'N';
    const char *colons = strstr(name, "::");
    return colons && (size_t)(colons - name) < strcspn(name, "<(");
}

/* True if one of PyTorch's own operators launched the kernel, or compiled code, or if that was not
 * recorded: those call libraries or generated kernels. An extension launches its kernels in
 * operators of its own or, where operators were recorded, in none. */
static bool in_operator(const struct facts *f, const struct op *o, bool recorded)
{
    const char *in = o->api == TL_NONE ? NULL : query_range_of(f, o->api);
    if (!in)
        return !recorded || o->api == TL_NONE || o->in_graph != GRAPH_NONE;
    return query_name_has(in, "aten::|Compiled|inductor|triton|cudaGraph");
}

struct own {
    bool pytorch;
    bool operators;    /* PyTorch's operators were recorded */
    bool *called;      /* by operation: a recorded library call launched it */
    bool *marks;       /* by operation: it is such a kernel */
    bool *looked, *is; /* by name: it was examined; it is such a kernel */
    int64_t *ns;       /* by name, over the used steps */
    int64_t count, all_ns;
    uint32_t longest; /* longest launch of the name with most time */
};

static bool is_own(const struct facts *f, struct own *x, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    if (o->kind != OP_KERNEL || x->called[op] || !query_used(f, op) ||
        (x->pytorch && in_operator(f, o, x->operators)))
        return false;
    if (!x->looked[o->full_name]) {
        const char *name = tl_text(f->tl, o->full_name);
        x->looked[o->full_name] = true;
        x->is[o->full_name] = query_name_has(name, computes) && !query_name_has(name, of_library) &&
                              !in_namespace(name) && !names_tile(name) && !only_bias(name) &&
                              o->class.family != FAMILY_NORM && o->class.family != FAMILY_BIAS;
    }
    return x->is[o->full_name];
}

/* Returns false without memory. */
static bool find(const struct facts *f, struct arena *arena, struct own *x)
{
    const struct timeline *t = f->tl;
    x->called = arena_array(arena, t->op_count + 1, sizeof *x->called);
    x->marks = arena_array(arena, t->op_count + 1, sizeof *x->marks);
    x->looked = arena_array(arena, t->strings.n + 1, sizeof *x->looked);
    x->is = arena_array(arena, t->strings.n + 1, sizeof *x->is);
    x->ns = arena_array(arena, t->strings.n + 1, sizeof *x->ns);
    if (!x->called || !x->marks || !x->looked || !x->is || !x->ns)
        return false;
    for (size_t i = 0; i < t->call_count; i++)
        for (uint32_t k = 0; t->calls[i].first_api != TL_NONE && k < t->calls[i].apis; k++)
            if (t->apis[t->calls[i].first_api + k].op != TL_NONE)
                x->called[t->apis[t->calls[i].first_api + k].op] = true;
    uint32_t most = 0;
    for (uint32_t i = 0; i < t->op_count; i++) {
        if (!is_own(f, x, i))
            continue;
        const struct op *o = &t->ops[i];
        x->marks[i] = true;
        x->count++;
        x->all_ns += o->end_ns - o->start_ns;
        x->ns[o->full_name] += o->end_ns - o->start_ns;
        most = x->ns[o->full_name] > x->ns[most] ? o->full_name : most;
    }
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i], *best = x->longest == TL_NONE ? NULL : &t->ops[x->longest];
        if (is_own(f, x, i) && o->full_name == most &&
            (!best || o->end_ns - o->start_ns > best->end_ns - best->start_ns))
            x->longest = i;
    }
    return true;
}

static void check_own_matrix_kernels(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct own x = {.longest = TL_NONE,
                    .pytorch = query_of_pytorch(f),
                    .operators = query_operators_recorded(f->tl)};
    if (!find(f, arena, &x)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    int64_t all = per_step(f, x.all_ns);
    o->why = arena_printf(arena, "the program's own matrix kernels take %.3f ms %s", ms(all),
                          scope_words(f)->per);
    if (x.longest == TL_NONE || all * 100 < f->step_ns * RULES_KERNEL_PCT)
        return;
    const struct op *most = &f->tl->ops[x.longest];
    const char *rows = "SELECT * FROM kernel_time WHERE name LIKE '%mul%' OR name LIKE '%gemm%' OR "
                       "name LIKE '%conv%' OR name LIKE '%linear%' OR name LIKE '%fc\\_%' ESCAPE "
                       "'\\' OR name LIKE '%connected%' OR name LIKE '%weight%'";
    outcome_evidence_per(o, "such kernels", (double)x.count / (double)f->steps.used, "count", rows);
    outcome_evidence_per(o, "their GPU time", ms(all), "ms", rows);
    outcome_evidence(o, arena_printf(arena, "of that, '%.60s'", tl_text(f->tl, most->name)),
                     ms(per_step(f, x.ns[most->full_name])), "ms", rows);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = &edit_scale, .at.op_marks = x.marks, .best_case = true};
    outcome_fires(o, all,
                  arena_printf(arena,
                               "kernels of the program's own compute products or convolutions for "
                               "%s of %s %s %s, most of it %.60s (%s); how much "
                               "faster a library's are depends on how well these use the GPU",
                               time_text(arena, all), scope_words(f)->each,
                               time_text(arena, f->step_ns), scope_words(f)->unit,
                               tl_text(f->tl, most->name),
                               time_text(arena, per_step(f, x.ns[most->full_name]))));
    outcome_example_op(o, f->tl, x.longest, "longest launch of it");
}

const struct rule rule_own_matrix_kernels = {
    .id = "own-matrix-kernels",
    .title = "Let cuBLAS and cuDNN compute products and convolutions",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_own_matrix_kernels,
    .cheaper = true,
    .in_window = true,
    .looks_for = "Kernels of the program's own, by their names (matmul, gemm, conv2d, dweight, "
                 "...), that take 5 % of the step: of no library, not launched by a library's "
                 "call and, under PyTorch, outside of its operators.",
    .doc = "A product of 4096 x 4096 numbers in FP32 reaches 1 to 9 % of cuBLAS's rate where it is "
           "written down in the obvious way, 13 % with tiles in shared memory, 37 to 78 % with "
           "tiles in registers as well, and over 90 % with tiles for warps and a search for their "
           "sizes (S. Boehm 2022, \"How to Optimize a CUDA Matmul Kernel for cuBLAS-like "
           "Performance\", on an A6000). Tensor cores are faster again: their peak in TF32 is 8 "
           "times that of FP32 on an A100. The shapes are not recorded, so the bound is a replay "
           "in which the kernels take no time. A kernel that multiplies small matrices, or does "
           "other work as "
           "well, may be right as it is.",
    .remedy = {.action = ACTION_USE_LIBRARY_KERNELS, .object.kind = OBJECT_KERNEL},
    .tips = {{"library-kernels", "Leave products and convolutions to cuBLAS and cuDNN", NULL}},
};
