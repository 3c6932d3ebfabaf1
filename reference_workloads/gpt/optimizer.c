/* Clipping of gradients by the norm of all of them, and AdamW: one kernel for everything (fused),
 * six passes over everything (foreach), six small kernels for every tensor (loop).
 *
 * The fused forms never leave the device: two kernels make the norm, one thread turns it into a
 * factor, and the update multiplies by it. */
#include "reference_workloads/gpt/model.h"

#include "reference_workloads/common/clock.h"
#include "reference_workloads/common/nvtx.h"

static size_t chunks(size_t n)
{
    return (n + NORM_CHUNK - 1) / NORM_CHUNK;
}

static void total_norm(struct model *m, size_t partials)
{
    model_host_overhead(m);
    kernel_gradient_norm(m->stream, m->partial, partials, m->plan, m->scale);
}

static void norm_of_all(struct model *m)
{
    model_host_overhead(m);
    kernel_gradient_squares(m->stream, m->type, m->gradient, m->partial, m->count);
    total_norm(m, chunks(m->count));
}

/* As loops over parameters do it: a norm and a multiplication for each. */
static void clip_per_tensor(struct model *m)
{
    size_t partials = 0;
    for (int i = 0; i < m->tensor_count; i++) {
        model_host_overhead(m);
        kernel_gradient_squares(m->stream, m->type, model_gradient(m, i), m->partial + partials,
                                m->tensors[i].count);
        partials += chunks(m->tensors[i].count);
    }
    total_norm(m, partials);
    for (int i = 0; i < m->tensor_count; i++) {
        model_host_overhead(m);
        kernel_clip_gradient(m->stream, m->type, model_gradient(m, i), m->plan,
                             m->config->clip_norm, m->tensors[i].count);
    }
}

/* As `if norm > limit` does it: the host waits for the number, and may log it. */
static void clip_on_host(struct model *m)
{
    struct update_plan seen;
    norm_of_all(m);
    cudaCheck(cudaMemcpy(&seen, m->plan, sizeof seen, cudaMemcpyDeviceToHost));
    clock_spin_us(m->config->log_work_us);
    if (seen.norm > m->config->clip_norm) {
        model_host_overhead(m);
        kernel_scale_gradient(m->stream, m->type, m->gradient, m->config->clip_norm / seen.norm,
                              m->count);
    }
}

void model_clip(struct model *m)
{
    int how = m->config->clip;
    if (how == CLIP_NONE)
        return;
    nvtx_push("clip");
    if (how == CLIP_FUSED)
        norm_of_all(m);
    else if (how == CLIP_PER_TENSOR)
        clip_per_tensor(m);
    else
        clip_on_host(m);
    nvtx_pop();
}

/* `s` in the six passes that fusion makes one. */
static void update_in_passes(struct model *m, const struct adamw *o, const struct adamw_state *s)
{
    model_host_overhead(m);
    kernel_adamw_unscale(m->stream, m->type, o, s);
    model_host_overhead(m);
    kernel_adamw_first(m->stream, o, s);
    model_host_overhead(m);
    kernel_adamw_second(m->stream, o, s);
    model_host_overhead(m);
    kernel_adamw_root(m->stream, o, s);
    model_host_overhead(m);
    kernel_adamw_step(m->stream, o, s);
    if (s->working) {
        model_host_overhead(m);
        kernel_adamw_cast(m->stream, m->type, s);
    }
}

static struct adamw_state state_from(const struct model *m, size_t offset, size_t n)
{
    size_t bytes = offset * model_type_bytes(m);
    return (struct adamw_state){m->master + offset,
                                m->moment1 + offset,
                                m->moment2 + offset,
                                (char *)m->gradient + bytes,
                                m->working ? (char *)m->working + bytes : NULL,
                                m->scratch ? m->scratch + offset : NULL,
                                offset,
                                n};
}

static void update_all(struct model *m, const struct adamw *o)
{
    struct adamw_state all = state_from(m, 0, m->count);
    switch ((enum optimizer)m->config->optimizer) {
    case OPTIMIZER_FUSED:
        model_host_overhead(m);
        kernel_adamw_fused(m->stream, m->type, o, &all);
        return;
    case OPTIMIZER_FOREACH:
        update_in_passes(m, o, &all);
        return;
    case OPTIMIZER_LOOP:
        for (int i = 0; i < m->tensor_count; i++) {
            all = state_from(m, m->tensors[i].offset, m->tensors[i].count);
            update_in_passes(m, o, &all);
        }
    }
}

void model_update(struct model *m)
{
    const struct config *c = m->config;
    const struct adamw o = {c->learning_rate, 0.9f,       0.95f,  1e-8f,
                            c->weight_decay,  m->decayed, m->plan};
    int scaled = c->precision == PRECISION_FP16;
    if (scaled) {
        model_host_overhead(m);
        kernel_check_finite(m->stream, m->type, m->gradient, m->scale, m->count);
    }
    model_host_overhead(m);
    kernel_plan_update(m->stream, m->plan, m->scale, &o,
                       c->clip == CLIP_FUSED ? c->clip_norm : 0.0f);
    update_all(m, &o);
    if (scaled) {
        model_host_overhead(m);
        kernel_update_scale(m->stream, m->scale);
    }
}
