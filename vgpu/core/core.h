/* The virtual GPU's core (libvgpu-core.so): devices, streams, events, copy engines, memory and the
 * record store. The shims (shims/LIBRARY/), each with the real soname and version node, translate
 * the vendor's calls into these.
 *
 * Time. The device timeline is computed, not waited for: end = max(submit + latency, previous end +
 * gap, waits) + duration, in CLOCK_MONOTONIC nanoseconds. Only what the host may see (a
 * synchronisation, a blocking copy, a full queue) sleeps until shortly before and then spins. So
 * the recorded device times are exact even when this machine's scheduler is not.
 *
 * Memory is real host memory, so copies really copy. Kernels only take time, but for those whose
 * results the host reads (values/).
 *
 * Chosen by name: GPUPROF_VGPU=MODEL[,key=value...] (a100-80, devices=2, seed=1, noise=0.01, ...);
 * without it the shims refuse to start with one line. The device's name announces it:
 * "Virtual NVIDIA A100-SXM4-80GB (gpuprof model, nothing measured)".
 */
#ifndef VGPU_CORE_H
#define VGPU_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vg_stream; /* what a cudaStream_t points to; NULL = the legacy default stream */

/* One number of a device profile with where it comes from. */
enum vg_provenance { VG_GUESS, VG_DATASHEET, VG_TRACE, VG_MEASURED };

/* A device profile, read from profiles/MODEL.ini beside the library. Units in the names. */
struct vg_profile {
    char model[32]; /* "a100-80" */
    char name[96];  /* as announced */
    int cc_major, cc_minor, sm_count, copy_engines, pcie_gen, pcie_width;
    double clock_mhz, memory_clock_mhz;
    double memory_bytes, memory_bytes_per_s, l2_bytes;
    double fp32_flops, tf32_flops, fp16_flops, bf16_flops, fp8_flops; /* dense peaks; 0 = none */
    double int8_flops, fp64_flops, fp64_tensor_flops;
    /* achieved share of the peak */
    double gemm_eff, gemm_k0, gemm_tiles, gemm_fp32_eff, gemm_memory_eff;
    double gemm_align1, gemm_align_small; /* factors for operands not aligned to 16 bytes */
    double conv_fp32_eff, conv_fp32_nhwc_eff, conv_tf32_eff, conv_half_eff, conv_first_eff;
    double conv_memory_eff;
    /* optional keys, with what stands for them in profile.c */
    double gemm_align1_tf32, conv_k0, conv_product, conv_fp32_first_eff, conv_direct_eff;
    double conv_first_wgrad_eff, conv_group_k0;
    double conv_fp32_wgrad_eff, conv_tf32_wgrad_eff, conv_half_wgrad_eff;
    double bn_nhwc_fwd_eff, bn_nhwc_bwd_eff, bn_half_fwd_clocks, bn_half_bwd_clocks, bn_strided_eff,
        bn_channels;
    double cudnn_conv_host_ns, cudnn_product_host_ns, cudnn_direct_host_ns, block_start_ns;
    double cudnn_fp32_product_host_ns, bn_nhwc_fixed_ns, layout_fp32_eff;
    double bn_fwd_eff, bn_bwd_eff, pointwise_eff, pool_eff, pool_bwd_clocks, layout_eff,
        optimizer_eff;
    double l2_share, l2_speed; /* tensors below this share of L2 move that much faster */
    double gemm_fixed_ns, conv_fixed_ns;
    /* host and queue, ns */
    double launch_host_ns, launch_library_host_ns, memcpy_async_host_ns, memset_host_ns;
    double event_record_host_ns, stream_wait_host_ns, sync_min_ns, graph_launch_host_ns;
    double graph_launch_node_host_ns, malloc_ns, malloc_small_ns, free_ns;
    double start_latency_ns, kernel_gap_ns, graph_gap_ns, kernel_min_ns;
    double queue_depth; /* operations per stream before a launch blocks */
    /* copies */
    double pinned_h2d_bytes_per_s, pinned_d2h_bytes_per_s, pageable_h2d_bytes_per_s;
    double pageable_d2h_bytes_per_s, copy_fixed_ns, d2d_eff;
    /* links between devices, as NCCL uses them: per protocol (LL, LL128, Simple) the rate of the
     * whole ring (0 = not used here), what a call and what a hop costs */
    double link_ll_bytes_per_s, link_ll128_bytes_per_s, link_simple_bytes_per_s;
    double link_ll_base_ns, link_ll128_base_ns, link_simple_base_ns;
    double link_ll_hop_ns, link_ll128_hop_ns, link_simple_hop_ns;
    int link_channels; /* blocks of a collective's kernel */
    /* what is the same on every card, ns: profiles/all/common.ini says what each is */
    double stream_create_ns, event_create_ns, pool_malloc_ns, map_ns, map_access_ns;
    double module_load_ns, module_link_ns, graph_instantiate_ns, graph_instantiate_node_ns;
    double copy_stage_lead_ns, copy_unstage_base_ns, copy_unstage_most_ns;
    double ctc_position_ns, solver_column_ns, solver_batch_column_ns;
    int from[VG_MEASURED + 1]; /* how many of the numbers have which provenance */
};

