/* Reads a device profile: profiles/MODEL.ini, after profiles/all/common.ini, which holds what is
 * the same on every card.
 *
 *   # comment
 *   key = value unit ; provenance, short source
 *
 * It is strict: every key must occur, once and in one file, with a unit of its kind and with one of
 * measured | trace | datasheet | guess. A number without a source is refused. The first fault ends
 * the reading, with one line that names file and line. A few keys may be missing, if the difference
 * that they make was never measured: `optional` has their defaults. */
#include "core/core.h"
#include "cost/ini.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum kind { TEXT, COUNT, FRACTION, HERTZ, BYTES, RATE, FLOPS, TIME };

struct unit {
    enum kind kind;
    const char *name;
    double factor;
};
static const struct unit units[] = {
    {COUNT, "count", 1},       {FRACTION, "share", 1}, {FRACTION, "x", 1},
    {HERTZ, "MHz", 1},         {BYTES, "GB", 1e9},     {BYTES, "GiB", 1073741824.0},
    {BYTES, "MiB", 1048576.0}, {RATE, "GB/s", 1e9},    {FLOPS, "TFLOP/s", 1e12},
    {TIME, "ns", 1},           {TIME, "us", 1e3},      {TIME, "ms", 1e6},
};

#define INT_KEY(k)                                                                                 \
    {                                                                                              \
#k, COUNT, true, offsetof(struct vg_profile, k)                                            \
    }
#define KEY(kind, k, f)                                                                            \
    {                                                                                              \
#k, kind, false, offsetof(struct vg_profile, f)                                            \
    }

