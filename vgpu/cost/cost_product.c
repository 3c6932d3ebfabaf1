/* A whole matrix product as cuBLAS runs it: its kernels, and how long they take. */
#include "cost/names.h"

static const char gemv_n[] =
    "_Z13gemv2N_kernelIiiffffLi128ELi1ELi2ELi2ELi11ELb0E18cublasGemvParamsExIi30cublasGemvTensor"
    "StridedBatchedIKfES3_S1_IfEfEEvT11_";
static const char gemv_t[] =
    "_Z17gemv2T_kernel_valIiiffffLi128ELi16ELi2ELi2ELb0ELb0E18cublasGemvParamsExIi30cublasGemv"
    "TensorStridedBatchedIKfES3_S1_IfEfEEvT11_T4_S7_";
static const char reduce_f32[] =
    "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiffffLb0EfffLb1ELb0ELb0ELb0EEEvNS_"
    "18cublasSplitKParamsIT4_EEPKT2_PKT8_PT7_PT3_PKS2_SF_PKT9_S6_PSG_PvlPS2_PiSL_SL_SF_SF_SF_SF_"
    "SF_";
static const char reduce_f16[] =
    "_ZN8cublasLt19splitKreduce_kernelILi32ELi16Eif6__halffS1_Lb0EfS1_S1_Lb1ELb0ELb0ELb0EEEvNS_"
    "18cublasSplitKParamsIT4_EEPKT2_PKT8_PT7_PT3_PKS3_SG_PKT9_S7_PSH_PvlPS3_PiSM_SM_SG_SG_SG_SG_"
    "SG_";
static const char reduce_bf16[] =
    "_ZN8cublasLt19splitKreduce_kernelILi32ELi16Eif13__nv_bfloat16fS1_Lb0EfS1_S1_Lb1ELb0ELb0ELb0"
    "EEEvNS_18cublasSplitKParamsIT4_EEPKT2_PKT8_PT7_PT3_PKS3_SG_PKT9_S7_PSH_PvlPS3_PiSM_SM_SG_SG_"
    "SG_SG_SG_";

int vg_alignment(const void *pointer, int64_t leading, size_t size)
{
    uint64_t bits = (uint64_t)(uintptr_t)pointer | (uint64_t)leading * size | 16;
    uint64_t bytes = bits & -bits;
    return bytes <= size ? 1 : (int)(bytes / size);
}

/* True for few tiles and a long K: the kernel makes partial sums, and one more kernel adds them. */
static bool cut_along_k(const struct vg_profile *p, const struct vg_product *g)
{
    int64_t tiles = ((g->m + 127) / 128) * ((g->n + 127) / 128) * g->batch;
    return tiles * 4 <= p->sm_count && g->k >= 1024;
}

static int64_t reduce_ns(const struct vg_profile *p, const struct vg_product *g)
{
    return vg_cost_memory(p, (double)(g->m * g->n * g->batch) * 4, 3, p->pointwise_eff);
}

static bool is_gemv(const struct vg_product *g)
{
    return g->m == 1 || g->n == 1;
}

/* Each further algorithm in the list of a search is 8 % slower (assumed). */
static int64_t product_ns(const struct vg_profile *p, const struct vg_product *g, int rank)
{
    if (is_gemv(g)) {
        double bytes = (double)(g->m * g->k + g->k * g->n + g->m * g->n) * (double)g->batch *
                       (double)vg_dtype_bytes(g->type);
        return vg_cost_memory(p, bytes, 1, p->gemm_memory_eff);
    }
    return (int64_t)((double)vg_cost_gemm(p, g->type, g->m, g->n, g->k, g->batch, g->align) *
                     (1 + 0.08 * rank));
}

static struct vg_kernel flat(const char *name, int64_t elements, int64_t ns)
{
    return (struct vg_kernel){.name = name,
                              .grid = {(unsigned)((elements + 255) / 256), 1, 1},
                              .block = {128, 1, 1},
                              .registers = 40,
                              .duration_ns = ns};
}

int vg_product_launch(struct vg_stream *stream, const struct vg_profile *p,
                      const struct vg_product *g, int rank)
{
    if (g->m <= 0 || g->n <= 0 || g->batch <= 0)
        return 0;
    int64_t ns = product_ns(p, g, rank);
    if (is_gemv(g)) {
        bool transposed = g->n == 1 ? g->transpose_a : !g->transpose_b;
        struct vg_kernel v = flat(transposed ? gemv_t : gemv_n, g->m * g->n * g->batch, ns);
        return vg_library_launch(stream, &v);
    }
    struct vg_kernel k = {0};
    vg_name_launch(&k, vg_name_gemm(p, g, rank), g->m, g->n, g->batch);
    k.duration_ns = ns;
    int rc = vg_library_launch(stream, &k);
    if (rc != 0 || !cut_along_k(p, g))
        return rc;
    const char *name = g->type == VG_F16    ? reduce_f16
                       : g->type == VG_BF16 ? reduce_bf16
                                            : reduce_f32;
    struct vg_kernel r = flat(name, g->m * g->n * g->batch, reduce_ns(p, g));
    return vg_library_launch(stream, &r);
}