/* Reads profiles/MODEL.ini beside the library (profile.c). 0, or -1 with a clear line in `why`. */
int vg_profile_load(const char *model, struct vg_profile *out, char *why, size_t n);
/* The same from files of any name: `all` has what holds for every card. And the table of the
 * program's own kernels (profiles/all/kernels.ini). */
int vg_profile_read(const char *all, const char *path, struct vg_profile *out, char *why, size_t n);
int vg_kernels_read(const char *path, char *why, size_t n);
/* The folder of libvgpu-core.so, where profiles/ lies; no trailing slash. */
const char *vg_library_dir(void);

/* Start and options.
 * GPUPROF_VGPU=MODEL[,key=value...]. Keys of the core:
 *   devices=N (LOCAL_WORLD_SIZE where a launcher set it, else 1)
 *   seed=N  noise=SIGMA (0.01)  scale=F (device durations times F)
 *   copy=BYTES (copies up to this size always move data; 65536)
 *   own_work=0 (no records of what the model itself does in calls, for tests that count records)
 *   connect=MS (time of the first call, as creating a context takes)
 *   throttle=SHARE (kernels run at this share of the clock, as under a power limit)
 *   throttle_from=S  throttle_for=S (seconds after the start; 0 and for ever)
 * CUPTI's keys are listed in shim_cupti.h. */
int vg_start(void); /* 0, or a cudaError_t number; prints one line the first time it fails */
double vg_option(const char *key, double unset);
const char *vg_option_text(const char *key); /* NULL when not given */

/* ---- devices ---- */
int vg_device_count(void);
int vg_current_device(void); /* of the calling thread */
void vg_set_current_device(int device);
const struct vg_profile *vg_profile(int device);
double vg_noise(void); /* factor around 1 from the seeded generator, drawn per operation in order */

/* ---- clock ---- */
/* Since `from_ns` the thread has done what no device's library would (estimates, the first copies'
 * bytes): the call that it is in begins now, and the time is told as loading. */
void vg_emulated(int64_t from_ns);
int64_t vg_now_ns(void);              /* CLOCK_MONOTONIC */
void vg_spin_until(int64_t when_ns);  /* busy: what a call costs the host */
void vg_sleep_until(int64_t when_ns); /* waits for the device: sleeps, then spins the last 150 us */

/* ---- work ---- */
struct vg_kernel {
    const char *name; /* as the real library emits it (mangled where it does); must stay valid */
    unsigned grid[3], block[3];
    unsigned smem_static, smem_dynamic, registers;
    int64_t duration_ns; /* before noise */
};

/* What a library (cuBLAS, cuDNN) does inside its call. `stream` is the cudaStream_t as the program
 * gave it: NULL, the special handles 0x1 and 0x2, or a stream. Each returns a cudaError_t number.
 */
