/* The virtual GPU's core (libvgpu-core.so): devices, streams, events, copy engines, memory and
 * records. The shims (shims/LIBRARY/), each with the real library's soname and version node,
 * translate the vendor's calls into these functions.
 *
 * Time. The core computes the device's timeline and does not wait for it: end = max(submit +
 * latency, previous end + gap, waits) + duration, in CLOCK_MONOTONIC nanoseconds. Only what the
 * host can observe (a synchronisation, a blocking copy, a full queue) takes real time: the thread
 * sleeps until shortly before the moment and then spins. So the recorded device times are exact
 * even if this machine's scheduler is not.
 *
 * Memory is real host memory, so copies really copy. Kernels only take time, except those whose
 * results the host reads (values/).
 *
 * GPUPROF_VGPU=MODEL[,key=value...] (a100-80, devices=2, seed=1, noise=0.01, ...) chooses the
 * device; without it the shims refuse to start, with one line. The device's name says that it is
 * virtual: "Virtual NVIDIA A100-SXM4-80GB (gpuprof model, nothing measured)". */
#ifndef VGPU_CORE_H
#define VGPU_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vg_stream; /* what a cudaStream_t points to; NULL: the legacy default stream */

/* Where a number of a device profile comes from. */
enum vg_provenance { VG_GUESS, VG_DATASHEET, VG_TRACE, VG_MEASURED };

/* A device profile, read from profiles/MODEL.ini beside the library. Names contain the units. */
struct vg_profile {
    char model[32]; /* "a100-80" */
    char name[96];  /* as the device reports it */
    int cc_major, cc_minor, sm_count, copy_engines, pcie_gen, pcie_width;
    double clock_mhz, memory_clock_mhz;
    double memory_bytes, memory_bytes_per_s, l2_bytes;
    /* Dense peaks; 0: the device has none. */
    double fp32_flops, tf32_flops, fp16_flops, bf16_flops, fp8_flops;
    double int8_flops, fp64_flops, fp64_tensor_flops;
    /* share of the peak that kernels reach */
    double gemm_eff, gemm_k0, gemm_tiles, gemm_fp32_eff, gemm_memory_eff;
    /* Factors for operands that are not aligned to 16 bytes. */
    double gemm_align1, gemm_align_small;
    double conv_fp32_eff, conv_fp32_nhwc_eff, conv_tf32_eff, conv_half_eff, conv_first_eff;
    double conv_memory_eff;
    /* Optional keys; profile.c has their defaults. */
    double gemm_align1_tf32, conv_k0, conv_product, conv_fp32_first_eff, conv_direct_eff;
    double conv_first_wgrad_eff, conv_group_k0;
    double conv_fp32_wgrad_eff, conv_tf32_wgrad_eff, conv_half_wgrad_eff;
    double bn_nhwc_fwd_eff, bn_nhwc_bwd_eff, bn_half_fwd_clocks, bn_half_bwd_clocks, bn_strided_eff,
        bn_channels;
    double cudnn_conv_host_ns, cudnn_product_host_ns, cudnn_direct_host_ns, block_start_ns;
    double cudnn_fp32_product_host_ns, bn_nhwc_fixed_ns, layout_fp32_eff;
    double bn_fwd_eff, bn_bwd_eff, pointwise_eff, pool_eff, pool_bwd_clocks, layout_eff,
        optimizer_eff;
    double l2_share, l2_speed; /* tensors below this share of the L2 cache move that much faster */
    double gemm_fixed_ns, conv_fixed_ns;
    /* costs on the host and in the queue, in ns */
    double launch_host_ns, launch_library_host_ns, memcpy_async_host_ns, memset_host_ns;
    double event_record_host_ns, stream_wait_host_ns, sync_min_ns, graph_launch_host_ns;
    double graph_launch_node_host_ns, malloc_ns, malloc_small_ns, free_ns;
    double start_latency_ns, kernel_gap_ns, graph_gap_ns, kernel_min_ns;
    double queue_depth; /* operations per stream before a launch blocks */
    /* copies */
    double pinned_h2d_bytes_per_s, pinned_d2h_bytes_per_s, pageable_h2d_bytes_per_s;
    double pageable_d2h_bytes_per_s, copy_fixed_ns, d2d_eff;
    /* Links between devices, as NCCL uses them. For each protocol (LL, LL128, Simple): the rate of
     * the whole ring (0: not used here), and the costs of a call and of a hop. */
    double link_ll_bytes_per_s, link_ll128_bytes_per_s, link_simple_bytes_per_s;
    double link_ll_base_ns, link_ll128_base_ns, link_simple_base_ns;
    double link_ll_hop_ns, link_ll128_hop_ns, link_simple_hop_ns;
    int link_channels; /* blocks of a collective's kernel */
    /* The same on every card, in ns; profiles/all/common.ini explains each. */
    double stream_create_ns, event_create_ns, pool_malloc_ns, map_ns, map_access_ns;
    double module_load_ns, module_link_ns, graph_instantiate_ns, graph_instantiate_node_ns;
    double copy_stage_lead_ns, copy_unstage_base_ns, copy_unstage_most_ns;
    double ctc_position_ns, solver_column_ns, solver_batch_column_ns;
    int from[VG_MEASURED + 1]; /* how many of the numbers have each provenance */
};

