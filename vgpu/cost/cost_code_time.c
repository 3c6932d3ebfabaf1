/* The roofline of a kernel whose work is known. The rates are those of the device's units: FP32
 * lanes from the profile's peak, others from the tables in the CUDA programming guide for its
 * compute capability. */
#include "cost/cost_code.h"

#include <math.h>

/* Bytes per clock and multiprocessor from L2: 64 by design; published bandwidth tests of V100, A100
 * and H100 reach 17 to 30. */
static const double l2_bytes_per_clock = 24;
/* The same for bulk copies: published matrix products on H100 use 33, and do not wait for it. */
static const double l2_bulk_bytes_per_clock = 48;

/* Requests: 32 or 16 lanes of load units. Published matrix products without tiles reach 0.8 of
 * that. */
struct units { /* rates: instructions of a warp per clock of a multiprocessor */
    double issue, fp32, fp64, alu, special, requests;
    double matrix_flops;
    int threads, smem;
};

static struct units units_of(const struct vg_profile *p)
{
    double clocks = p->sm_count * p->clock_mhz * 1e6, fp32 = p->fp32_flops / clocks / 2 / 32;
    bool data_center = p->fp64_flops > p->fp32_flops / 4;
    return (struct units){.issue = 4,
                          .fp32 = fp32,
                          .fp64 = p->fp64_flops / clocks / 2 / 32,
                          .alu = 2,
                          .special = 0.5,
                          .requests = data_center ? 0.8 : 0.4,
                          .matrix_flops = fmax(p->fp16_flops, p->fp32_flops) / clocks,
                          .threads = p->cc_major == 7 && p->cc_minor == 5 ? 1024
                                     : (p->cc_major == 8 && p->cc_minor != 0) || p->cc_major == 12
                                         ? 1536
                                         : 2048,
                          .smem = p->cc_major == 12                      ? 100 << 10
                                  : p->cc_major >= 9                     ? 228 << 10
                                  : p->cc_major == 8 && p->cc_minor == 0 ? 164 << 10
                                  : p->cc_major == 8                     ? 100 << 10
                                  : p->cc_major == 7 && p->cc_minor == 5 ? 64 << 10
                                                                         : 96 << 10};
}

/* Blocks that a multiprocessor holds at the same time. */
static double resident(const struct units *u, const struct code_needs *needs, double warps)
{
    double registers = ceil(needs->registers / 8.0) * 8 * 32 * warps;
    double by_threads = floor(u->threads / (warps * 32)), by_registers = floor(65536 / registers);
    double by_smem = floor(u->smem / (needs->smem + 1024.0));
    return fmax(1, fmin(fmin(by_threads, by_registers), fmin(by_smem, 32)));
}

/* Clocks that the busiest unit needs for one warp. */
static double busiest(const struct units *u, const struct vg_profile *p, const struct ptx_tally *w)
{
    double t = w->issue / u->issue;
    t = fmax(t, w->fp32 / u->fp32);
    t = fmax(t, w->fp64 / u->fp64);
    t = fmax(t, w->alu / u->alu);
    t = fmax(t, w->special / u->special);
    t = fmax(t, w->matrix_flops / u->matrix_flops);
    t /= p->gemm_fp32_eff;
    return fmax(t, w->shared + fmax(w->lines, w->requests / u->requests));
}

int64_t vg_code_time(const struct vg_profile *p, const struct code_work *w,
                     const struct code_needs *needs)
{
    struct units u = units_of(p);
    double hz = p->clock_mhz * 1e6;
    double each = ceil(w->blocks / p->sm_count); /* blocks per multiprocessor */
    double busy = each * w->warps * busiest(&u, p, &w->warp) / hz;
    double waves = each / resident(&u, needs, w->warps);
    double alone = fmax(w->longest_cycles, waves * w->chain_cycles) / hz;
    double single = w->load_bytes + w->store_bytes - w->bulk_bytes;
    double l2 = (single / l2_bytes_per_clock + w->bulk_bytes / l2_bulk_bytes_per_clock) /
                (p->sm_count * hz);
    double one_address = w->atomics_per_address / hz;
    double memory =
        (double)vg_cost_memory(p, (w->read_bytes + w->written_bytes) / 2, 2, p->pointwise_eff) /
        1e9;
    double moving = fmax(l2, memory - p->kernel_min_ns / 1e9);
    /* Units contend, so a kernel takes between the longest unit's time and the sum. For 63 kernels
     * of llm.c on an H200 the root of the sum of squares fits best, with 1.5 times the time of a
     * warp alone: the median is 0.95 of the measured time, and four of five lie within 0.74 to
     * 1.34. Known at the time, but not used for the fit: 221 kernels of unet.cu (0.96; 0.65 to
     * 1.49) and 38 of train_gpt (1.17; 0.59 to 1.83). Starting blocks counts as a unit, too. For a
     * fill by 637146 blocks the longest unit takes 384 us and this formula gives 540 (measured:
     * 384); for an SGD of 11.2 million parameters by 43653 blocks 54 and 80 (measured: 71). */
    double work = 1e9 * hypot(hypot(fmax(busy, one_address), 1.5 * alone), moving);
    return (int64_t)(hypot(work, w->blocks * p->block_start_ns) + p->kernel_min_ns);
}