static const struct key {
    const char *name;
    enum kind kind;
    bool integer;
    size_t offset;
} keys[] = {
    KEY(TEXT, name, name),
    INT_KEY(cc_major),
    INT_KEY(cc_minor),
    INT_KEY(sm_count),
    INT_KEY(copy_engines),
    INT_KEY(pcie_gen),
    INT_KEY(pcie_width),
    KEY(HERTZ, clock, clock_mhz),
    KEY(HERTZ, memory_clock, memory_clock_mhz),
    KEY(BYTES, memory, memory_bytes),
    KEY(RATE, memory_rate, memory_bytes_per_s),
    KEY(BYTES, l2, l2_bytes),
    KEY(FLOPS, fp32, fp32_flops),
    KEY(FLOPS, tf32, tf32_flops),
    KEY(FLOPS, fp16, fp16_flops),
    KEY(FLOPS, bf16, bf16_flops),
    KEY(FLOPS, fp8, fp8_flops),
    KEY(FLOPS, int8, int8_flops),
    KEY(FLOPS, fp64, fp64_flops),
    KEY(FLOPS, fp64_tensor, fp64_tensor_flops),
    KEY(FRACTION, gemm_eff, gemm_eff),
    KEY(COUNT, gemm_k0, gemm_k0),
    KEY(COUNT, gemm_tiles, gemm_tiles),
    KEY(FRACTION, gemm_fp32_eff, gemm_fp32_eff),
    KEY(FRACTION, gemm_memory_eff, gemm_memory_eff),
    KEY(FRACTION, gemm_align1, gemm_align1),
    KEY(FRACTION, gemm_align_small, gemm_align_small),
    KEY(FRACTION, conv_fp32_eff, conv_fp32_eff),
    KEY(FRACTION, conv_fp32_nhwc_eff, conv_fp32_nhwc_eff),
    KEY(FRACTION, conv_tf32_eff, conv_tf32_eff),
    KEY(FRACTION, conv_half_eff, conv_half_eff),
    KEY(FRACTION, conv_first_eff, conv_first_eff),
    KEY(FRACTION, conv_memory_eff, conv_memory_eff),
    KEY(FRACTION, gemm_align1_tf32, gemm_align1_tf32),
    KEY(COUNT, conv_k0, conv_k0),
    KEY(COUNT, conv_group_k0, conv_group_k0),
    KEY(FRACTION, conv_product, conv_product),
    KEY(FRACTION, conv_direct_eff, conv_direct_eff),
    KEY(FRACTION, conv_first_wgrad_eff, conv_first_wgrad_eff),
    KEY(FRACTION, conv_fp32_first_eff, conv_fp32_first_eff),
    KEY(FRACTION, conv_fp32_wgrad_eff, conv_fp32_wgrad_eff),
    KEY(FRACTION, conv_tf32_wgrad_eff, conv_tf32_wgrad_eff),
    KEY(FRACTION, conv_half_wgrad_eff, conv_half_wgrad_eff),
    KEY(FRACTION, bn_nhwc_fwd_eff, bn_nhwc_fwd_eff),
    KEY(FRACTION, bn_nhwc_bwd_eff, bn_nhwc_bwd_eff),
    KEY(COUNT, bn_half_fwd_clocks, bn_half_fwd_clocks),
    KEY(COUNT, bn_half_bwd_clocks, bn_half_bwd_clocks),
    KEY(COUNT, pool_bwd_clocks, pool_bwd_clocks),
    KEY(FRACTION, bn_strided_eff, bn_strided_eff),
    KEY(COUNT, bn_channels, bn_channels),
    KEY(TIME, block_start, block_start_ns),
    KEY(TIME, cudnn_conv_host, cudnn_conv_host_ns),
    KEY(TIME, cudnn_product_host, cudnn_product_host_ns),
    KEY(TIME, cudnn_fp32_product_host, cudnn_fp32_product_host_ns),
    KEY(TIME, cudnn_direct_host, cudnn_direct_host_ns),
    KEY(TIME, bn_nhwc_fixed, bn_nhwc_fixed_ns),
    KEY(FRACTION, bn_fwd_eff, bn_fwd_eff),
    KEY(FRACTION, bn_bwd_eff, bn_bwd_eff),
    KEY(FRACTION, pointwise_eff, pointwise_eff),
    KEY(FRACTION, pool_eff, pool_eff),
    KEY(FRACTION, layout_eff, layout_eff),
    KEY(FRACTION, layout_fp32_eff, layout_fp32_eff),
    KEY(FRACTION, optimizer_eff, optimizer_eff),
    KEY(FRACTION, l2_share, l2_share),
    KEY(FRACTION, l2_speed, l2_speed),
    KEY(TIME, gemm_fixed, gemm_fixed_ns),
    KEY(TIME, conv_fixed, conv_fixed_ns),
    KEY(TIME, launch_host, launch_host_ns),
    KEY(TIME, launch_library_host, launch_library_host_ns),
    KEY(TIME, memcpy_async_host, memcpy_async_host_ns),
    KEY(TIME, memset_host, memset_host_ns),
    KEY(TIME, event_record_host, event_record_host_ns),
    KEY(TIME, stream_wait_host, stream_wait_host_ns),
    KEY(TIME, sync_min, sync_min_ns),
    KEY(TIME, graph_launch_host, graph_launch_host_ns),
    KEY(TIME, graph_launch_node_host, graph_launch_node_host_ns),
    KEY(TIME, malloc, malloc_ns),
    KEY(TIME, malloc_small, malloc_small_ns),
    KEY(TIME, free, free_ns),
    KEY(TIME, start_latency, start_latency_ns),
    KEY(TIME, kernel_gap, kernel_gap_ns),
    KEY(TIME, graph_gap, graph_gap_ns),
    KEY(TIME, kernel_min, kernel_min_ns),
    KEY(COUNT, queue_depth, queue_depth),
    KEY(RATE, pinned_h2d, pinned_h2d_bytes_per_s),
    KEY(RATE, pinned_d2h, pinned_d2h_bytes_per_s),
    KEY(RATE, pageable_h2d, pageable_h2d_bytes_per_s),
    KEY(RATE, pageable_d2h, pageable_d2h_bytes_per_s),
    KEY(TIME, copy_fixed, copy_fixed_ns),
    KEY(FRACTION, d2d_eff, d2d_eff),
    KEY(RATE, link_ll, link_ll_bytes_per_s),
    KEY(RATE, link_ll128, link_ll128_bytes_per_s),
    KEY(RATE, link_simple, link_simple_bytes_per_s),
    KEY(TIME, link_ll_base, link_ll_base_ns),
    KEY(TIME, link_ll128_base, link_ll128_base_ns),
    KEY(TIME, link_simple_base, link_simple_base_ns),
    KEY(TIME, link_ll_hop, link_ll_hop_ns),
    KEY(TIME, link_ll128_hop, link_ll128_hop_ns),
    KEY(TIME, link_simple_hop, link_simple_hop_ns),
    INT_KEY(link_channels),
    KEY(TIME, stream_create, stream_create_ns),
    KEY(TIME, event_create, event_create_ns),
    KEY(TIME, pool_malloc, pool_malloc_ns),
    KEY(TIME, map, map_ns),
    KEY(TIME, map_access, map_access_ns),
    KEY(TIME, module_load, module_load_ns),
    KEY(TIME, module_link, module_link_ns),
    KEY(TIME, graph_instantiate, graph_instantiate_ns),
    KEY(TIME, graph_instantiate_node, graph_instantiate_node_ns),
    KEY(TIME, copy_stage_lead, copy_stage_lead_ns),
    KEY(TIME, copy_unstage_base, copy_unstage_base_ns),
    KEY(TIME, copy_unstage_most, copy_unstage_most_ns),
    KEY(TIME, ctc_position, ctc_position_ns),
    KEY(TIME, solver_column, solver_column_ns),
    KEY(TIME, solver_batch_column, solver_batch_column_ns),
};
enum { KEYS = sizeof keys / sizeof keys[0] };