/* Reads profiles/MODEL.ini beside the library (profile.c). 0, or -1 with one line in `why`. */
int vg_profile_load(const char *model, struct vg_profile *out, char *why, size_t n);
/* The same from any files; `all` holds what is the same on every card. vg_kernels_read reads the
 * table of the program's own kernels (profiles/all/kernels.ini). */
int vg_profile_read(const char *all, const char *path, struct vg_profile *out, char *why, size_t n);
int vg_kernels_read(const char *path, char *why, size_t n);
/* The folder of libvgpu-core.so, which contains profiles/; without a slash at its end. */
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
int vg_start(void); /* 0, or a cudaError_t number; prints one line at the first failure */
double vg_option(const char *key, double unset);
const char *vg_option_text(const char *key); /* NULL: not given */

/* ---- devices ---- */
int vg_device_count(void);
int vg_current_device(void); /* of the calling thread */
void vg_set_current_device(int device);
const struct vg_profile *vg_profile(int device);
/* A factor around 1 from the seeded generator, drawn for each operation in order. */
double vg_noise(void);

/* ---- clock ---- */
/* Since `from_ns` this thread has done work that no device's library would do (estimates, bytes of
 * first copies). The present call begins now instead, and that time is recorded as loading. */
void vg_emulated(int64_t from_ns);
int64_t vg_now_ns(void);              /* CLOCK_MONOTONIC */
void vg_spin_until(int64_t when_ns);  /* spins: what a call costs the host */
void vg_sleep_until(int64_t when_ns); /* waits for the device: sleeps, and spins the last 150 us */

/* ---- work ---- */
struct vg_kernel {
    const char *name; /* as the real library emits it (mangled where it does); must stay valid */
    unsigned grid[3], block[3];
    unsigned smem_static, smem_dynamic, registers;
    int64_t duration_ns; /* before noise */
};

/* Work that a library (cuBLAS, cuDNN) does inside its call. `stream` is the cudaStream_t that the
 * program gave: NULL, the special handles 0x1 and 0x2, or a stream. Each returns a cudaError_t
 * number. */
/* A cudaLaunchKernel, with its API record, host cost, correlation id, queueing and capture. */
int vg_library_launch(struct vg_stream *stream, const struct vg_kernel *k);
/* The time that the library itself computes on the host, in a call that began at start_ns. */
void vg_library_host(int64_t start_ns, double host_ns);
/* An asynchronous copy, a wait for the stream (as cudnnFind makes between its trials), and device
 * memory for the library itself (workspaces of handles). */
int vg_library_copy(struct vg_stream *stream, void *dst, const void *src, size_t bytes);
/* A cudaMemcpy2D or its asynchronous form; the pointers tell the direction. */
int vg_library_copy_rows(struct vg_stream *stream, void *dst, size_t dst_pitch, const void *src,
                         size_t src_pitch, size_t width, size_t rows, bool async);
/* The library has written there itself, so copies back to the host move these bytes. */
void vg_library_wrote(const void *p, size_t bytes);
int vg_library_sync(struct vg_stream *stream);
int vg_library_malloc(void **ptr, size_t bytes);
int vg_library_free(void *ptr);

/* A kernel that waits for something outside this device, as a collective waits for other ranks. Its
 * launch returns at once. Later operations of its stream, and operations that wait for those, get
 * their place on the timeline when the condition is met. The core calls these functions with its
 * lock held: they may only read memory, and must not call the core. */
struct vg_barrier {
    /* The core knows when the kernel starts. False: not accepted yet, because an earlier barrier is
     * not over; the core asks again. */
    bool (*arrive)(void *arg, int64_t start_ns);
    /* True if the condition is met. The kernel ends duration_ns after *begin_ns (or after its
     * start). */
    bool (*ready)(void *arg, int64_t *begin_ns);
    void (*done)(void *arg); /* placed on the timeline: `arg` is no longer used */
    void *arg;
    /* During capture `arg` is a plan, which stays valid for ever. Each launch of the graph makes an
     * `arg` from it by this function, which is called without the core's lock. NULL: it cannot be
     * captured. */
    void *(*begin)(const void *plan);
};
bool vg_library_captures(struct vg_stream *stream);
int vg_library_barrier(struct vg_stream *stream, const struct vg_kernel *k,
                       const struct vg_barrier *barrier);
/* Call this when a barrier's condition may have changed: places every operation that can be placed.
 * Any thread may call it. */
void vg_barriers_changed(void);
/* From vg_awaited_add to vg_awaited_end, `owner` (a collective or a copy) will still write or read
 * this memory (core_data.c). vg_await waits, for two seconds at most, until no owner needs any of
 * these bytes. vg_await_flags does so only for regions as small as sizes and flags. */
void vg_awaited_add(const void *owner, const void *p, size_t bytes);
void vg_awaited_end(const void *owner);
void vg_await(const void *p, size_t bytes);
void vg_await_flags(const void *p, size_t bytes);

