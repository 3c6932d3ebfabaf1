/* What several rules ask. All totals are over the used steps unless they say "per step";
 * nothing here decides anything. */
#ifndef GPUPROF_QUERIES_QUERY_H
#define GPUPROF_QUERIES_QUERY_H

#include "analyzer/facts/facts.h"
#include "analyzer/queries/limits.h"
#include "base/size.h"

/* Of a sum over the used steps: times; numbers and bytes. */
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

/* Launched in a used step, on the device that is analysed. */
bool query_used(const struct facts *f, uint32_t op);

/* Per op: idle time of the device right before it that is due to launching (slow launches, or gaps
 * between operations already queued), for ops that pass `want`; and their own time on the device.
 */
struct query_ops {
    int64_t count, busy_ns, idle_ns, bytes;
    uint32_t longest; /* op index, TL_NONE */
};
enum query_take { QUERY_NO, QUERY_BUSY /* not the idle time before it */, QUERY_ALL };
typedef enum query_take query_want(const struct facts *f, uint32_t op);
struct query_ops query_ops(const struct facts *f, query_want *want);
/* The same with an argument. */
typedef enum query_take query_pick(const struct facts *f, uint32_t op, const void *arg);
struct query_ops query_ops_of(const struct facts *f, query_pick *pick, const void *arg);

/* The operation before `op` on its stream, TL_NONE. */
uint32_t query_before(const struct timeline *t, uint32_t op);

/* A kernel of an optimizer, told by its name or by the range around its launch. */
enum query_take query_is_optimizer(const struct facts *f, uint32_t op);
/* Products of matrices per step that the update itself computes (Muon, Shampoo): no flag of an
 * optimizer puts such an update into one kernel. */
int64_t query_optimizer_products(const struct facts *f);
/* Small memsets and fills, several in a row on one stream: zeroing tensor by tensor. Where ranges or
 * the hook tell when gradients are zeroed, only then. */
enum query_take query_is_zeroing(const struct facts *f, uint32_t op);

/* The optimizer and the zeroing as their rules see them: does it consist of many small operations?
 */
bool query_optimizer_unfused(const struct facts *f, struct query_ops *ops);
bool query_zeroing_scattered(const struct facts *f, struct query_ops *ops);

/* Index of the used step in whose host time `ns` falls, TL_NONE. */
uint32_t query_step_at(const struct facts *f, int64_t ns);

/* Used steps in which `part` takes a share worth naming. What belongs to the loop is in most of
 * them; what comes of a thread that lost its core to another program is in a few. */
size_t query_steps_with(const struct facts *f, enum part part);

/* Copies to the GPU from one kind of host memory, or from the GPU to it. */
struct query_copies {
    int64_t count, bytes, total_ns, exposed_ns, blocked_ns;
    int64_t idle_ns; /* per step: its share of PART_IDLE_COPY, by time blocked */
    uint32_t longest;
};
struct query_copies query_h2d(const struct facts *f, enum memory_kind from);
struct query_copies query_d2h(const struct facts *f, enum memory_kind to); /* idle_ns is 0 */
/* Does the program itself wait for most copies of batches? The driver makes it wait for pageable
 * memory; with pinned memory only this would. */
bool query_h2d_waited(const struct facts *f, enum memory_kind from);
/* Do most of the bytes come in copies whose size recurs, as those of a loop do? A program that
 * fills its arrays once has none. */
bool query_h2d_recurs(const struct facts *f, enum memory_kind from);
bool query_d2h_recurs(const struct facts *f, enum memory_kind to);
/* Per step, copies with nothing beside them: no more than the median step has of that. */
int64_t query_exposed(const struct facts *f, const struct query_copies *c);
/* Share of the bytes copied to the GPU that were copied from it before, told by their sizes:
 * weights or optimizer states that live on the host. They are there only when the step before has
 * ended. *sizes, unless NULL: how many different sizes agree. One alone proves nothing: separate
 * buffers of one size look the same. */
double query_comes_back_pct(const struct facts *f, size_t *sizes);

/* Name of the range (of the program's own, marks of steps aside) in which more than half of `part`
 * falls; NULL when there is none. */
const char *query_gap_range(const struct facts *f, enum part part);
/* Name of the innermost range, marks of steps aside, in which the call begins; NULL without one. */
const char *query_range_of(const struct facts *f, uint32_t api);

/* Compute capability, major. `told`: it was recorded; else kernels' names bound it from below; -1 =
 * not known. */
int query_cc_major(const struct facts *f, bool *told);
double query_pcie_rate(const struct facts *f); /* bytes per ns, one way, of such a GPU's PCIe */
/* Blocks of the kernel that a multiprocessor holds at once, by threads, and by registers and shared
 * memory as far as they were recorded; 0: not known. */
int64_t query_resident_blocks(const struct facts *f, const struct op *o);
bool query_nvidia(const struct facts *f);                        /* not a HIP or SYCL profile */
bool query_is_platform(const struct facts *f, const char *name); /* "hip", "xpu" */
bool query_find_seen(const struct facts *f);                     /* cuDNN autotuning was recorded */
/* PyTorch measures cuDNN's algorithms; for its graph API it makes no calls of cudnnFind. */
bool query_cudnn_benchmark(const struct facts *f);

/* The calls that launch one kernel of 10 us and more, without the first of each kernel, and those
 * of them that ended behind it. */
struct query_launches {
    int64_t launches, waited;
    bool set;    /* CUDA_LAUNCH_BLOCKING is in the environment */
    bool block;  /* each waits for its kernel */
    bool untold; /* that does not show: all kernels are shorter, and their launches end behind them
                  */
};
struct query_launches query_launches(const struct facts *f);
/* Does anything say that Python drives the program? */
bool query_of_python(const struct facts *f);
/* And that it does so with PyTorch, or at least nothing that it does without (CuPy, Numba, Warp)?
 */
bool query_of_pytorch(const struct facts *f);
bool query_is_product(const char *range); /* a framework's operator that multiplies matrices */
/* An accelerator that gpuprof knows no records of, by names in the recording: "MTIA", "Ascend NPU".
 * NULL: none is named. */
const char *query_other_accelerator(const struct facts *f);
/* PyTorch's kernels in a program that Python does not drive: C++ calls libtorch. */
bool query_of_libtorch(const struct facts *f);
/* JAX or TensorFlow. Cost: a look at each of the recording's texts. */
bool query_of_xla(const struct facts *f);
/* OpenACC or OpenMP: the compiler's runtime makes the calls, and the program marks its loops. Told
 * by the names that compilers give to most kernels. */
bool query_of_directives(const struct facts *f);
/* A step or two that hold fewer than ten GPU operations (their number in *ops unless NULL) and
 * little computing, or a window of less than a millisecond that does. */
bool query_thin(const struct facts *f, size_t *ops);

/* Does one of the '|'-separated parts occur in the name? "=part": is it the name? */
bool query_name_has(const char *name, const char *parts);

#endif
