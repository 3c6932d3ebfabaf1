/* Durations of PyTorch's own kernels, from what their launch shows: bytes from the mangled name
 * (family, type, vector width, number of tensors), from grid and block, and from arguments if
 * PyTorch's launch code passes sizes. The conventions are those of PyTorch 2, read in ATen's
 * MemoryAccess.cuh, MultiTensorApply.cuh, layer_norm_kernel.cu, SoftMax.cu and FlashAttention's
 * launch template. The time for these bytes comes from the roofline of cost.c, with the shares and
 * least costs below, from published recordings. A kernel that is unknown here gets the default of
 * profiles/all/kernels.ini, a guess. */
#include "cost/cost_torch.h"
#include "values/reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double torch_number_behind(const char *name, const char *text, double unset)
{
    const char *at = strstr(name, text);
    return at ? strtod(at + strlen(text), NULL) : unset;
}

/* Bytes of an element, by the name. Sums of half-precision values have four bytes. */
static double element_bytes(const char *name)
{
    static const char *const two[] = {"BFloat16", "4HalfE", "bfloat16_copy", "float16_copy"};
    static const char *const eight[] = {"EUldE_", "EUllE_", "FunctorIl", "FunctorId", "addIlE"};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (strstr(name, two[i]))
            return 2;
    for (size_t i = 0; i < sizeof eight / sizeof *eight; i++)
        if (strstr(name, eight[i]))
            return 8;
    return 4;
}

/* Bytes read and written by a conversion whose name shows both types; 0: it does not. */
static double bytes_converted(const char *name)
{
    static const char part[] = "27converting_copy_kernel_cudaI";
    const char *at = strstr(name, part);
    double bytes = 0;
    if (!at)
        return 0;
    at += sizeof part - 1;
    for (int i = 0; i < 2; i++) {
        size_t length = *at == 'N' ? strcspn(at, "E") + 1 : 1;
        if (length > 1) /* 8 bits: Float8_e4m3fn and others */
            bytes += strstr(at, "Float8") && strstr(at, "Float8") < at + length ? 1 : 2;
        else
            bytes += *at == 'b' ? 1 : *at == 'd' || *at == 'l' ? 8 : 4;
        at += length;
    }
    return bytes;
}

static int64_t integer(const struct torch_launch *l, int i, bool wide)
{
    int64_t v = 0;
    if (l->args && l->args[i])
        memcpy(&v, l->args[i], wide ? 8 : 4);
    return v;
}

double torch_memory(const struct torch_launch *l, double bytes, double share)
{
    return (double)vg_cost_memory(l->p, bytes / 2, 2, share);
}

/* ---- element by element ---- */

/* Bytes that an element costs at the full rate if the instructions per element set the pace and not
 * the memory. From recordings of PyTorch on A100 (Particle Transformer, DLRM, Segment Anything) and
 * H100 (OWLv2). Strided copies: 12 for two bytes each way (a third of the rate), 8 to 14 for four.
 * With a conversion: 13 to 15. By an index: 17 to 25 on A100, 60 on four columns. Checked
 * afterwards: 10 to 11 on H100 (Qwen 1.5, TimeSformer). */
static const double strided_bytes = 11.5, converted_bytes = 13, indexed_bytes = 20;

/* Number of elements: the first argument, if the launch's arguments are known. How many each thread
 * takes differs between versions. */
static double elements_of(const struct torch_launch *l, double per_thread)
{
    enum { MOST_PER_THREAD = 32 };
    double n = (double)(int32_t)integer(l, 0, false);
    return n > 0 && n <= l->threads * MOST_PER_THREAD ? n : l->threads * per_thread;
}

static double elementwise(const struct torch_launch *l)
{
    const char *name = l->name;
    double tensors = torch_number_behind(name, "St5arrayIPcLm", 0), each = element_bytes(name);
    bool vectorized = strstr(name, "vectorized_elementwise_kernel") != NULL;
    double per_thread = 4;
    if (!tensors) /* strided: the functor is called by index */
        tensors = strstr(name, "BinaryFunctor") || strstr(name, "FunctorOnSelf") ||
                          strstr(name, "CUDAFunctor_add")
                      ? 3
                      : 2;
    if (vectorized)
        per_thread = strstr(name, "ELb0EEEvi") || strstr(name, "ELb1EEEvi") ? 8 : 4;
    else if (strstr(name, "18elementwise_kernelILi"))
        per_thread = strstr(name, "18elementwise_kernelILi128ELi2E") ? 2 : 4;
    double elements = elements_of(l, per_thread), bytes = tensors * each;
    if (strstr(name, "float16_copy") || strstr(name, "float32_copy"))
        bytes = 6; /* between two and four bytes */
    if (bytes_converted(name) > 0)
        bytes = bytes_converted(name);
    if (vectorized) /* two bytes each way: 0.72 to 0.84 on H100; three tensors: 0.88 to 0.92 */
        return torch_memory(l, elements * bytes, bytes <= 4 ? 0.8 : l->p->pointwise_eff);
    double least = strstr(name, "index_elementwise")      ? indexed_bytes
                   : strstr(name, "unrolled_elementwise") ? converted_bytes
                                                          : strided_bytes;
    return torch_memory(l, elements * fmax(bytes / 0.8, least), 1);
}

