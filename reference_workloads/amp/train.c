/* train_amp: train_conv's network in mixed precision with dynamic loss scaling.
 *
 * Weights are kept in FP32 (the masters that the update changes) and in 16 bits (what cuDNN reads).
 * The loss is multiplied by a scale, so that small gradients survive in fp16. A step is
 *
 *   casts      on request: the 16-bit weights, made anew
 *   forward, backward
 *   scaler     did any gradient overflow?
 *   optimizer  unscales and updates, unless one did; writes the 16-bit weights, too
 *   scaler     halves the scale after an overflow, doubles it when there was none for long
 *
 * As a framework would: with scaler=fused all of it stays on the device. In bf16 and FP32 nothing
 * is scaled. The loop around it is train_conv's; it ends with `pace_step_ms=...` and
 * `median_step_ms=...`. */
#include "reference_workloads/amp/config.h"
#include "reference_workloads/amp/kernels.h"
#include "reference_workloads/common/clock.h"
#include "reference_workloads/common/nvtx.h"
#include "reference_workloads/conv/trainer.h"

#include <stdio.h>
#include <stdlib.h>

struct amp {
    struct amp_config config;
    struct loss_scale seen; /* scaler=sync: the host keeps the scale */
    int step;
};

static void cast_weights(struct model *m)
{
    nvtx_push("casts");
    for (int i = 0; i < m->tensor_count; i++) {
        const struct tensor *t = &m->tensors[i];
        const struct group *g = &m->groups[t->group];
        if (!g->working)
            continue;
        model_host_overhead(m);
        kernel_weight_cast(m->stream, g->type, g->master + t->offset,
                           (char *)g->working + t->offset * dtype_bytes(g->type), t->count);
    }
    nvtx_pop();
}

static void check_each_tensor(struct model *m)
{
    for (int i = 0; i < m->tensor_count; i++) {
        model_host_overhead(m);
        kernel_check_finite(m->stream, m->groups[m->tensors[i].group].type, model_gradient(m, i),
                            m->scale, m->tensors[i].count);
    }
}

/* The host waits for the answer and decides; 1 when the step is to be left out. */
static int overflowed(struct amp *a, struct model *m)
{
    struct loss_scale now;
    cudaCheck(cudaMemcpy(&now, m->scale, sizeof now, cudaMemcpyDeviceToHost));
    clock_spin_us(a->config.conv.log_work_us);
    if (now.found_inf)
        a->seen.scale = a->seen.scale > 2 ? a->seen.scale / 2 : 1;
    else if (++a->seen.good_steps >= a->config.growth_interval)
        a->seen.scale = a->seen.scale < 8388608 ? a->seen.scale * 2 : 16777216;
    else
        return 0;
    a->seen.good_steps = 0;
    model_host_overhead(m);
    kernel_amp_set_scale(m->stream, m->scale, a->seen.scale);
    return now.found_inf;
}

static void update(struct amp *a, struct model *m)
{
    int scaler = a->config.scaler;
    nvtx_push("scaler");
    if (scaler == SCALER_PER_TENSOR)
        check_each_tensor(m);
    else
        model_check_gradients(m);
    int skip = scaler == SCALER_SYNC && overflowed(a, m);
    nvtx_pop();
    nvtx_push("optimizer");
    if (!skip)
        model_apply(m);
    nvtx_pop();
    if (scaler == SCALER_SYNC)
        return;
    nvtx_push("scaler");
    model_host_overhead(m);
    kernel_amp_update_scale(m->stream, m->scale, a->config.growth_interval);
    nvtx_pop();
}

static void compute(struct trainer *t, int which)
{
    struct amp *a = t->arg;
    struct model *m = &t->model;
    int every = a->config.overflow_every;
    if (a->config.weight_casts)
        cast_weights(m);
    if (t->config.zero_grad == ZERO_GRAD_MEMSET)
        model_zero_gradients(m);
    nvtx_push("forward");
    model_forward(m, which, 0);
    nvtx_pop();
    nvtx_push("backward");
    model_backward(m);
    nvtx_pop();
    if (every > 0 && ++a->step % every == 0)
        kernel_amp_overflow(m->stream, m->type, m->groups[GROUP_WEIGHTS].gradient);
    if (t->config.precision == PRECISION_FP16) {
        update(a, m);
        return;
    }
    nvtx_push("optimizer");
    model_apply(m);
    nvtx_pop();
}

int main(int argc, char **argv)
{
    static struct trainer t;
    static struct amp a;
    setvbuf(stdout, NULL, _IOLBF, 0);
    amp_config_read(&a.config, argc, argv);
    nvtx_enable(!a.config.conv.no_nvtx);
    t.config = a.config.conv;
    t.compute = compute;
    t.arg = &a;
    trainer_open(&t, 0);
    amp_config_print(&a.config);
    t.model.casts_elsewhere = a.config.weight_casts;
    if (t.config.precision == PRECISION_FP16) {
        a.seen.scale = a.config.initial_scale;
        kernel_amp_set_scale(t.model.stream, t.model.scale, a.seen.scale);
    }
    int steps = t.config.steps, warmup = t.config.warmup < steps ? t.config.warmup : 0;
    int64_t *step_ns = check_alloc((size_t)steps * sizeof *step_ns);
    trainer_run(&t, step_ns);
    if (t.config.precision == PRECISION_FP16 && !t.is_virtual) {
        struct loss_scale end;
        cudaCheck(cudaMemcpy(&end, t.model.scale, sizeof end, cudaMemcpyDeviceToHost));
        printf("loss scale %.0f, %d steps since it changed\n", (double)end.scale,
               a.config.scaler == SCALER_SYNC ? a.seen.good_steps : end.good_steps);
    }
    trainer_close(&t);
    printf("pace_step_ms=%.3f\n",
           (double)pace_ns(step_ns + warmup, (size_t)(steps - warmup)) / 1e6);
    printf("median_step_ms=%.3f\n", trainer_median_ms(&t, step_ns));
    free(step_ns);
    return 0;
}
