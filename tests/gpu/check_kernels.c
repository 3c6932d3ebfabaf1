/* Compares the trainer's own kernels with plain C on a real GPU. `check_kernels` prints a line for
 * each kernel and type. Exit status 1 if any differs, 77 without a GPU that computes. */
#include "reference_workloads/common/check.h"
#include "reference_workloads/conv/kernels.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 8 * 1237, BATCH = 6, CLASSES = 45, IMAGE = 32 };

static int failures;
static const char *const type_name[] = {"fp32", "fp16", "bf16"};
static const float tolerance[] = {2e-6f, 1e-3f, 8e-3f}; /* relative: one rounding of the type */

static float random_value(unsigned i)
{
    i = (i + 1) * 2654435761u;
    i ^= i >> 15;
    return (float)(i % 2001) / 500.0f - 2.0f;
}

/* float -> bits of a 16-bit type, rounded to nearest even, through the upper bits of a float */
static uint16_t to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

static float from_bf16(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

/* Device memory with the values in T; `values` becomes what T can hold. */
static void *upload(enum dtype t, float *values, size_t n)
{
    void *device, *host = check_alloc(n * 4);
    for (size_t i = 0; i < n; i++) {
        if (t == DTYPE_F32) {
            ((float *)host)[i] = values[i];
        } else if (t == DTYPE_BF16) {
            ((uint16_t *)host)[i] = to_bf16(values[i]);
            values[i] = from_bf16(((uint16_t *)host)[i]);
        } else {
            _Float16 h = (_Float16)values[i];
            ((_Float16 *)host)[i] = h;
            values[i] = (float)h;
        }
    }
    cudaCheck(cudaMalloc(&device, n * 4));
    cudaCheck(cudaMemcpy(device, host, n * (t == DTYPE_F32 ? 4 : 2), cudaMemcpyHostToDevice));
    free(host);
    return device;
}

static void compare(const char *what, enum dtype t, const void *device, const float *expected,
                    size_t n)
{
    void *host = check_alloc(n * 4);
    float worst = 0;
    cudaCheck(cudaMemcpy(host, device, n * (t == DTYPE_F32 ? 4 : 2), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++) {
        float got = t == DTYPE_F32    ? ((float *)host)[i]
                    : t == DTYPE_BF16 ? from_bf16(((uint16_t *)host)[i])
                                      : (float)((_Float16 *)host)[i];
        float off = fabsf(got - expected[i]) / fmaxf(fabsf(expected[i]), 0.05f);
        worst = !(off <= worst) ? off : worst; /* a NaN is worst */
    }
    free(host);
    int good = worst <= tolerance[t];
    failures += !good;
    printf("%s  %-24s %s  off by %.2g\n", good ? "ok    " : "FAILED", what, type_name[t],
           (double)worst);
}

static float a[N], b[N], want[N];

static void fill_inputs(void)
{
    for (unsigned i = 0; i < N; i++) {
        a[i] = random_value(i);
        b[i] = random_value(i + 77777);
    }
}

static void check_pointwise(enum dtype t)
{
    static const char *const name[] = {"relu_forward", "relu_backward", "add", "add_relu"};
    for (int k = 0; k < 4; k++) {
        fill_inputs();
        void *y = upload(t, a, N), *other = upload(t, b, N);
        for (int i = 0; i < N; i++)
            want[i] = k == 0   ? fmaxf(a[i], 0)
                      : k == 1 ? (b[i] > 0 ? a[i] : 0)
                      : k == 2 ? a[i] + b[i]
                               : fmaxf(a[i] + b[i], 0);
        if (k == 0)
            kernel_relu_forward(0, t, y, N);
        else if (k == 1)
            kernel_relu_backward(0, t, y, other, N);
        else if (k == 2)
            kernel_add(0, t, y, other, N);
        else
            kernel_add_relu(0, t, y, other, N);
        compare(name[k], t, y, want, N);
        cudaCheck(cudaFree(y));
        cudaCheck(cudaFree(other));
    }
}

static void check_ingest(enum dtype t, int nhwc)
{
    enum { PLANE = IMAGE * IMAGE, PIXELS = 2 * PLANE };
    static const float mean[3] = {123.675f, 116.28f, 103.53f};
    static const float deviation[3] = {58.395f, 57.12f, 57.375f};
    unsigned char bytes[3 * PIXELS];
    void *in, *out = upload(t, a, 3 * PIXELS);
    for (int i = 0; i < PIXELS; i++)
        for (int c = 0; c < 3; c++) {
            bytes[3 * i + c] = (unsigned char)(i * 7 + c * 50);
            want[nhwc ? 3 * i + c : (i / PLANE * 3 + c) * PLANE + i % PLANE] =
                ((float)bytes[3 * i + c] - mean[c]) / deviation[c];
        }
    cudaCheck(cudaMalloc(&in, sizeof bytes));
    cudaCheck(cudaMemcpy(in, bytes, sizeof bytes, cudaMemcpyHostToDevice));
    kernel_ingest(0, t, nhwc, 0, in, out, 2, IMAGE);
    compare(nhwc ? "ingest bytes, NHWC" : "ingest bytes, NCHW", t, out, want, 3 * PIXELS);
    cudaCheck(cudaFree(in));
    cudaCheck(cudaFree(out));
}

static void check_loss(enum dtype t)
{
    static float logits[BATCH * CLASSES], bias[CLASSES], losses[BATCH], gradient[BATCH * CLASSES],
        sums[CLASSES];
    int32_t labels[BATCH];
    memset(sums, 0, sizeof sums);
    for (unsigned i = 0; i < BATCH * CLASSES; i++)
        logits[i] = 3 * random_value(i);
    for (unsigned i = 0; i < CLASSES; i++)
        bias[i] = random_value(i + 999);
    for (int row = 0; row < BATCH; row++) {
        double sum = 0;
        labels[row] = row * 7 % CLASSES;
        for (int i = 0; i < CLASSES; i++)
            sum += exp((double)(logits[row * CLASSES + i] + bias[i]));
        losses[row] = (float)log(sum) - logits[row * CLASSES + labels[row]] - bias[labels[row]];
        for (int i = 0; i < CLASSES; i++) {
            double p = exp((double)(logits[row * CLASSES + i] + bias[i])) / sum;
            gradient[row * CLASSES + i] = (float)((p - (i == labels[row])) * 8 / BATCH);
        }
    }
    struct loss_scale *scale;
    int32_t *device_labels;
    void *l = upload(DTYPE_F32, logits, BATCH * CLASSES), *bi = upload(DTYPE_F32, bias, CLASSES);
    void *out = upload(DTYPE_F32, a, BATCH), *d = upload(t, b, BATCH * CLASSES);
    void *db = upload(DTYPE_F32, sums, CLASSES);
    cudaCheck(cudaMalloc((void **)&scale, sizeof *scale));
    cudaCheck(cudaMalloc((void **)&device_labels, sizeof labels));
    cudaCheck(cudaMemcpy(device_labels, labels, sizeof labels, cudaMemcpyHostToDevice));
    kernel_init_scale(0, scale, 8.0f);
    kernel_softmax_loss(0, t, l, bi, device_labels, out, d, BATCH, CLASSES, scale);
    compare("softmax_loss: losses", DTYPE_F32, out, losses, BATCH);
    compare("softmax_loss: gradient", t, d, gradient, BATCH * CLASSES);

    void *exact = upload(t, gradient, BATCH * CLASSES); /* rounds gradient to T */
    for (int row = 0; row < BATCH; row++)
        for (int i = 0; i < CLASSES; i++)
            sums[i] += 2 * gradient[row * CLASSES + i];
    kernel_bias_gradient(0, t, exact, db, BATCH, CLASSES, 0);
    kernel_bias_gradient(0, t, exact, db, BATCH, CLASSES, 1);
    compare("bias_gradient", DTYPE_F32, db, sums, CLASSES);
    void *all[] = {l, bi, out, d, db, exact, scale, device_labels};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cudaCheck(cudaFree(all[i]));
}

/* Two updates, fused or in five passes: weights, momentum and working copy as in plain C. */
static void check_sgd(enum dtype t, int fused)
{
    static float g[N], w[N], m[N], zeros[N];
    struct loss_scale *scale;
    for (unsigned i = 0; i < N; i++) {
        g[i] = random_value(i);
        w[i] = random_value(i + 5);
        m[i] = random_value(i + 9);
        zeros[i] = 0;
    }
    void *dg = upload(t, g, N), *dw = upload(DTYPE_F32, w, N), *dm = upload(DTYPE_F32, m, N);
    void *working = upload(t, zeros, N), *scratch = upload(DTYPE_F32, zeros, N);
    cudaCheck(cudaMalloc((void **)&scale, sizeof *scale));
    kernel_init_scale(0, scale, 4.0f);
    struct sgd o = {0.1f, 0.9f, 0.01f, scale};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            m[i] = 0.9f * m[i] + (g[i] / 4.0f + 0.01f * w[i]);
            w[i] -= 0.1f * m[i];
        }
        if (fused) {
            kernel_sgd_fused(0, t, &o, dw, dm, dg, t == DTYPE_F32 ? NULL : working, N);
            continue;
        }
        kernel_sgd_unscale(0, t, &o, dw, dg, scratch, N);
        kernel_sgd_decay_momentum(0, &o, dm, N);
        kernel_sgd_add_gradient(0, &o, dm, scratch, N);
        kernel_sgd_update(0, &o, dw, dm, N);
        kernel_sgd_cast(0, t, dw, working, N);
    }
    compare(fused ? "sgd fused: weights" : "sgd in passes: weights", DTYPE_F32, dw, w, N);
    compare(fused ? "sgd fused: momentum" : "sgd in passes: momentum", DTYPE_F32, dm, m, N);
    if (t != DTYPE_F32)
        compare(fused ? "sgd fused: copy" : "sgd in passes: copy", t, working, w, N);
    void *all[] = {dg, dw, dm, working, scratch, scale};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cudaCheck(cudaFree(all[i]));
}

