/* The tables of kernel names, and the search in them: family, data type,
 * layout, use of tensor cores. */
#include "analyzer/timeline/classify.h"
#include "wire/spool_format.h"

#include <ctype.h>
#include <string.h>

/* True when one of the '|'-separated parts occurs in the name. */
static bool any(const char *name, const char *parts)
{
    char part[64];
    while (*parts) {
        size_t n = strcspn(parts, "|");
        memcpy(part, parts, n);
        part[n] = '\0';
        if (strstr(name, part))
            return true;
        parts += n + (parts[n] == '|');
    }
    return false;
}

struct name_rule {
    const char *parts; /* one of these parts must occur ... */
    const char *also;  /* ... and, unless NULL, one of these as well */
    uint8_t is;
};

/* Parts are at most 63 characters long. The order matters: specific names come
 * first, general ones last. */
static const struct name_rule family_rules[] = {
    {"nccl|rccl|msccl|oneccl|all_reduce_kernel|allreduce|AllReduce|cross_device_reduce|_shot_all",
     NULL, FAMILY_COMM},
    {"deep_ep|dpsk::ep|dpsk2ep|pplx::|nvshmem|multimem_|symmetric_memory|userbuffers_|ar_fusion",
     NULL, FAMILY_COMM},
    /* NVIDIA's library for mixture-of-experts models */
    {"hybrid_ep::", "dispatch|combine|device_sync", FAMILY_COMM},
    {"gemm|Gemm|matmul", "all_gather|AllGather|reduce_scatter|ReduceScatter", FAMILY_GEMM},
    {"alltoall|AllToAll|all_to_all|moeA2A|moe_a2a|all_gather_kernel|allgather|AllGather", NULL,
     FAMILY_COMM},
    {"reduce_scatter|ReduceScatter", NULL, FAMILY_COMM},
    {"triton_tem", "attention|attn|sdpa", FAMILY_ATTENTION},
    {"triton_tem", "mm|gemm", FAMILY_GEMM},
    {"triton_red|triton_per", NULL, FAMILY_REDUCE},
    {"triton_", NULL, FAMILY_ELEMENTWISE},
    {"Cijk_", NULL, FAMILY_GEMM},
    {"flash_fwd|flash_bwd|fmha|Fmha|FMHA|sdpa|attn_fwd|attn_bwd|attention|Attention", NULL,
     FAMILY_ATTENTION},
    {"multi_tensor_apply", "native::Copy<|6native4CopyI|CopyFunctor", FAMILY_COPY},
    {"chwToNhwc|hwcToNchw|nchwToFolded|nhwcToFolded|oldedNhwcToNhwc|genericTranspose|AddPadding",
     NULL, FAMILY_LAYOUT},
    {"batched_transpose|transpose_readWrite|nhwc2nchw|nchw2nhwc|nchw_to_nhwc|nhwc_to_nchw", NULL,
     FAMILY_LAYOUT},
    {"mbedding|_embs", NULL, FAMILY_EMBEDDING},
    {"multi_tensor_apply|Adam|adam|sgd|Sgd|SGD|lamb_|LambStage|LAMB|ptimizer|momentum|rmsprop|"
     "Adagrad",
     NULL, FAMILY_OPTIMIZER},
    {"Adagrad|adagrad|check_finite|non_finite_check|update_scale", NULL, FAMILY_OPTIMIZER},
    {"update_weight|updateWeight|UpdateWeight|update_bias|updateBias|UpdateBias", NULL,
     FAMILY_OPTIMIZER}, /* common names of hand-written kernels */
    {"update_param|updateParam|UpdateParam|weight_update|weightUpdate|WeightUpdate", NULL,
     FAMILY_OPTIMIZER},
    {"gradient_descent|gradientDescent|GradientDescent", NULL, FAMILY_OPTIMIZER},
    /* cuDNN rounds operands to TF32 for its kernels: the program converts nothing */
    {"convertTensor_kernel<float, float|convertTensor_kernelIff", NULL, FAMILY_UNKNOWN},
    {"convertTensor_kernel|bfloat16_copy|float16_copy|converting_copy|cast_kernel|CastKernel", NULL,
     FAMILY_CAST},
    {"unrolled_elementwise_kernel", "direct_copy_kernel|copy_kernel", FAMILY_CAST},
    {"masked_fill|masked_scale|masked_select", NULL, FAMILY_ELEMENTWISE},
    {"FillFunctor|fill_kernel|FillKernel|memset|zero_kernel|zeroKernel|rocclr_fillBuffer", NULL,
     FAMILY_FILL},
    {"nll_loss|cross_entropy|CrossEntropy|mse_|smooth_l1|ClassNLL|softmax_xent|softmax_loss|_loss",
     NULL, FAMILY_LOSS},
    {"softmax|SoftMax|Softmax", NULL, FAMILY_SOFTMAX},
    {"batch_norm|batchnorm|BatchNorm|layer_norm|LayerNorm|layernorm|rms_norm|RMSNorm|rmsnorm", NULL,
     FAMILY_NORM},
    {"group_norm|GroupNorm|instance_norm|RowwiseMoments|bn_fw|bn_bw|GammaBeta|ln_fwd|ln_bwd", NULL,
     FAMILY_NORM},
    {"bnorm|Bn_fwd|Bn_bwd", NULL, FAMILY_NORM},
    {"calc_bias_diff|add_bias|bias_add|BiasAdd|addBias|bias_grad", NULL, FAMILY_BIAS},
    {"elementwise_kernel", "direct_copy_kernel", FAMILY_COPY},
    {"CatArrayBatchedCopy|copy_device_to_device|rocclr_copyBuffer|BatchMemcpy|batch_memcpy", NULL,
     FAMILY_COPY},
    /* copy kernels of the driver, in graphs */
    {"memcpy32_|memcpy64_|memcpy128|memcpy_post", NULL, FAMILY_COPY},
    {"max_pool|avg_pool|pooling_|MaxPool|AvgPool|adaptive_average", NULL, FAMILY_POOL},
    {"elementwise_kernel", NULL, FAMILY_ELEMENTWISE},
    {"scalePackedTensor|computeOffsetsKernel|reduce_wgrad_nchw|op_generic_tensor",
     "reduce_wgrad|compute|scaleP", FAMILY_CONV},
    {"splitKreduce|ReduceSplitK|splitk_reduce", NULL, FAMILY_GEMM},
    {"reduce_kernel|DeviceReduce|ReduceOp|reduce_1Block|reduction", NULL, FAMILY_REDUCE},
    {"fprop|dgrad|wgrad|Conv2d|Conv3d|scudnn|hcudnn|884cudnn|1688cudnn|16816cudnn|convolve|inograd",
     NULL, FAMILY_CONV},
    {"dgrad_engine|wgrad_alg|igemm_fwd|igemm_bwd|igemm_wrw|miopenSp3Asm|grouped_conv|naive_conv",
     NULL, FAMILY_CONV},
    {"depthwise|conv2d|conv_fwd|conv_bwd|ConvForward|fft2d_|direct_kernel|volta_cgemm|fft1d_", NULL,
     FAMILY_CONV},
    {"gemm|Gemm|GEMM|nvjet_|gemv|dot_kernel|cutlass|matmul|bmm_|xmma_", NULL, FAMILY_GEMM},
    {"op_tensor_kernel|SubTensorOp|op_generic_tensor|elementwise|pointwise|relu|gelu|activation|"
     "dropout|axpy|"
     "add_",
     NULL, FAMILY_ELEMENTWISE},
};