/* Default of a missing key: another key's value; NULL: 0. */
static const struct {
    const char *key, *as;
} optional[] = {
    {"gemm_align1_tf32", "gemm_align1"},
    {"conv_k0", NULL},       /* few channels are as fast as many */
    {"conv_group_k0", NULL}, /* groups are as fast as other convolutions */
    {"conv_product", NULL},  /* 1x1 filters are convolutions like others */
    {"conv_fp32_first_eff", "conv_fp32_eff"},
    {"conv_first_wgrad_eff", "conv_first_eff"},
    {"conv_fp32_wgrad_eff", "conv_fp32_eff"},
    {"conv_tf32_wgrad_eff", "conv_tf32_eff"},
    {"conv_half_wgrad_eff", "conv_half_eff"},
    {"bn_nhwc_fwd_eff", "bn_fwd_eff"},
    {"bn_nhwc_bwd_eff", "bn_bwd_eff"},
    {"bn_half_fwd_clocks", NULL}, /* half types in NCHW take FP32's rate in bytes */
    {"bn_half_bwd_clocks", NULL},
    {"pool_bwd_clocks", NULL}, /* pooling is as fast as its bytes */
    {"bn_channels", NULL},     /* shares are means over layers of all widths */
    {"block_start", NULL},
    {"cudnn_conv_host", NULL},
    {"cudnn_product_host", NULL},
    {"cudnn_fp32_product_host", "cudnn_product_host"},
    {"cudnn_direct_host", "cudnn_conv_host"},
    {"bn_nhwc_fixed", NULL},
    {"layout_fp32_eff", "layout_eff"},
    {"conv_direct_eff", NULL}, /* algorithm 0 reaches tensor cores in NHWC, too */
};

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

static int set_text(const struct ini *in, const struct key *k, void *field)
{
    size_t n = strlen(in->value);
    if (n == 0 || n >= sizeof((struct vg_profile *)0)->name)
        return ini_fault(in, "%s needs 1 to %zu characters", k->name,
                         sizeof((struct vg_profile *)0)->name - 1);
    memcpy(field, in->value, n + 1);
    return 0;
}

static int set_number(const struct ini *in, const struct key *k, void *field)
{
    char unit[16];
    double v;
    if (ini_number(in->value, &v, unit, sizeof unit) < 0 || v < 0)
        return ini_fault(in, "%s = %s: not a number with a unit", k->name, in->value);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (units[i].kind != k->kind || strcmp(units[i].name, unit) != 0)
            continue;
        if (k->integer && v != (int)v)
            return ini_fault(in, "%s = %s: not a whole number", k->name, in->value);
        if (k->integer)
            *(int *)field = (int)v;
        else
            *(double *)field = v * units[i].factor;
        return 0;
    }
    return ini_fault(in, "%s = %s: unit `%s` does not fit", k->name, in->value, unit);
}

static int read_line(const struct ini *in, struct vg_profile *out, bool seen[KEYS])
{
    const struct key *k = find_key(in->key);
    if (!k)
        return ini_fault(in, "unknown key `%s`", in->key);
    if (seen[k - keys])
        return ini_fault(in, "%s is given twice", k->name);
    seen[k - keys] = true;
    out->from[in->provenance]++;
    void *field = (char *)out + k->offset;
    return k->kind == TEXT ? set_text(in, k, field) : set_number(in, k, field);
}

/* Fills a missing key with its default. False: the key must not be missing. */
static bool fall_back(const struct key *k, struct vg_profile *p)
{
    for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) {
        if (strcmp(optional[i].key, k->name) != 0)
            continue;
        const struct key *as = optional[i].as ? find_key(optional[i].as) : NULL;
        double *field = (double *)((char *)p + k->offset);
        *field = as ? *(const double *)((const char *)p + as->offset) : 0;
        return true;
    }
    return false;
}

/* Reads one file. `seen` is set for its keys. */
static int read_file(const char *path, struct vg_profile *out, bool seen[KEYS], char *why, size_t n)
{
    struct ini in;
    int rc;
    if (ini_open(&in, path, why, n) < 0)
        return -1;
    while ((rc = ini_next(&in)) == 1)
        if ((rc = read_line(&in, out, seen)) < 0)
            break;
    ini_close(&in);
    return rc;
}

int vg_profile_read(const char *all, const char *path, struct vg_profile *out, char *why, size_t n)
{
    bool of_all[KEYS] = {false}, seen[KEYS] = {false};
    memset(out, 0, sizeof *out);
    int rc = read_file(all, out, of_all, why, n);
    if (rc == 0)
        rc = read_file(path, out, seen, why, n);
    for (size_t i = 0; rc == 0 && i < KEYS; i++)
        if (!of_all[i] && !seen[i] && !fall_back(&keys[i], out)) {
            snprintf(why, n, "%s: %s is missing", path, keys[i].name);
            rc = -1;
        }
    return rc;
}

int vg_profile_load(const char *model, struct vg_profile *out, char *why, size_t n)
{
    char path[4096], all[4096];
    if (!*model || strlen(model) >= sizeof out->model || strchr(model, '/')) {
        snprintf(why, n, "there is no virtual GPU named `%s`", model);
        return -1;
    }
    snprintf(path, sizeof path, "%s/profiles/all/kernels.ini", vg_library_dir());
    if (vg_kernels_read(path, why, n) < 0)
        return -1;
    snprintf(all, sizeof all, "%s/profiles/all/common.ini", vg_library_dir());
    snprintf(path, sizeof path, "%s/profiles/%s.ini", vg_library_dir(), model);
    if (vg_profile_read(all, path, out, why, n) < 0)
        return -1;
    memcpy(out->model, model, strlen(model) + 1);
    return 0;
}
