/* SGD with momentum in three forms: one kernel for everything (fused), five passes over everything
 * (foreach), five small kernels for every tensor (loop). And zeroing of gradients.
 */
#include "reference_workloads/conv/model.h"

/* `count` elements of a group from `offset` on, in the five passes that fusion makes one. */
static void update_in_passes(struct model *m, const struct sgd *o, const struct group *g,
                             size_t offset, size_t count)
{
    float *w = g->master + offset, *v = g->momentum + offset;
    char *gradient = (char *)g->gradient + offset * dtype_bytes(g->type);
    float *d = (float *)(void *)gradient;
    if (g->type != DTYPE_F32 || o->decay > 0 || m->config->precision == PRECISION_FP16) {
        d = m->scratch + offset;
        model_host_overhead(m);
        kernel_sgd_unscale(m->stream, g->type, o, w, gradient, d, count);
    }
    model_host_overhead(m);
    kernel_sgd_decay_momentum(m->stream, o, v, count);
    model_host_overhead(m);
    kernel_sgd_add_gradient(m->stream, o, v, d, count);
    model_host_overhead(m);
    kernel_sgd_update(m->stream, o, w, v, count);
    if (g->working && !m->casts_elsewhere) {
        model_host_overhead(m);
        kernel_sgd_cast(m->stream, g->type, w, (char *)g->working + offset * dtype_bytes(g->type),
                        count);
    }
}

void model_check_gradients(struct model *m)
{
    for (int i = 0; i < GROUP_COUNT; i++) {
        model_host_overhead(m);
        kernel_check_finite(m->stream, m->groups[i].type, m->groups[i].gradient, m->scale,
                            m->groups[i].count);
    }
}

void model_apply(struct model *m)
{
    const struct config *c = m->config;
    const struct sgd o = {c->learning_rate, c->momentum, c->weight_decay, m->scale};
    for (int i = 0; i < GROUP_COUNT && c->optimizer != OPTIMIZER_LOOP; i++) {
        const struct group *g = &m->groups[i];
        if (c->optimizer == OPTIMIZER_FOREACH) {
            update_in_passes(m, &o, g, 0, g->count);
            continue;
        }
        model_host_overhead(m);
        kernel_sgd_fused(m->stream, g->type, &o, g->master, g->momentum, g->gradient,
                         m->casts_elsewhere ? NULL : g->working, g->count);
    }
    for (int i = 0; i < m->tensor_count && c->optimizer == OPTIMIZER_LOOP; i++) {
        const struct tensor *t = &m->tensors[i];
        update_in_passes(m, &o, &m->groups[t->group], t->offset, t->count);
    }
}

void model_update(struct model *m)
{
    int scaled = m->config->precision == PRECISION_FP16;
    if (scaled)
        model_check_gradients(m);
    model_apply(m);
    if (scaled) {
        model_host_overhead(m);
        kernel_update_scale(m->stream, m->scale);
    }
}

void model_zero_gradients(struct model *m)
{
    if (m->config->zero_grad == ZERO_GRAD_NONE)
        return;
    for (int i = 0; i < m->tensor_count; i++) {
        size_t bytes = m->tensors[i].count * dtype_bytes(m->groups[m->tensors[i].group].type);
        model_host_overhead(m);
        cudaCheck(cudaMemsetAsync(model_gradient(m, i), 0, bytes, m->stream));
    }
}
