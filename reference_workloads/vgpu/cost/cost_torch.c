/* Durations of PyTorch's own kernels, by what their launch tells: bytes from the mangled name
 * (family, type, vector width, number of tensors), grid and block, and from arguments where
 * PyTorch's launch code passes sizes. The conventions are those of PyTorch 2 (ATen's
 * MemoryAccess.cuh, MultiTensorApply.cuh, layer_norm_kernel.cu, SoftMax.cu, FlashAttention's launch
 * template), read there. What the bytes cost is the roofline of cost.c; no recording was fitted. A
 * kernel that is not known here gets the default of profiles/kernels.ini, a guess. */
#include "reference_workloads/vgpu/core/core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct launch {
    const struct vg_profile *p;
    const char *name;
    const unsigned *grid, *block;
    void *const *args; /* NULL: not known (a graph's node) */
    double blocks, threads;
};

/* The number behind the first `text` in a name; `unset` if there is none. */
static double number_behind(const char *name, const char *text, double unset)
{
    const char *at = strstr(name, text);
    return at ? strtod(at + strlen(text), NULL) : unset;
}

/* What the name says of the elements' type; sums of half-precision values are of four bytes. */
static double element_bytes(const char *name)
{
    static const char *const two[] = {"BFloat16", "c104Half", "bfloat16_copy", "float16_copy"};
    static const char *const eight[] = {"EUldE_", "EUllE_", "FunctorIl", "FunctorId", "addIlE"};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (strstr(name, two[i]))
            return 2;
    for (size_t i = 0; i < sizeof eight / sizeof *eight; i++)
        if (strstr(name, eight[i]))
            return 8;
    return 4;
}

static int64_t integer(const struct launch *l, int i, bool wide)
{
    int64_t v = 0;
    if (l->args && l->args[i])
        memcpy(&v, l->args[i], wide ? 8 : 4);
    return v;
}

static double memory(const struct launch *l, double bytes, double share)
{
    return (double)vg_cost_memory(l->p, bytes / 2, 2, share);
}

/* ---- element by element ---- */

static double elementwise(const struct launch *l)
{
    double tensors = number_behind(l->name, "St5arrayIPcLm", 0), each = element_bytes(l->name);
    double per_thread = 4;
    if (!tensors) /* strided: the functor is called by index */
        tensors = strstr(l->name, "BinaryFunctor") || strstr(l->name, "FunctorOnSelf") ||
                          strstr(l->name, "CUDAFunctor_add")
                      ? 3
                      : 2;
    if (strstr(l->name, "vectorized_elementwise_kernel"))
        per_thread = strstr(l->name, "ELb0EEEvi") || strstr(l->name, "ELb1EEEvi") ? 8 : 4;
    else if (strstr(l->name, "18elementwise_kernelILi"))
        per_thread = strstr(l->name, "18elementwise_kernelILi128ELi2E") ? 2 : 4;
    return memory(l, l->threads * per_thread * tensors * each, l->p->pointwise_eff);
}

/* ---- lists of tensors: foreach and fused optimizers ---- */

/* How MultiTensorApply.cuh lays its argument out: addresses of the tensors of each list, their
 * sizes, scalars, then for each block which tensor and which chunk of it. Room for tensors by the
 * number of lists; since CUDA 13 arguments may have 32 KB. */
struct layout {
    int plain[5], with_scalars[5];
    size_t blocks, index_bytes;
};
static const struct layout layouts[] = {
    {{110, 64, 48, 36, 30}, {96, 64, 48, 36, 30}, 320, 1},
    {{770, 448, 336, 252, 210}, {672, 448, 336, 252, 210}, 2240, 2}};

struct list {
    int depth; /* 0: not known */
    size_t scalar_bytes;
    bool scalars;
};

static struct list list_of(const char *name)
{
    static const char scalar_list[] = "28TensorListScalarListMetadataI";
    const char *scalars = strstr(name, scalar_list);
    struct list t = {.scalars = scalars != NULL};
    double depth = number_behind(name, "18TensorListMetadataILi", 0);
    if (scalars) { /* ...IfLi3E */
        scalars += strlen(scalar_list);
        t.scalar_bytes = *scalars == 'd' || *scalars == 'l' ? 8 : 4;
        depth = number_behind(scalars, "Li", 0);
    } else if (depth <= 0) {
        t.scalar_bytes = 8; /* addresses of the steps' counters */
        depth = number_behind(name, "32FusedOptimizerTensorListMetadataILi", 0);
    }
    t.depth = depth >= 1 && depth <= 5 ? (int)depth : 0;
    return t;
}

