/* Convolutions without tensor cores as cuDNN 9.19 computes them on NHWC, by the blocks that its
 * kernels launch. Fitted to its trials of algorithms on one H200, in recordings of train_conv
 * (ResNet-50, batch 16, FP32) and train_amp (ResNet-50, batch 8, 128 x 128, FP16), the weight
 * gradients also to PyTorch's ResNet-50 in FP32 (batch 32, NCHW, where cuDNN uses its heuristic).
 * Profiles without conv_direct_eff do not use them.
 *
 * A direct kernel has no workspace: each block goes through all of C R S, so a deep layer with few
 * pixels leaves most of the device idle. The other algorithms work in NCHW. */
#include "core/core.h"

#include <math.h>

static double pixels(const struct vg_conv *c)
{
    return (double)(c->n * c->p * c->q);
}

static double depth(const struct vg_conv *c)
{
    return (double)(c->c / c->groups * c->r * c->s);
}

static double flops(const struct vg_conv *c)
{
    return 2 * pixels(c) * (double)c->k * depth(c);
}

static bool half_type(const struct vg_conv *c)
{
    return c->type == VG_F16 || c->type == VG_BF16;
}

/* FLOP/s of one multiprocessor. */
static double each_flops(const struct vg_profile *p, double share)
{
    return p->fp32_flops * share / p->sm_count;
}

/* There are two tiles. The wide one, 64 pixels by 128 channels, serves half types and deep layers:
 * a step of the depth takes 0.11 us in FP32, 0.14 in half types. In FP32 a block alone on its
 * multiprocessor is 1.4 times as slow. The small one reaches half of its rate, but all of it for
 * the three channels of an image. */
static double forward_ns(const struct vg_profile *p, const struct vg_conv *c)
{
    double share = p->conv_direct_eff;
    if (!half_type(c) && c->c * c->stride * c->stride < 1024)
        return flops(c) / (p->fp32_flops * (c->c <= 4 ? share : share / 2)) * 1e9;
    double blocks = ceil(pixels(c) / 64) * ceil((double)c->k / 128);
    double each = fmax(ceil(blocks / p->sm_count), half_type(c) ? 1 : 1.4);
    double step = 2 * 64 * 128 / each_flops(p, half_type(c) ? share * 0.78 : share);
    return depth(c) * step * each * 1e9;
}

static double weight_blocks(const struct vg_conv *c)
{
    return ceil(depth(c) / 64) * ceil((double)c->k / 128) * (double)c->n;
}

/* FP32 adds its slices by reductions in L2: 17.7 TFLOP/s, and 8 us. Half types take one slice per
 * image, and add it by an exchange of each weight: 102 billion a second. */
static double weight_ns(const struct vg_profile *p, const struct vg_conv *c)
{
    if (!half_type(c))
        return flops(c) / (p->fp32_flops * p->conv_direct_eff * 0.91) * 1e9 + 8e3;
    double step = 2 * 64 * 128 / each_flops(p, p->conv_direct_eff * 1.2);
    double walk = pixels(c) / (double)c->n * step * fmax(1, weight_blocks(c) / (2 * p->sm_count));
    double adds = depth(c) * (double)(c->k * c->n) / 102e9;
    return (walk + adds) * 1e9 + 12e3;
}

/* In training it takes longer than in trials: 16 us an image if all blocks run at the same time. A
 * likely reason is that an exchange is repeated if another image's slice came first; trials on
 * zeros do not show that. */
int64_t vg_cost_direct_contention(const struct vg_profile *p, const struct vg_conv *c,
                                  enum vg_pass pass)
{
    if (pass != VG_WGRAD || !half_type(c))
        return 0;
    return (int64_t)(16e3 * (double)c->n * fmin(1, 2.0 * p->sm_count / weight_blocks(c)));
}

/* cuDNN's kernel for data gradients of grouped convolutions has no tiles: 0.47 TFLOP/s. */
static double data_ns(const struct vg_profile *p, const struct vg_conv *c)
{
    return flops(c) / (p->fp32_flops * p->conv_direct_eff * 0.024) * 1e9;
}

int64_t vg_cost_direct(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass)
{
    double ns = pass == VG_FWD     ? forward_ns(p, c)
                : pass == VG_DGRAD ? data_ns(p, c)
                                   : weight_ns(p, c);
    return (int64_t)(ns + p->kernel_min_ns);
}

/* Share of the device that 32 x 32 tiles keep busy, by how many there are. */
static double filled(double m, double n, double half_at)
{
    double tiles = ceil(m / 32) * ceil(n / 32);
    return tiles / (tiles + half_at);
}

/* A scattered gradient: a block adds one image's output to 64 of the input's places and weights.
 * All blocks together reach 21 TFLOP/s, one alone 38 GFLOP/s. */
static double scattered_ns(const struct vg_profile *p, const struct vg_conv *c)
{
    double one = 2.0 * 64 * (double)(c->p * c->q * c->k) / 38e9;
    return fmax(one, flops(c) / (p->fp32_flops * 0.315)) * 1e9;
}

static double dense_data_ns(const struct vg_profile *p, const struct vg_conv *c)
{
    double m = (double)(c->n * c->h * c->w), k = (double)(c->k * c->r * c->s);
    double share = 0.36 * filled(m, (double)(c->c / c->groups), 150) * k / (k + 25);
    return 2 * m * (double)c->c * (double)(c->r * c->s) * (double)(c->k / c->groups) /
           (p->fp32_flops * share) * 1e9;
}

/* Weights: a tile goes through all pixels, in 34 ns each, however many tiles there are. The device
 * reaches 36 TFLOP/s. */
static double weight_tiles_ns(const struct vg_profile *p, const struct vg_conv *c)
{
    double share = 0.54 * filled(depth(c), (double)c->k, 150);
    return fmax(flops(c) / (p->fp32_flops * share) * 1e9, pixels(c) * 34.4);
}

/* 3 x 3 weights by Winograd's transforms, whose products need fewer multiplications than are
 * counted: 67 to 83 TFLOP/s; with 64 channels 25. */
int64_t vg_cost_fp32_winograd_weights(const struct vg_profile *p, const struct vg_conv *c)
{
    double share = fmin((double)c->c, (double)c->k) < 128 ? 0.37 : 1.12;
    return (int64_t)(flops(c) / (p->fp32_flops * share) * 1e9 + p->kernel_min_ns);
}

/* A weight gradient in slices: 350 us with 32 images, plus 20 TFLOP/s. */
static double sliced_ns(const struct vg_profile *p, const struct vg_conv *c)
{
    return 11e3 * (double)c->n + flops(c) / (p->fp32_flops * 0.3) * 1e9;
}

int64_t vg_cost_fp32_tiles(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass,
                           enum vg_fp32_kernel *kernel)
{
    double ns, other, k = depth(c);
    if (pass == VG_FWD) {
        double share = 0.46 * filled(pixels(c), (double)c->k, 150) * k / (k + 25);
        other = ns = flops(c) / (p->fp32_flops * share) * 1e9;
    } else if (pass == VG_WGRAD) {
        ns = weight_tiles_ns(p, c);
        other = sliced_ns(p, c);
    } else {
        ns = dense_data_ns(p, c); /* with a stride, it computes the zeros as well */
        other = c->stride > 1 && c->groups == 1 ? scattered_ns(p, c) : ns;
    }
    *kernel = other >= ns ? VG_FP32_TILES : pass == VG_WGRAD ? VG_FP32_SLICED : VG_FP32_SCATTERED;
    return (int64_t)(fmin(ns, other) + p->kernel_min_ns);
}