/* Which matrix kernels run on tensor cores. `ffma` and `simt` mean CUDA cores whatever else
 * the name says. Attention in FP32 runs on CUDA cores, or on tensor cores in several
 * passes, so it stays unknown. */
static const struct name_rule tensor_rules[] = {
    {"ffma|simt|MmaSimt", NULL, TRI_NO},
    {"fmha|Fmha|FMHA", "cutlassF_f32|cutlassB_f32|fp32|f32_aligned|f32_notaligned", TRI_UNKNOWN},
    {"nvjet_|tensorop|MmaTensorOp|TensorOpMultiplicand|_tensor16x8x|_tensor8x8x4|warpgroupsize",
     NULL, TRI_YES},
    {"884gemm|1688gemm|16816gemm|16832gemm|8816gemm|8832gemm|161616gemm", NULL, TRI_YES},
    {"884cudnn|1688cudnn|16816cudnn|16832cudnn|8816cudnn|8832cudnn|161616cudnn", NULL, TRI_YES},
    {"884fprop|1688fprop|16816fprop|16832fprop|8816fprop|8832fprop|161616fprop", NULL, TRI_YES},
    {"884dgrad|1688dgrad|16816dgrad|16832dgrad|8816dgrad|8832dgrad|161616dgrad", NULL, TRI_YES},
    {"884wgrad|1688wgrad|16816wgrad|16832wgrad|8816wgrad|8832wgrad|161616wgrad", NULL, TRI_YES},
    /* CuTe's names of matrix instructions, which occur in the template arguments of kernels */
    {"UniversalFMA", NULL, TRI_NO},
    {"SM70_8x8x4_|SM75_8x8x16_|SM75_16x8x|SM80_8x8x|SM80_16x8x|SM89_16x8x|SM90_16x8x", NULL,
     TRI_YES},
    {"SM90_64x|Gmma|GMMA|SM100_MMA|SM120_16x8x", NULL, TRI_YES},
    {"hmma|imma|wgmma|gmma|utmaldg|flash_fwd|flash_bwd|fmha", NULL, TRI_YES},
    {"cudnn_generated_fort_native_sdpa|cutlass3x_sm90|cutlass3x_sm100|cutlass3x_sm120", NULL,
     TRI_YES},
    {"bmm_", "sm100", TRI_YES},
    {"volta_|ampere_|turing_|maxwell_", "sgemm|dgemm|hgemm|cgemm|zgemm", TRI_NO},
    {"scudnn|hcudnn|convolve_sgemm|convolve_dgemm|convolve_hhgemm|inograd|dgrad_engine", NULL,
     TRI_NO},
    {"dgrad2d_alg|wgrad_alg0|wgrad_alg1|gemv|gemmSN|gemmk1|dot_kernel|sgemm_largek|magma_sgemm",
     NULL, TRI_NO},
    {"direct_kernel|depthwise|fft2d_|fft1d_|naive_conv", NULL, TRI_NO},
    {"convolve_common_engine_float|dgrad_alg1_engine", NULL, TRI_NO},
    {"Cijk_", "_MI16x|_MI32x|_MI4x|_MI16_|_MI32_", TRI_YES},
};