/* Elements of a launch; 0: the argument is laid out in another way. */
static double listed_elements(const struct launch *l, const struct list *t, const struct layout *y)
{
    const int64_t chunk_size = 65536, most = (int64_t)1 << 40;
    const char *at = l->args[0];
    size_t n = (size_t)(t->scalars ? y->with_scalars : y->plain)[t->depth - 1];
    const char *sizes = at + 8 * n * (size_t)t->depth;
    const char *tensor = sizes + 8 * n + t->scalar_bytes * n;
    const char *chunk = tensor + y->blocks * y->index_bytes;
    double total = 0;
    for (size_t b = 0; b < (size_t)l->blocks && b < y->blocks; b++) {
        int64_t elements;
        int part;
        uint16_t which = 0;
        memcpy(&which, tensor + b * y->index_bytes, y->index_bytes);
        if (which >= n)
            return 0;
        memcpy(&elements, sizes + 8 * (size_t)which, sizeof elements);
        memcpy(&part, chunk + 4 * b, sizeof part);
        if (elements <= 0 || elements > most || part < 0 || part * chunk_size > elements)
            return 0;
        total += fmin((double)(elements - part * chunk_size), (double)chunk_size);
    }
    return total;
}

/* How often an element is read and written: ...FunctorIfLi3ELi2ELi0E has three lists and reads two.
 */
static double list_passes(const char *name, int depth)
{
    if (strstr(name, "FusedAdam") || strstr(name, "FusedSgd")) /* gradients are only read */
        return 2 * depth - 1;
    if (strstr(name, "LpNorm") || strstr(name, "ReduceOp"))
        return 1;
    const char *functor = strstr(name, "FunctorI");
    const char *lists = functor ? strstr(functor, "Li") : NULL;
    double reads = lists ? number_behind(lists, "ELi", depth) : depth;
    return reads + 1;
}

static double listed(const struct launch *l)
{
    struct list t = list_of(l->name);
    double elements = 0;
    for (size_t i = 0; i < 2 && l->args && l->args[0] && t.depth && elements <= 0; i++)
        elements = listed_elements(l, &t, &layouts[i]);
    if (elements <= 0)
        elements = l->blocks * 32768; /* half a chunk (guess) */
    double passes = list_passes(l->name, t.depth ? t.depth : 2);
    return memory(l, elements * passes * element_bytes(l->name), l->p->optimizer_eff);
}

/* ---- rows: normalisation, softmax, gathering ---- */

static double layer_norm(const struct launch *l)
{
    double rows = l->grid[0], passes = 2;
    int at = 0;
    if (strstr(l->name, "layer_norm_grad_input_kernel")) {
        passes = 3;
        at = 6;
    } else if (strstr(l->name, "GammaBetaBackward")) {
        rows = (double)integer(l, 0, true);
        at = 1;
    }
    double columns = (double)integer(l, at, false);
    if (columns < 1 || columns > 1e6 || rows < 1)
        return memory(l, l->threads * 64, l->p->pointwise_eff);
    return memory(l, rows * columns * passes * element_bytes(l->name), l->p->pointwise_eff);
}

static double softmax(const struct launch *l)
{
    bool backward = strstr(l->name, "ackward") != NULL;
    const char *warp = strstr(l->name, "softmax_warp_");
    double columns = 0, rows = l->blocks;
    if (warp) { /* ...ILi10E: rows of up to 2^10, one or two a warp */
        const char *log2 = strstr(warp, "fLi");
        columns = log2 ? exp2(strtod(log2 + 3, NULL)) : 256;
        rows *= l->block[1] * (columns <= 128 ? 2 : 1);
    } else {
        columns = (double)integer(l, backward ? 3 : 2, false);
    }
    if (columns < 1 || columns > 1e7)
        columns = 4096;
    return memory(l, rows * columns * (backward ? 3 : 2) * element_bytes(l->name),
                  l->p->pointwise_eff);
}

static double gather(const struct launch *l)
{
    double rows = (double)integer(l, 3, false), bytes = (double)integer(l, 4, true);
    if (rows < 1 || bytes < 1 || bytes > 1e6)
        return memory(l, l->threads * 32, l->p->layout_eff);
    return memory(l, rows * bytes * 2, l->p->layout_eff);
}

/* What a reduction reads is not in its grid: each thread of a full block takes some vectors
 * (guess). */
static double reduction(const struct launch *l)
{
    double vector = number_behind(l->name, "ELi4ELi", 4);
    return memory(l, l->threads * vector * 4 * element_bytes(l->name), l->p->pointwise_eff);
}

/* ---- FlashAttention as PyTorch carries it ---- */