/* A cudaLaunchKernel with its API record, host cost, correlation id, queueing and capture. */
int vg_library_launch(struct vg_stream *stream, const struct vg_kernel *k);
/* What the library itself computes on the host in a call that began then. */
void vg_library_host(int64_t start_ns, double host_ns);
/* An asynchronous copy, a wait for the stream (as cudnnFind does between its trials), device memory
 * of the library's own (handles' workspaces). */
int vg_library_copy(struct vg_stream *stream, void *dst, const void *src, size_t bytes);
/* A cudaMemcpy2D, or its asynchronous form, in whatever direction the pointers say. */
int vg_library_copy_rows(struct vg_stream *stream, void *dst, size_t dst_pitch, const void *src,
                         size_t src_pitch, size_t width, size_t rows, bool async);
/* The library wrote there itself: copies back to the host move it. */
void vg_library_wrote(const void *p, size_t bytes);
int vg_library_sync(struct vg_stream *stream);
int vg_library_malloc(void **ptr, size_t bytes);
int vg_library_free(void *ptr);

/* A kernel that waits for something outside this device, as a collective waits for other ranks.
 * The launch returns at once. Later operations of its stream, and operations that wait for
 * those, get their place on the timeline when the condition is met. The core calls these
 * functions with its lock held: they may only look at memory and must not call the core. */
struct vg_barrier {
    /* The core knows when the kernel starts. False: not accepted yet, because an earlier barrier
     * is not over; the core asks again. */
    bool (*arrive)(void *arg, int64_t start_ns);
    /* True when the condition is met; the kernel ends duration_ns after *begin_ns (or its start).
     */
    bool (*ready)(void *arg, int64_t *begin_ns);
    void (*done)(void *arg); /* on the timeline: `arg` is used no more */
    void *arg;
    /* While a stream is captured `arg` is a plan, which stays for ever; each launch of the graph
     * makes an `arg` of it, called without the core's lock. NULL: it cannot be captured. */
    void *(*begin)(const void *plan);
};
bool vg_library_captures(struct vg_stream *stream);
int vg_library_barrier(struct vg_stream *stream, const struct vg_kernel *k,
                       const struct vg_barrier *barrier);
/* Call this when a barrier's condition may have changed: it places every operation that can be
 * placed. Any thread may call it. */
void vg_barriers_changed(void);
/* Memory that `owner`, a collective or a copy, will still write or read (core_data.c), from _add
 * to _end. vg_await waits until nobody owns any of these bytes, two seconds at most;
 * vg_await_flags does so only for as few bytes as sizes and flags have. */
void vg_awaited_add(const void *owner, const void *p, size_t bytes);
void vg_awaited_end(const void *owner);
void vg_await(const void *p, size_t bytes);
void vg_await_flags(const void *p, size_t bytes);

/* Ends the program with one line: NAME is not modelled. For generated stubs of a library's exports.
 */
void vg_trap(const char *library, const char *name);

/* ---- cost model (cost.c): durations in ns, before noise, kernel minimum included ---- */
enum vg_dtype { VG_F32, VG_TF32, VG_F16, VG_BF16, VG_F64, VG_I8, VG_F8 };
enum vg_layout { VG_NCHW, VG_NHWC };

size_t vg_dtype_bytes(enum vg_dtype t);
int64_t vg_cost_gemm(const struct vg_profile *p, enum vg_dtype t, int64_t m, int64_t n, int64_t k,
                     int64_t batch, int align_elements);
struct vg_conv { /* pass-independent shape; x = N C H W, w = K C/groups R S, y = N K P Q */
    int64_t n, c, h, w, k, r, s, p, q, stride, pad, dilation, groups;
    enum vg_dtype type;
    enum vg_layout layout;
    bool adds; /* to what the result holds */
};
enum vg_pass { VG_FWD, VG_DGRAD, VG_WGRAD };
int64_t vg_cost_conv(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass);
/* Without tensor cores on NHWC (cost_direct.c), where the profile has conv_direct_eff: algorithm 0,
 * and the kernel for NCHW that the others use between conversions. */
