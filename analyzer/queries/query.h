/* Queries that several rules use. Totals are sums over the used steps unless they say "per step".
 * Queries measure; they do not judge. */
#ifndef GPUPROF_QUERIES_QUERY_H
#define GPUPROF_QUERIES_QUERY_H

#include "analyzer/facts/facts.h"
#include "analyzer/queries/limits.h"
#include "base/size.h"

/* Convert a sum over the used steps to one step: per_step for times,
 * each_step for counts and bytes. */
static inline int64_t per_step(const struct facts *f, int64_t total_ns)
{
    return facts_per_step(f, total_ns);
}
static inline int64_t each_step(const struct facts *f, int64_t total)
{
    return total / (int64_t)(f->steps.used ? f->steps.used : 1);
}
static inline double ms(int64_t ns)
{
    return (double)ns / 1e6;
}
static inline double share_pct(const struct facts *f, int64_t ns_per_step)
{
    return f->step_ns > 0 ? 100.0 * (double)ns_per_step / (double)f->step_ns : 0;
}

/* True if the op was launched in a used step and runs on the analysed device. */
bool query_used(const struct facts *f, uint32_t op);

/* Sums over the ops in used steps that `want` accepts: their number, their time on the device, and
 * idle time of the device directly before them that is due to launching (slow launches, or gaps
 * between queued operations). */
struct query_ops {
    int64_t count, busy_ns, idle_ns, bytes;
    uint32_t longest; /* index of the longest op, or TL_NONE */
};
enum query_take {
    QUERY_NO,
    QUERY_BUSY /* count the op, but not the idle time before it */,
    QUERY_ALL
};
typedef enum query_take query_want(const struct facts *f, uint32_t op);
struct query_ops query_ops(const struct facts *f, query_want *want);
/* The same, with an argument that is passed to `pick`. */
typedef enum query_take query_pick(const struct facts *f, uint32_t op, const void *arg);
struct query_ops query_ops_of(const struct facts *f, query_pick *pick, const void *arg);

/* Index of the operation before `op` on its stream, or TL_NONE. */
uint32_t query_before(const struct timeline *t, uint32_t op);

/* QUERY_ALL for an optimizer's kernel, recognised by its name or by the range around its launch. */
enum query_take query_is_optimizer(const struct facts *f, uint32_t op);
/* Number of matrix products per step that the update itself computes (Muon, Shampoo). Such an
 * update cannot be fused into one kernel by a flag of the optimizer. */
int64_t query_optimizer_products(const struct facts *f);
/* Accepts small memsets and fills, several in a row on one stream: gradients are zeroed tensor by
 * tensor. If ranges or the hook show when gradients are zeroed, only those count. */
enum query_take query_is_zeroing(const struct facts *f, uint32_t op);

/* True if the optimizer, or the zeroing, consists of many small operations; *ops: their sums. */
bool query_optimizer_unfused(const struct facts *f, struct query_ops *ops);
bool query_zeroing_scattered(const struct facts *f, struct query_ops *ops);

/* Index of the used step whose host time contains `ns`, or TL_NONE. */
uint32_t query_step_at(const struct facts *f, int64_t ns);

/* Number of used steps in which `part` takes a noticeable share. A cost of the loop appears in most
 * steps; the effect of a thread that lost its core to another program appears in a few. */
size_t query_steps_with(const struct facts *f, enum part part);

/* Copies between the GPU and one kind of host memory. */
struct query_copies {
    int64_t count, bytes, total_ns, exposed_ns, blocked_ns;
    int64_t idle_ns; /* per step: their share of PART_IDLE_COPY, in proportion to the
                        time the host is blocked */
    uint32_t longest;
};
struct query_copies query_h2d(const struct facts *f, enum memory_kind from);
struct query_copies query_d2h(const struct facts *f, enum memory_kind to); /* idle_ns stays 0 */
/* True if the program itself waits for most copies of batches. With pageable memory the driver
 * makes it wait anyway; with pinned memory the program would still wait. */