static const struct name_rule dtype_rules[] = {
    {"tf32|tfloat32", NULL, SPOOL_DT_TF32},
    {"e4m3|Float8_e4|fp8", NULL, SPOOL_DT_F8E4M3},
    {"e5m2", NULL, SPOOL_DT_F8E5M2},
    {"bf16|bfloat16|BFloat16|Cijk_Alik_Bljk_BBS|_BBS_|_BSS_", NULL, SPOOL_DT_BF16},
    {"f16f16|fp16|_f16|h1688|h16816|h884|hgemm|hhgemm|hcudnn|half|Half|_HHS_|_HSS_|_HB_", NULL,
     SPOOL_DT_F16},
    {"i8i8|int8|_i8|imma|igemm_", NULL, SPOOL_DT_I8},
    {"tensorop_s1688gemm|tensorop_s1688dgrad|tensorop_s1688fprop|tensorop_s1688wgrad", NULL,
     SPOOL_DT_TF32},
    {"dgemm|double|f64", NULL, SPOOL_DT_F64},
    {"sgemm|float|f32|scudnn|ffma|_SB_", NULL, SPOOL_DT_F32},
};

static const struct name_rule pass_rules[] = {
    {"dgrad|Dgrad|bwd_data|igemm_bwd", NULL, PASS_DGRAD},
    {"wgrad|Wgrad|bwd_weight|igemm_wrw", NULL, PASS_WGRAD},
    {"stridedB_splitK", NULL, PASS_WGRAD},
    {"stridedB", NULL, PASS_DGRAD},
    {"fprop|Fprop|conv_fwd|igemm_fwd|convolve|winogradForward|relu_", NULL, PASS_FWD},
};

static uint8_t first_match(const char *name, const struct name_rule *r, size_t n, uint8_t otherwise)
{
    for (size_t i = 0; i < n; i++)
        if (any(name, r[i].parts) && (!r[i].also || any(name, r[i].also)))
            return r[i].is;
    return otherwise;
}

#define MATCH(name, rules, otherwise)                                                              \
    first_match(name, rules, sizeof(rules) / sizeof *(rules), (otherwise))

/* Data type from nvjet_[smNN_]ABC_...: the letters are the input, accumulator and output types. */
static uint8_t nvjet_dtype(const char *name)
{
    const char *p = strstr(name, "nvjet_") + strlen("nvjet_");
    if (p[0] == 's' && p[1] == 'm' && isdigit((unsigned char)p[2])) {
        p += strcspn(p, "_");
        p += *p == '_';
    }
    switch (*p) {
    case 'h':
        return SPOOL_DT_F16;
    case 't':
        return SPOOL_DT_BF16;
    case 's':
        return SPOOL_DT_TF32;
    case 'd':
        return SPOOL_DT_F64;
    case 'q':
        return SPOOL_DT_F8E4M3;
    }
    return SPOOL_DT_UNKNOWN;
}

static uint8_t layout_of(const char *name)
{
    bool nhwc = any(name, "nhwc|NHWC|ndhwc|channels_last");
    bool nchw = any(name, "nchw|NCHW|ncdhw");
    return nhwc && !nchw   ? SPOOL_LAYOUT_NHWC
           : nchw && !nhwc ? SPOOL_LAYOUT_NCHW
                           : SPOOL_LAYOUT_UNKNOWN;
}

static uint8_t align_of(const char *name)
{
    const char *p = strstr(name, "align");
    return p && p[5] >= '1' && p[5] <= '8' ? (uint8_t)(p[5] - '0') : 0;
}

