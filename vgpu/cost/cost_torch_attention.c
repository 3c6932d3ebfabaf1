/* Fused attention in PyTorch: the flops of its products, at a share of the peak. */
#include "cost/cost_torch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- FlashAttention, as PyTorch contains it ---- */

double torch_flash(const struct torch_launch *l)
{
    const double forward_share = 0.55,
                 backward_share = 0.45; /* of the peak; published, for long rows */
    const char *traits = strstr(l->name, "kernel_traitsILi");
    bool backward = strstr(l->name, "flash_bwd") != NULL;
    if (!traits || !(strstr(l->name, "flash_fwd_kernel") || strstr(l->name, "loop_seqk_parallel") ||
                     strstr(l->name, "flash_fwd_splitkv_kernel")))
        return torch_memory(l, l->threads * 32, l->p->pointwise_eff);
    char *end;
    double head = strtod(traits + strlen("kernel_traitsILi"), &end), tile[2] = {64, 64};
    for (int i = 0; i < 2 && strncmp(end, "ELi", 3) == 0; i++)
        tile[i] = strtod(end + 3, &end);
    double rows = l->grid[0] * tile[backward], others = (double)l->grid[1] * l->grid[2];
    double flops = (backward ? 10 : 4) * rows * rows * head * others;
    const char *causal = strstr(traits, "EELb"); /* dropout first, then causal */
    if (causal && strncmp(causal, backward ? "EELb0ELb1" : "EELb0ELb1", 9) == 0)
        flops /= 2;
    double peak = l->p->fp16_flops > 0 ? l->p->fp16_flops : l->p->fp32_flops;
    double arithmetic = flops / (peak * (backward ? backward_share : forward_share)) * 1e9;
    double bytes = rows * head * others * 2 * (backward ? 8 : 4);
    return fmax(arithmetic + l->p->gemm_fixed_ns, torch_memory(l, bytes, l->p->pointwise_eff));
}

/* ---- memory-efficient attention: CUTLASS's fused kernels, which serve masks and FP32 ---- */

/* Offsets of sizes in the kernel's only argument, a struct (kernel_forward.h,
 * kernel_backward.h). */
static const struct fmha_params {
    size_t head, queries, keys, mask; /* in bytes; the mask's type is one byte: 1 or 2: causal */
} fmha_forward = {96, 104, 108, 116}, fmha_backward = {144, 152, 156, 168};

/* Rows by the grid: a block has a tile of queries or, backward, of keys:
 * "..._aligned_QUERIESxKEYS_..." */
static double fmha_rows(const struct torch_launch *l, bool backward)
{
    const char *tile = strstr(l->name, "aligned_"), *by = tile ? strchr(tile, 'x') : NULL;
    if (!by)
        return l->grid[0] * 64.0;
    return l->grid[0] * strtod(backward ? by + 1 : tile + strlen("aligned_"), NULL);
}

/* The largest head that the kernel takes, "..._k128_..."; 64 for kernels that take any. */
static double fmha_head(const struct torch_launch *l)
{
    double most = torch_number_behind(l->name, "_k", 64);
    return most <= 256 ? most : 64;
}

/* FP32 runs as three products in TF32, if the device has TF32. Shares of the peak: for 16 bits as
 * Dao (2023, figures 4 and 5) measured for xFormers on an A100; FP32 on an RTX 3060 took 0.30
 * forward and 0.26 backward in one recording. */
double torch_fmha(const struct torch_launch *l)
{
    enum { TILE = 64 };
    const double forward_share = 0.30, backward_share = 0.22;
    bool backward = strstr(l->name, "fmha_cutlassB") != NULL;
    const struct fmha_params *at = backward ? &fmha_backward : &fmha_forward;
    const char *params = l->args ? l->args[0] : NULL;
    double queries = fmha_rows(l, backward), keys = queries, head = fmha_head(l);
    bool causal = false;
    if (params) {
        int32_t size[3];
        memcpy(&size[0], params + at->head, sizeof *size);
        memcpy(&size[1], params + at->queries, sizeof *size);
        memcpy(&size[2], params + at->keys, sizeof *size);
        if (size[0] > 0 && size[0] <= 65536 && size[1] > 0 && size[2] > 0) {
            head = size[0], queries = size[1], keys = size[2];
            causal = params[at->mask] == 1 || params[at->mask] == 2;
        }
    }
    bool wide = strstr(l->name, "_f32_") != NULL;
    /* The kernel computes whole tiles. */
    queries = ceil(queries / TILE) * TILE, keys = ceil(keys / TILE) * TILE;
    double others = (double)l->grid[1] * l->grid[2];
    double flops = (backward ? 10 : 4) * queries * keys * head * others * (causal ? 0.5 : 1);
    double narrow = l->p->fp16_flops > 0 ? l->p->fp16_flops : l->p->fp32_flops;
    double peak = !wide ? narrow : l->p->tf32_flops > 0 ? l->p->tf32_flops / 3 : l->p->fp32_flops;
    double arithmetic = flops / (peak * (backward ? backward_share : forward_share)) * 1e9;
    double bytes = (queries + keys) * head * others * (wide ? 4 : 2) * (backward ? 4 : 2);
    return fmax(arithmetic + l->p->gemm_fixed_ns, torch_memory(l, bytes, l->p->pointwise_eff));
}