bool query_h2d_waited(const struct facts *f, enum memory_kind from);
/* True if most bytes are in copies of a size that recurs, as in a loop. In a program that fills its
 * arrays once no size recurs. */
bool query_h2d_recurs(const struct facts *f, enum memory_kind from);
bool query_d2h_recurs(const struct facts *f, enum memory_kind to);
/* Time per step of these copies with no kernel beside them, at most the step's PART_COPY. */
int64_t query_exposed(const struct facts *f, const struct query_copies *c);
/* Per cent of the bytes copied to the GPU that were copied from it before, judged by equal
 * sizes: weights or optimizer states that live on the host. *sizes (may be NULL): number
 * of different sizes that agree. A single size proves nothing, because separate buffers
 * may have the same size. */
double query_comes_back_pct(const struct facts *f, size_t *sizes);

/* Name of the program's own range (step marks aside) that contains more than half
 * of `part`; NULL: none. */
const char *query_gap_range(const struct facts *f, enum part part);
/* Name of the innermost range, step marks aside, in which the call begins; NULL: none. */
const char *query_range_of(const struct facts *f, uint32_t api);

/* Major compute capability. *told: it was recorded; otherwise it is a lower bound from kernel
 * names; -1 = not known. */
int query_cc_major(const struct facts *f, bool *told);
double query_pcie_rate(const struct facts *f); /* bytes per ns in one direction over
                                                  PCIe, for this kind of GPU */
/* Number of the kernel's blocks that fit on one multiprocessor, by threads, and by registers and
 * shared memory if these were recorded; 0: not known. */
int64_t query_resident_blocks(const struct facts *f, const struct op *o);
bool query_nvidia(const struct facts *f); /* false for a HIP or SYCL profile */
bool query_is_platform(const struct facts *f, const char *name); /* "hip", "xpu" */
bool query_find_seen(const struct facts *f); /* a cuDNN search by cudnnFind was recorded */
/* True if PyTorch's cuDNN benchmark mode is on. With cuDNN's graph API it
 * makes no cudnnFind calls. */
bool query_cudnn_benchmark(const struct facts *f);

/* Launches of single kernels of at least QUERY_LAUNCH_LONG_NS, without the first launch of each
 * kernel, and how many of them ended after their kernel. */
struct query_launches {
    int64_t launches, waited;
    bool set;    /* CUDA_LAUNCH_BLOCKING is set in the environment */
    bool block;  /* launches wait for their kernels */
    bool untold; /* cannot be decided: all kernels are shorter, and their launches end after them */
};
struct query_launches query_launches(const struct facts *f);
/* True if many kernels of the used steps come from a compiler that fuses operations (Triton, XLA). */
bool query_fused_by_compiler(const struct facts *f);
/* True if there is any sign that Python drives the program. */
bool query_of_python(const struct facts *f);
/* True if it does so with PyTorch, or if there is at least no sign of another
 * library (CuPy, Numba, Warp). */
bool query_of_pytorch(const struct facts *f);
bool query_is_product(const char *range); /* is it the name of a framework's operator
                                             that multiplies matrices? */
/* An accelerator whose work gpuprof cannot read, recognised by names in the recording: "MTIA",
 * "Ascend NPU". NULL: none. */
const char *query_other_accelerator(const struct facts *f);
/* True if PyTorch's kernels run in a program without Python: C++ calls libtorch. */
bool query_of_libtorch(const struct facts *f);
/* True for JAX or TensorFlow. Cost: a look at each text of the recording. */
bool query_of_xla(const struct facts *f);
/* True for OpenACC or OpenMP, where the compiler's runtime makes the calls for marked loops.
 * Recognised by the names that compilers give to most kernels. */
bool query_of_directives(const struct facts *f);
/* True if the recording is too small to judge: one or two used steps with fewer than QUERY_THIN_OPS
 * GPU operations (*ops, may be NULL: their number) and little computing, whose time no single named
 * place holds, or a window of less than a millisecond with as few. */
bool query_thin(const struct facts *f, size_t *ops);

/* True if one of the '|'-separated parts occurs in the name. "=part": if the name equals it. */
bool query_name_has(const char *name, const char *parts);

#endif