/* XLA names its kernels loop_add_fusion, input_reduce_fusion_4, gemm_fusion_dot_2. */
bool classify_xla(const char *name)
{
    static const char *const begin[] = {"loop_", "input_", "gemm_fusion"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (strncmp(name, begin[i], strlen(begin[i])) == 0)
            return strstr(name, "fusion") && !strpbrk(name, " :(");
    return false;
}

struct kernel_class classify_kernel(const char *name)
{
    struct kernel_class c = {.family = MATCH(name, family_rules, FAMILY_UNKNOWN)};
    bool matrix =
        c.family == FAMILY_GEMM || c.family == FAMILY_CONV || c.family == FAMILY_ATTENTION;
    c.tensor = matrix ? MATCH(name, tensor_rules, TRI_UNKNOWN) : TRI_NO;
    c.dtype =
        strstr(name, "nvjet_") ? nvjet_dtype(name) : MATCH(name, dtype_rules, SPOOL_DT_UNKNOWN);
    if (c.family != FAMILY_LAYOUT) /* a layout conversion has two layouts */
        c.layout = layout_of(name);
    c.align = align_of(name);
    c.half = any(name, "bfloat16|bf16|half|fp16|Half|BFloat16");
    c.by_row =
        c.family == FAMILY_NORM &&
        any(name, "layer_norm|LayerNorm|layernorm|rms_norm|RMSNorm|rmsnorm|group_norm|GroupNorm|"
                  "instance_norm|RowwiseMoments|GammaBeta|ln_fwd|ln_bwd");
    c.fused = strncmp(name, "triton_", strlen("triton_")) == 0 || classify_xla(name);
    if (c.family == FAMILY_CONV)
        c.pass = MATCH(name, pass_rules, PASS_NONE);
    return c;
}

static uint8_t pass_of_call(int64_t family)
{
    return family == SPOOL_CALL_CONV_FWD     ? PASS_FWD
           : family == SPOOL_CALL_CONV_DGRAD ? PASS_DGRAD
                                             : PASS_WGRAD;
}

void classify_refine(struct kernel_class *c, const struct row_call *call)
{
    static const uint8_t family[] = {
        [SPOOL_CALL_GEMM] = FAMILY_GEMM,       [SPOOL_CALL_NORM] = FAMILY_NORM,
        [SPOOL_CALL_POOL] = FAMILY_POOL,       [SPOOL_CALL_ACTIVATION] = FAMILY_ELEMENTWISE,
        [SPOOL_CALL_SOFTMAX] = FAMILY_SOFTMAX, [SPOOL_CALL_BIAS] = FAMILY_BIAS,
        [SPOOL_CALL_COLLECTIVE] = FAMILY_COMM, [SPOOL_CALL_FIND] = FAMILY_UNKNOWN,
    };
    bool conv = spool_call_convolves(call->family);
    bool untold = c->family == FAMILY_UNKNOWN;
    if (conv && (untold || c->family == FAMILY_GEMM || c->family == FAMILY_CONV)) {
        c->family = FAMILY_CONV;
        c->pass = pass_of_call(call->family);
    } else if (untold && call->family > 0 && call->family < (int64_t)sizeof family) {
        c->family = family[call->family];
    }
    bool matrix = c->family == FAMILY_GEMM || c->family == FAMILY_CONV;
    if (untold && matrix)
        c->tensor = TRI_UNKNOWN;
    if (c->dtype == SPOOL_DT_UNKNOWN && call->in_type > 0 && call->in_type <= SPOOL_DT_OTHER)
        c->dtype = (uint8_t)call->in_type;
    if (c->layout == SPOOL_LAYOUT_UNKNOWN && c->family != FAMILY_LAYOUT && call->in_layout > 0 &&
        call->in_layout <= SPOOL_LAYOUT_COL)
        c->layout = (uint8_t)call->in_layout;
}

const char *family_text(unsigned family)
{
    static const char *const text[FAMILY_COUNT] = {
        [FAMILY_UNKNOWN] = "other",
        [FAMILY_GEMM] = "matrix multiply",
        [FAMILY_CONV] = "convolution",
        [FAMILY_ATTENTION] = "attention",
        [FAMILY_NORM] = "normalisation",
        [FAMILY_POOL] = "pooling",
        [FAMILY_SOFTMAX] = "softmax",
        [FAMILY_ELEMENTWISE] = "element-wise",
        [FAMILY_REDUCE] = "reduction",
        [FAMILY_OPTIMIZER] = "optimizer",
        [FAMILY_LAYOUT] = "layout conversion",
        [FAMILY_CAST] = "type conversion",
        [FAMILY_FILL] = "fill",
        [FAMILY_EMBEDDING] = "embedding",
        [FAMILY_LOSS] = "loss",
        [FAMILY_BIAS] = "bias",
        [FAMILY_COMM] = "communication",
        [FAMILY_COPY] = "copy kernel",
    };
    return family < FAMILY_COUNT ? text[family] : "other";
}
