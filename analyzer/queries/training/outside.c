/* Marks work of a training loop that is outside of the model's modules. */
#include "analyzer/queries/training/outside.h"

#include "analyzer/measure/ranges.h"
#include "analyzer/queries/query.h"
#include "analyzer/timeline/name_test.h"

#include <string.h>

/* True for operators of losses and their backward passes, by PyTorch's own names (aten::mse_loss,
 * MseLossBackward0, BinaryCrossEntropyWithLogitsBackward0, nn.Module: MSELoss_0). */
static bool of_loss(const char *name)
{
    bool backward = strstr(name, "Backward") != NULL;
    return (strncmp(name, "aten::", 6) == 0 && strstr(name, "_loss")) ||
           (strncmp(name, "aten::", 6) == 0 && strstr(name, "cross_entropy")) ||
           (backward && (strstr(name, "Loss") || strstr(name, "CrossEntropy"))) ||
           (strncmp(name, "nn.Module: ", 11) == 0 && strstr(name, "Loss")) ||
           strstr(name, "torch/nn/modules/loss.py(");
}

static bool in_loss(const struct timeline *t, struct name_test *loss, uint32_t api)
{
    const struct api *c = &t->apis[api];
    uint32_t i = range_at(t, c->thread, c->start_ns);
    for (; i != TL_NONE; i = t->ranges[i].parent)
        if (name_test(loss, t->ranges[i].name))
            return true;
    return false;
}

const bool *query_outside_model(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    bool *outside = arena_array(arena, t->op_count + 1, sizeof *outside);
    struct name_test loss = name_test_open(t, of_loss);
    for (uint32_t i = 0; outside && i < t->op_count; i++)
        outside[i] = query_is_optimizer(f, i) != QUERY_NO || query_is_zeroing(f, i) != QUERY_NO ||
                     t->ops[i].class.family == FAMILY_LOSS ||
                     (t->ops[i].api != TL_NONE && in_loss(t, &loss, t->ops[i].api));
    name_test_close(&loss);
    return outside;
}