static double flash(const struct launch *l)
{
    const double forward_share = 0.55,
                 backward_share = 0.45; /* of the peak; published, long rows */
    const char *traits = strstr(l->name, "kernel_traitsILi");
    bool backward = strstr(l->name, "flash_bwd") != NULL;
    if (!traits || !(strstr(l->name, "flash_fwd_kernel") || strstr(l->name, "loop_seqk_parallel") ||
                     strstr(l->name, "flash_fwd_splitkv_kernel")))
        return memory(l, l->threads * 32, l->p->pointwise_eff);
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
    return fmax(arithmetic + l->p->gemm_fixed_ns, memory(l, bytes, l->p->pointwise_eff));
}

/* ---- memory-efficient attention: CUTLASS's fused kernels, with masks and for FP32 ---- */

/* Where sizes lie in the kernel's only argument, a struct (kernel_forward.h, kernel_backward.h). */
static const struct fmha_params {
    size_t head, queries, keys, mask; /* bytes; `mask` is one, 1 or 2 = causal */
} fmha_forward = {96, 104, 108, 116}, fmha_backward = {144, 152, 156, 168};

/* A tile of queries or, backward, of keys per block: "..._aligned_QUERIESxKEYS_..." */
static double fmha_rows(const struct launch *l, bool backward)
{
    const char *tile = strstr(l->name, "aligned_"), *by = tile ? strchr(tile, 'x') : NULL;
    if (!by)
        return l->grid[0] * 64.0;
    return l->grid[0] * strtod(backward ? by + 1 : tile + strlen("aligned_"), NULL);
}

/* The largest head that the kernel takes, "..._k128_..."; of those for any head nobody knows. */
static double fmha_head(const struct launch *l)
{
    double most = number_behind(l->name, "_k", 64);
    return most <= 256 ? most : 64;
}

/* FP32 runs as three products in TF32, where there is TF32. Shares of the peak: in 16 bits as
 * Dao (2023, figures 4 and 5) measured for xFormers on an A100; FP32 on an RTX 3060 took 0.30
 * forward and 0.26 backward in one recording. */
static double fmha(const struct launch *l)
{
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
    double others = (double)l->grid[1] * l->grid[2];
    double flops = (backward ? 10 : 4) * queries * keys * head * others * (causal ? 0.5 : 1);
    double narrow = l->p->fp16_flops > 0 ? l->p->fp16_flops : l->p->fp32_flops;
    double peak = !wide ? narrow : l->p->tf32_flops > 0 ? l->p->tf32_flops / 3 : l->p->fp32_flops;
    double arithmetic = flops / (peak * (backward ? backward_share : forward_share)) * 1e9;
    double bytes = (queries + keys) * head * others * (wide ? 4 : 2) * (backward ? 4 : 2);
    return fmax(arithmetic + l->p->gemm_fixed_ns, memory(l, bytes, l->p->pointwise_eff));
}

static const struct family {
    const char *part;
    double (*cost)(const struct launch *l); /* NULL: by kernels.ini */
} families[] = {{"elementwise_kernel_with_index", NULL},
                {"distribution_elementwise", NULL},
                {"elementwise_kernel", elementwise},
                {"multi_tensor_apply_kernel", listed},
                {"layer_norm", layer_norm},
                {"GammaBetaBackward", layer_norm},
                {"softmax_warp_", softmax},
                {"cunn_SoftMax", softmax},
                {"vectorized_gather_kernel", gather},
                {"13reduce_kernelI", reduction},
                {"flash_fwd", flash},
                {"flash_bwd", flash},
                {"fmha_cutlass", fmha}};

/* Names are searched once: they stay where they are. */
static const struct family *family_of(const char *name)
{
    enum { CACHE = 512 };
    static const struct family none;
    static _Thread_local struct {
        const char *name;
        const struct family *family;
    } cache[CACHE];
    size_t slot = (uintptr_t)name / 16 % CACHE;
    if (cache[slot].name == name)
        return cache[slot].family;
    const struct family *found = &none;
    bool ours = strstr(name, "2at6native") || strstr(name, "pytorch_flash") ||
                strstr(name, "_SoftMax_cu_") || strstr(name, "PyTorchMemEffAttention");
    for (size_t i = 0; ours && i < sizeof families / sizeof *families; i++)
        if (strstr(name, families[i].part)) {
            found = &families[i];
            break;
        }
    cache[slot].name = name;
    cache[slot].family = found;
    return found;
}

int64_t vg_cost_torch(const struct vg_profile *p, const char *name, const unsigned grid[3],
                      const unsigned block[3], void *const *args)
{
    const struct family *f = family_of(name);
    if (!f->cost)
        return -1;
    struct launch l = {p, name, grid, block, args, 1, 1};
    for (int i = 0; i < 3; i++)
        l.blocks *= grid[i];
    l.threads = l.blocks * block[0] * block[1] * block[2];
    return (int64_t)f->cost(&l);
}