/* An infinite gradient leaves the step out and halves the scale. */
static void check_scale(enum dtype t)
{
    struct loss_scale *scale, host;
    static float g[N], w[N];
    for (unsigned i = 0; i < N; i++) {
        g[i] = i == N - 3 ? INFINITY : 1;
        w[i] = random_value(i);
    }
    void *dg = upload(t, g, N), *dw = upload(DTYPE_F32, w, N), *dm = upload(DTYPE_F32, w, N);
    cudaCheck(cudaMalloc((void **)&scale, sizeof *scale));
    kernel_init_scale(0, scale, 64.0f);
    struct sgd o = {0.1f, 0.9f, 0.01f, scale};
    kernel_check_finite(0, t, dg, scale, N);
    kernel_sgd_fused(0, t, &o, dw, dm, dg, NULL, N);
    kernel_update_scale(0, scale);
    compare("overflow: weights stay", DTYPE_F32, dw, w, N);
    cudaCheck(cudaMemcpy(&host, scale, sizeof host, cudaMemcpyDeviceToHost));
    int good = host.scale == 32.0f && host.found_inf == 0;
    failures += !good;
    printf("%s  %-24s %s  scale %g\n", good ? "ok    " : "FAILED", "overflow: scale halves",
           type_name[t], (double)host.scale);
    void *all[] = {dg, dw, dm, scale};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cudaCheck(cudaFree(all[i]));
}

int main(void)
{
    struct cudaDeviceProp device;
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        puts("skipped: no GPU here");
        return 77;
    }
    cudaCheck(cudaGetDeviceProperties(&device, 0));
    if (strncmp(device.name, "Virtual ", 8) == 0) {
        puts("skipped: no GPU that computes");
        return 77;
    }
    for (int t = DTYPE_F32; t <= DTYPE_BF16; t++) {
        check_pointwise((enum dtype)t);
        check_ingest((enum dtype)t, 0);
        check_ingest((enum dtype)t, 1);
        check_loss((enum dtype)t);
        check_sgd((enum dtype)t, 1);
        check_sgd((enum dtype)t, 0);
        check_scale((enum dtype)t);
    }
    printf("%d failed\n", failures);
    return failures != 0;
}
