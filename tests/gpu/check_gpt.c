/* Checks train_gpt's mathematics on a real GPU, at a size that plain C can follow. Prints a line
 * for each check. Exit status 1 if any fails, 77 without a GPU that computes.
 *
 * It compares the loss with a forward pass in double precision; the gradient of each tensor with
 * the change of that loss along two directions (the gradient's own and a random one); the other
 * ways to compute (unfused, checkpointing, allocating, padding, 16 bits) with the first; and the
 * three forms of the optimizer and the four of clipping with each other and with the formula. */
#include "reference_workloads/gpt/data.h"
#include "tests/gpu/gpt_reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void say(int good, const char *what, const char *of, double value, double limit)
{
    failures += !good;
    printf("%s  %-28s %-14s %.3g (at most %.3g)\n", good ? "ok    " : "FAILED", what, of, value,
           limit);
}

static struct config tiny(void)
{
    struct config c = config_defaults();
    c.layers = 2;
    c.heads = 4;
    c.width = c.context = 256;
    c.vocab = 301; /* odd on purpose */
    c.batch = 2;
    c.precision = PRECISION_FP32;
    return c;
}

/* ---- a step on the device ---- */

struct step {
    double loss, *gradient, *before, *after; /* (count): gradients, master weights */
    size_t count;
    int32_t *batch;
};