/* Ends the program with one line: NAME is not modelled. For generated stubs of a library's
 * exports. */
void vg_trap(const char *library, const char *name);

/* ---- cost model (cost.c): durations in ns, before noise, with the kernel minimum ---- */
enum vg_dtype { VG_F32, VG_TF32, VG_F16, VG_BF16, VG_F64, VG_I8, VG_F8 };
enum vg_layout { VG_NCHW, VG_NHWC };

size_t vg_dtype_bytes(enum vg_dtype t);
int64_t vg_cost_gemm(const struct vg_profile *p, enum vg_dtype t, int64_t m, int64_t n, int64_t k,
                     int64_t batch, int align_elements);
/* The shape, the same for all passes; x = N C H W, w = K C/groups R S, y = N K P Q. */
struct vg_conv {
    int64_t n, c, h, w, k, r, s, p, q, stride, pad, dilation, groups;
    enum vg_dtype type;
    enum vg_layout layout;
    bool adds; /* adds to the present result */
};
enum vg_pass { VG_FWD, VG_DGRAD, VG_WGRAD };
int64_t vg_cost_conv(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass);
/* Direct convolutions on NHWC without tensor cores (cost_direct.c), if the profile has
 * conv_direct_eff: algorithm 0, and the NCHW kernel that other algorithms use between
 * conversions. */
int64_t vg_cost_direct(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass);
/* Extra time if the kernel adds to numbers that are not 0. */
int64_t vg_cost_direct_contention(const struct vg_profile *p, const struct vg_conv *c,
                                  enum vg_pass pass);
enum vg_fp32_kernel { VG_FP32_TILES, VG_FP32_SCATTERED, VG_FP32_SLICED };
int64_t vg_cost_fp32_tiles(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass,
                           enum vg_fp32_kernel *kernel);
int64_t vg_cost_fp32_winograd_weights(const struct vg_profile *p, const struct vg_conv *c);
/* True for a 1x1 filter without stride that cuDNN passes to cuBLASLt, if the profile says that it
 * does. */
bool vg_conv_is_product(const struct vg_profile *p, const struct vg_conv *c);
/* The layout conversions around a convolution: tensor cores work in NHWC. TF32 has kernels for NCHW
 * only for 1x1 filters with stride 1, half precision has none. */
struct vg_conversions {
    double in_bytes[2]; /* to NHWC, before; 0: none */
    double out_bytes;   /* back to NCHW, after; 0: none */
};
struct vg_conversions vg_conv_conversions(const struct vg_conv *c, enum vg_pass pass);
/* adds: the conversion adds to the present result. */
int64_t vg_cost_layout(const struct vg_profile *p, double bytes, enum vg_dtype t, bool adds);
/* Time for `passes` reads and writes of `bytes`, at a share `eff` of the memory bandwidth, or by L2
 * if they fit. */
int64_t vg_cost_memory(const struct vg_profile *p, double bytes, double passes, double eff);
/* The same without L2: for normalisation, whose published shares are averages over layers. */
int64_t vg_cost_norm(const struct vg_profile *p, double bytes, double passes, double eff);
/* For half types in NCHW with channels of `each` elements, if the profile has bn_half_fwd_clocks
 * (cost_norm.c). */
int64_t vg_cost_norm_half_nchw(const struct vg_profile *p, double channels, double each,
                               bool backward);
/* A collective of `ranks` devices in one node, from the last arrival on (cost_link.c). bytes: the
 * whole vector; for VG_PAIR the larger of what this device sends and receives. */
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
/* A kernel of the program itself, by profiles/all/kernels.ini: a pattern for its name gives bytes
 * and flops per thread. An unknown kernel gets the file's default. */
int64_t vg_cost_user_kernel(const struct vg_profile *p, const char *name, const unsigned grid[3],
                            const unsigned block[3]);
/* A static estimate from a kernel's own code (cost_code.c): reads the entry `name` in `ptx`, for
 * all its launches. NULL: not there, or not understood. */
struct vg_code;
struct vg_code *vg_code_read(const char *ptx, const char *name);
/* Finds the arguments in one block by the offsets in the code. False: unknown, or the block is too
 * short. */
bool vg_code_arguments(const struct vg_code *code, const void *block, size_t bytes,
                       const void *args[], int room);
/* The estimate for this launch, whose arguments must be known; -1: none. Estimates are cached by
 * the launch's shape and by the arguments on which branches and addresses depend. */
int64_t vg_cost_code(const struct vg_profile *p, struct vg_code *code, const struct vg_kernel *k,
                     void *const *args);
/* For a kernel that leaves all work to functions which the estimate does not follow, as those of
 * OpenMP's directives do: a pass over each array in a table of addresses among its arguments. -1:
 * it is no such kernel, or has no such table. */
int64_t vg_cost_data(const struct vg_profile *p, const struct vg_code *code, void *const *args);
/* A kernel of PyTorch, by its name, grid and, if given, arguments (cost_torch.c). -1: its
 * conventions are unknown. */
int64_t vg_cost_torch(const struct vg_profile *p, const char *name, const unsigned grid[3],
                      const unsigned block[3], void *const *args);

#endif