int64_t vg_cost_direct(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass);
/* Extra time when the kernel adds to numbers that are not 0. */
int64_t vg_cost_direct_contention(const struct vg_profile *p, const struct vg_conv *c,
                                  enum vg_pass pass);
enum vg_fp32_kernel { VG_FP32_TILES, VG_FP32_SCATTERED, VG_FP32_SLICED };
int64_t vg_cost_fp32_tiles(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass,
                           enum vg_fp32_kernel *kernel);
int64_t vg_cost_fp32_winograd_weights(const struct vg_profile *p, const struct vg_conv *c);
/* A 1x1 filter without stride that cuDNN leaves to cuBLASLt, where the profile says that it does.
 */
bool vg_conv_is_product(const struct vg_profile *p, const struct vg_conv *c);
/* The layout conversions around one convolution: tensor cores work in NHWC. TF32 has kernels for
 * NCHW only where the filter is 1x1 with stride 1, half precision none. */
struct vg_conversions {
    double in_bytes[2]; /* to NHWC, before; 0 = none */
    double out_bytes;   /* back to NCHW, after; 0 = none */
};
struct vg_conversions vg_conv_conversions(const struct vg_conv *c, enum vg_pass pass);
/* `adds`: to what is there. */
int64_t vg_cost_layout(const struct vg_profile *p, double bytes, enum vg_dtype t, bool adds);
/* `passes` reads and writes of `bytes` at a share `eff` of the memory bandwidth; L2 where it fits.
 */
int64_t vg_cost_memory(const struct vg_profile *p, double bytes, double passes, double eff);
/* The same without help from L2: normalisation, whose published shares are averages over layers. */
int64_t vg_cost_norm(const struct vg_profile *p, double bytes, double passes, double eff);
/* Half types in NCHW, channels of `each` elements, where the profile has bn_half_fwd_clocks
 * (cost_norm.c). */
int64_t vg_cost_norm_half_nchw(const struct vg_profile *p, double channels, double each,
                               bool backward);
/* A collective of `ranks` devices of one node from the last arrival on (cost_link.c). `bytes`: the
 * whole vector; for VG_PAIR what this device sends or receives, whichever is more. */
enum vg_collective {
    VG_ALL_REDUCE,
    VG_REDUCE_SCATTER,
    VG_ALL_GATHER,
    VG_BROADCAST,
    VG_REDUCE,
    VG_PAIR
};
int64_t vg_cost_collective(const struct vg_profile *p, enum vg_collective c, int ranks,
                           double bytes);
/* A kernel of the program itself, from profiles/all/kernels.ini: pattern of its name -> bytes and
 * flops per thread; an unknown one gets the file's default. */
int64_t vg_cost_user_kernel(const struct vg_profile *p, const char *name, const unsigned grid[3],
                            const unsigned block[3]);
/* A static estimate from a kernel's own code (cost_code.c): what `ptx` says of the entry, to be
 * kept for all launches. NULL: it is not there, or not understood. */
struct vg_code;
struct vg_code *vg_code_read(const char *ptx, const char *name);
/* Arguments that a program passes in one block, by the code's places for them. False: unknown, or
 * the block is too short. */
bool vg_code_arguments(const struct vg_code *code, const void *block, size_t bytes,
                       const void *args[], int room);
/* The estimate for this launch, whose arguments must be known; -1: none. Estimates are kept by
 * the launch's shape and by the arguments on which branches and addresses depend. */
int64_t vg_cost_code(const struct vg_profile *p, struct vg_code *code, const struct vg_kernel *k,
                     void *const *args);
/* A kernel that leaves all to functions which the estimate does not follow, as those of OpenMP's
 * directives are: a pass over each array that a table of addresses among its arguments leads to.
 * -1: it is none, or has no such table. */
int64_t vg_cost_data(const struct vg_profile *p, const struct vg_code *code, void *const *args);
/* A kernel of PyTorch's, by its name, grid and, where given, arguments (cost_torch.c); -1: it is
 * none whose conventions are known. */
int64_t vg_cost_torch(const struct vg_profile *p, const char *name, const unsigned grid[3],
                      const unsigned block[3], void *const *args);

#endif