static double *fetch(const struct model *m, const void *from, enum dtype t)
{
    size_t n = m->count, bytes = t == DTYPE_F32 ? 4 : 2;
    void *raw = check_alloc(n * bytes);
    double *out = check_alloc(n * sizeof *out);
    cudaCheck(cudaMemcpy(raw, from, n * bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        float value;
        if (t == DTYPE_F32) {
            out[i] = (double)((float *)raw)[i];
        } else if (t == DTYPE_BF16) {
            bits = (uint32_t)((uint16_t *)raw)[i] << 16;
            memcpy(&value, &bits, sizeof value);
            out[i] = (double)value;
        } else {
            out[i] = (double)((_Float16 *)raw)[i];
        }
    }
    free(raw);
    return out;
}

static double mean_of(const struct model *m)
{
    float *losses = check_alloc((size_t)m->tokens * sizeof *losses);
    double sum = 0;
    cudaCheck(
        cudaMemcpy(losses, m->losses, (size_t)m->tokens * sizeof *losses, cudaMemcpyDeviceToHost));
    for (int i = 0; i < m->tokens; i++)
        sum += (double)losses[i] / m->tokens;
    free(losses);
    return sum;
}

/* One step of a fresh model; `m` stays open. */
static struct step step_of(struct model *m, const struct config *c)
{
    int rows = c->batch * c->context;
    struct data d = data_open(c->vocab, rows, c->context, c->seed);
    int32_t *scratch = check_alloc((size_t)c->vocab * sizeof *scratch);
    struct step s = {.batch = check_alloc(data_bytes(rows))};
    model_open(m, c, data_bytes(rows));
    data_batch(&d, s.batch, scratch);
    free(scratch);
    cudaCheck(cudaMemcpy(m->staged[0], s.batch, data_bytes(rows), cudaMemcpyHostToDevice));
    s.count = m->count;
    cudaCheck(cudaDeviceSynchronize());
    s.before = fetch(m, m->master, DTYPE_F32);
    model_forward(m, 0);
    model_backward(m, 0);
    cudaCheck(cudaDeviceSynchronize());
    s.loss = mean_of(m);
    s.gradient = fetch(m, m->gradient, m->type);
    model_clip(m);
    model_update(m);
    cudaCheck(cudaDeviceSynchronize());
    s.after = fetch(m, m->master, DTYPE_F32);
    return s;
}

static void step_free(struct step *s)
{
    free(s->gradient);
    free(s->before);
    free(s->after);
    free(s->batch);
}

/* ---- against the reference ---- */

static double along(const double *g, const double *u, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += g[i] * u[i];
    return sum;
}

static double length_of(const double *v, size_t n)
{
    return sqrt(along(v, v, n));
}

/* Change of the reference's loss per step along `u` (of one tensor), to second order. */
static double slope(const struct model *m, struct step *s, const struct tensor *t, const double *u)
{
    double *w = s->before + t->offset, by = 1e-4 / length_of(u, t->count), loss[2];
    for (int side = 0; side < 2; side++) {
        double step = side ? by : -by;
        for (size_t i = 0; i < t->count; i++)
            w[i] += step * u[i];
        loss[side] = gpt_reference_loss(m, s->before, s->batch);
        for (size_t i = 0; i < t->count; i++)
            w[i] -= step * u[i];
    }
    return (loss[1] - loss[0]) / (2 * by);
}

static void check_tensor(const struct model *m, struct step *s, int index, const char *name)
{
    const struct tensor *t = &m->tensors[index];
    const double *g = s->gradient + t->offset;
    double *u = check_alloc(t->count * sizeof *u), size = length_of(g, t->count);
    double own = slope(m, s, t, g);
    say(fabs(own - size * size) <= 0.005 * size * size && size > 0, "gradient along itself", name,
        fabs(own / (size * size) - 1), 0.005);
    for (size_t i = 0; i < t->count; i++)
        u[i] = (i * 2654435761u >> 13 & 1) ? 1 : -1;
    double random = slope(m, s, t, u), said = along(g, u, t->count);
    say(fabs(random - said) <= 0.01 * size, "gradient along another way", name,
        fabs(random - said) / size, 0.01);
    free(u);
}

static void check_gradients(void)
{
    struct config c = tiny();
    struct model *m = check_alloc(sizeof *m);
    struct step s = step_of(m, &c);
    double loss = gpt_reference_loss(m, s.before, s.batch);
    say(fabs(s.loss - loss) < 1e-4 * loss, "loss", "fp32", fabs(s.loss / loss - 1), 1e-4);
    check_tensor(m, &s, m->wte, "wte");
    check_tensor(m, &s, m->wpe, "wpe");
    check_tensor(m, &s, m->head, "head");
    check_tensor(m, &s, m->norm_g, "norm_g");
    check_tensor(m, &s, m->norm_b, "norm_b");
    const struct layer *l = &m->layers[0];
    const struct {
        int index;
        const char *name;
    } of[] = {{l->qkv_w, "qkv_w"},     {l->attention_w, "attention_w"},
              {l->up_w, "up_w"},       {l->down_w, "down_w"},
              {l->norm1_g, "norm1_g"}, {l->norm1_b, "norm1_b"},
              {l->qkv_b, "qkv_b"},     {l->attention_b, "attention_b"},
              {l->norm2_g, "norm2_g"}, {l->norm2_b, "norm2_b"},
              {l->up_b, "up_b"},       {l->down_b, "down_b"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        check_tensor(m, &s, of[i].index, of[i].name);
    step_free(&s);
    model_close(m);
    free(m);
}

/* ---- against each other ---- */

static double difference(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum) / length_of(b, n);
}

/* Another way to the same step. Gradients carry the loss scale in fp16. */
static void same(const struct step *plain, const char *what, const struct config *c,
                 double gradient, double weights)
{
    struct model *m = check_alloc(sizeof *m);
    struct step s = step_of(m, c);
    double scale = c->precision == PRECISION_FP16 ? 1024 : 1;
    size_t n = s.count < plain->count ? s.count : plain->count;
    for (size_t i = 0; i < s.count; i++)
        s.gradient[i] /= scale;
    double loss = fabs(s.loss / plain->loss - 1), g = difference(s.gradient, plain->gradient, n);
    double w = difference(s.after, plain->after, n);
    say(loss <= gradient, what, "loss", loss, gradient);
    say(g <= gradient, what, "gradients", g, gradient);
    say(w <= weights, what, "weights", w, weights);
    step_free(&s);
    model_close(m);
    free(m);
}

/* AdamW's first step, by the formula, clipped by the norm of all gradients. */
static void check_update(const struct step *s, const struct config *c, size_t decayed)
{
    double norm = length_of(s->gradient, s->count);
    double by = norm > (double)c->clip_norm ? (double)c->clip_norm / norm : 1, worst = 0;
    for (size_t i = 0; i < s->count; i++) {
        double g = s->gradient[i] * by, rate = (double)c->learning_rate;
        double w = s->before[i] * (i < decayed ? 1 - rate * (double)c->weight_decay : 1);
        w -= rate * g / (fabs(g) + 1e-8); /* both corrected moments of a first step */
        double off = fabs(w - s->after[i]);
        worst = off > worst ? off : worst;
    }
    say(worst < 1e-6, "update", "AdamW", worst, 1e-6);
}

static void check_ways(void)
{
    struct config plain = tiny(), c;
    struct model *m = check_alloc(sizeof *m);
    struct step s = step_of(m, &plain);
    check_update(&s, &plain, m->decayed);
    const struct {
        const char *what;
        int *field;
        int value;
        double gradient, weights;
    } ways[] = {
        {"unfused", &c.fuse_pointwise, 0, 1e-4, 1e-4},
        {"checkpointing", &c.checkpoint, 1, 1e-6, 1e-6},
        {"allocating per step", &c.alloc_per_step, 1, 1e-6, 1e-6},
        {"optimizer foreach", &c.optimizer, OPTIMIZER_FOREACH, 1e-6, 1e-6},
        {"optimizer loop", &c.optimizer, OPTIMIZER_LOOP, 1e-6, 1e-6},
        {"clipping per tensor", &c.clip, CLIP_PER_TENSOR, 1e-6, 1e-5},
        {"clipping on the host", &c.clip, CLIP_SYNC, 1e-6, 1e-5},
        {"tf32", &c.precision, PRECISION_TF32, 0.02, 0.02},
        {"bf16", &c.precision, PRECISION_BF16, 0.1, 0.1},
        {"fp16", &c.precision, PRECISION_FP16, 0.05, 0.05},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        c = plain;
        *ways[i].field = ways[i].value;
        same(&s, ways[i].what, &c, ways[i].gradient, ways[i].weights);
    }
    step_free(&s);
    model_close(m);
    free(m);
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
    check_ways();
    check_gradients();
    printf("%d failed\n", failures);
    return failures != 0;
}