/* ---- lists of tensors: foreach and fused optimizers ---- */

/* Layout of the argument in MultiTensorApply.cuh: addresses of the tensors of each list, their
 * sizes, scalars, then for each block its tensor and its chunk of that. How many tensors have room,
 * by the number of lists; since CUDA 13 arguments may have 32 KB. */
struct layout {
    int plain[5], with_scalars[5];
    size_t blocks, index_bytes;
};
static const struct layout layouts[] = {
    {{110, 64, 48, 36, 30}, {96, 64, 48, 36, 30}, 320, 1},
    {{770, 448, 336, 252, 210}, {672, 448, 336, 252, 210}, 2240, 2}};

struct list {
    int depth; /* 0: unknown */
    size_t scalar_bytes;
    bool scalars;
};

static struct list list_of(const char *name)
{
    static const char scalar_list[] = "28TensorListScalarListMetadataI";
    const char *scalars = strstr(name, scalar_list);
    struct list t = {.scalars = scalars != NULL};
    double depth = torch_number_behind(name, "18TensorListMetadataILi", 0);
    if (scalars) { /* ...IfLi3E */
        scalars += strlen(scalar_list);
        t.scalar_bytes = *scalars == 'd' || *scalars == 'l' ? 8 : 4;
        depth = torch_number_behind(scalars, "Li", 0);
    } else if (depth <= 0) {
        t.scalar_bytes = 8; /* addresses of the counters of steps */
        depth = torch_number_behind(name, "32FusedOptimizerTensorListMetadataILi", 0);
    }
    t.depth = depth >= 1 && depth <= 5 ? (int)depth : 0;
    return t;
}

/* Number of elements of a launch; 0: the argument has another layout. */
static double listed_elements(const struct torch_launch *l, const struct list *t,
                              const struct layout *y)
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

/* How often an element is read and written: ...FunctorIfLi3ELi2ELi0E has three lists and reads
 * two. */
static double list_passes(const char *name, int depth)
{
    if (strstr(name, "FusedAdam") || strstr(name, "FusedSgd")) /* gradients are only read */
        return 2 * depth - 1;
    if (strstr(name, "LpNorm") || strstr(name, "ReduceOp"))
        return 1;
    const char *functor = strstr(name, "FunctorI");
    const char *lists = functor ? strstr(functor, "Li") : NULL;
    double reads = lists ? torch_number_behind(lists, "ELi", depth) : depth;
    return reads + 1;
}

static double listed(const struct torch_launch *l)
{
    struct list t = list_of(l->name);
    double elements = 0;
    for (size_t i = 0; i < 2 && l->args && l->args[0] && t.depth && elements <= 0; i++)
        elements = listed_elements(l, &t, &layouts[i]);
    if (elements <= 0)
        elements = l->blocks * 32768; /* half a chunk (guess) */
    double passes = list_passes(l->name, t.depth ? t.depth : 2);
    return torch_memory(l, elements * passes * element_bytes(l->name), l->p->optimizer_eff);
}

/* ---- rows: normalisation, softmax, gathering ---- */

/* One block per row: starting it and adding up cost as much time as so many bytes. From rows of 64,
 * 128, 512 and 1280 numbers on A100: 45, 55, 20 and 14 bytes a number. Checked afterwards, rows of
 * 768 in two bytes on H100: 10.4; this gives 11.7. */
static const double row_bytes = 5500;

/* Gradients of gamma and beta: a block takes 32 columns, and goes through their rows in turns of
 * 256, each of which waits for memory (ViT and GPT-2 on an H200: 49 and 44 us for 49 and 32
 * turns). */
static double waits(const struct torch_launch *l, double rows)
{
    const double turn_ns = 1000, start_ns = 5000;
    if (!strstr(l->name, "GammaBetaBackwardCUDAKernelTemplate"))
        return 0;
    return start_ns + turn_ns * ceil(rows / (256.0 * l->grid[1]));
}

static double layer_norm(const struct torch_launch *l)
{
    double rows = l->grid[0], passes = 2, start = row_bytes;
    int at = 0;
    if (strstr(l->name, "layer_norm_grad_input_kernel")) {
        passes = 3;
        at = 6;
    } else if (strstr(l->name, "GammaBetaBackward")) {
        rows = (double)integer(l, 0, true);
        at = 1;
        start = 0;
    }
    double columns = (double)integer(l, at, false);
    if (columns < 1 || columns > 1e6 || rows < 1)
        return torch_memory(l, l->threads * 64, l->p->pointwise_eff);
    double bytes = columns * passes * element_bytes(l->name);
    return fmax(torch_memory(l, rows * (bytes / l->p->pointwise_eff + start), 1), waits(l, rows));
}

/* Least time of an element, in bytes: for exponentials and three passes over the row. From
 * recordings: rows in a warp 12.4 (A100, two bytes); in a block 11 (A100, four bytes), and 17 if
 * the row's length prevents whole vectors (H100, two bytes; checked afterwards: 20). */
static double softmax_bytes(const struct torch_launch *l, double columns)
{
    bool whole = fmod(columns * element_bytes(l->name), 16) == 0;
    return strstr(l->name, "softmax_warp_") ? 12 : whole ? 11 : 17;
}

static double softmax(const struct torch_launch *l)
{
    bool backward = strstr(l->name, "ackward") != NULL;
    const char *warp = strstr(l->name, "softmax_warp_");
    double columns = 0, rows = l->blocks;
    if (warp) { /* ...ILi10E: rows of up to 2^10, one or two per warp */
        const char *log2 = strstr(warp, "fLi");
        columns = log2 ? exp2(strtod(log2 + 3, NULL)) : 256;
        rows *= l->block[1] * (columns <= 128 ? 2 : 1);
    } else {
        columns = (double)integer(l, backward ? 3 : 2, false);
    }
    if (columns < 1 || columns > 1e7)
        columns = 4096;
    double bytes = (backward ? 3 : 2) * element_bytes(l->name) / l->p->pointwise_eff;
    return torch_memory(l, rows * columns * fmax(bytes, softmax_bytes(l, columns)), 1);
}

static double gather(const struct torch_launch *l)
{
    double rows = (double)integer(l, 3, false), bytes = (double)integer(l, 4, true);
    if (rows < 1 || bytes < 1 || bytes > 1e6)
        return torch_memory(l, l->threads * 32, l->p->layout_eff);
    return torch_memory(l, rows * bytes * 2, l->p->layout_eff);
}

/* Bytes that a reduction reads, from its configuration, which has the size of sums. It lies behind
 * the functor and the initial value; matching the block's size identifies it. 0: not found. */
static double reduced_bytes(const struct torch_launch *l)
{
    enum { SEARCHED = 64 };
    const char *argument = l->args ? l->args[0] : NULL;
    for (size_t at = 0; argument && at <= SEARCHED; at += 4) {
        struct vg_reduce_config c;
        memcpy(&c, argument + at, sizeof c);
        if (c.element >= 1 && c.element <= 16 && c.inputs >= 1 && c.outputs >= 1 &&
            c.width == (int)l->block[0] && c.height == (int)l->block[1])
            return fmin(c.element, element_bytes(l->name)) * c.inputs * c.outputs;
    }
    return 0;
}

/* Without the argument, each thread of a full block takes some vectors (guess). Means and sums of
 * four bytes reach 0.35 to 0.63 of the rate (A100); checked afterwards, means of rows 0.73 (H100).
 * If several blocks share an output, the last one adds up what the others left in memory (GPT-2 and
 * ViT on an H200, six shapes: within 13 %). */
static double reduction(const struct torch_launch *l)
{
    const double share = 0.6, partial_ns = 85;
    double bytes = reduced_bytes(l);
    if (bytes <= 0)
        bytes =
            l->threads * torch_number_behind(l->name, "ELi4ELi", 4) * 4 * element_bytes(l->name);
    return torch_memory(l, bytes, share) + (l->grid[1] > 1 ? l->grid[1] * partial_ns : 0);
}

static const struct family {
    const char *part;
    double (*cost)(const struct torch_launch *l); /* NULL: use kernels.ini */
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
                {"CatArrayBatchedCopy", torch_cat},
                {"flash_fwd", torch_flash},
                {"flash_bwd", torch_flash},
                {"fmha_cutlass", torch_fmha},
                {"_channels_last_kernel", torch_channels_last_norm},
                {"batch_norm_", torch_norm}};

/* The family of a kernel, or &none. Cached by the name's address, because names never move. */
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
    struct torch_launch l = {p, name, grid, block, args, 1, 1};
    for (int i = 0; i < 3; i++)
        l.blocks *= grid[i];
    l.threads = l.blocks * block[0] * block[1] * block[2];
    return (int64_t)f->cost(&l);
}
