/* The edit "batch": a larger batch. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"

#include <math.h>

/* Returns how many blocks of the kernel one multiprocessor holds at a time, or ASSUMED_RESIDENT if
 * its registers were not recorded. */
static double resident(const struct facts *f, const struct op *o)
{
    int64_t n = o->registers ? query_resident_blocks(f, o) : 0;
    return n ? (double)n : ASSUMED_RESIDENT;
}

static double waves(double blocks, double wave, int times)
{
    double by = ceil(blocks * times / wave) / ceil(blocks / wave);
    return by < times ? by : times;
}

/* Returns the factor on a kernel's time for `times` the work. If its blocks fill the device several
 * times, it is `times`. Otherwise the blocks run in whole waves: at best a wave has as many blocks
 * as are resident, at worst one per multiprocessor, because one block may keep it busy. */
static double by_waves(const struct facts *f, const struct op *o, int times, const struct draw *d)
{
    double processors = f->device ? (double)f->device->sm_count : 0;
    double blocks = (double)o->grid[0] * o->grid[1] * o->grid[2];
    double wave = processors * resident(f, o);
    if (blocks <= 0 || wave <= 0 || blocks >= 4 * wave)
        return times;
    double worst = blocks >= processors ? times : waves(blocks, processors, times);
    return draw_between(d, 0, waves(blocks, wave, times), worst);
}

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    if (g->tasks[i].kind == TASK_LOAD)
        return true;
    bool update = edit_op(g, i) && (edit_exchange(g, i) || edit_updates(g, i));
    return edit_op(g, i) && (x->batch.same_update || !update);
}

/* With `times` the batch, kernels, copies and loading grow; launches, the update and the exchange
 * of gradients stay. p->work makes the engine compare times per sample. With same_update the samples
 * of an update stay the same, and so does its time per sample: it takes `times` as long here. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    int times = x->batch.times > 1 ? x->batch.times : 1;
    p->work *= times;
    uint32_t i;
    for (size_t k = 0; edit_next(x, g, &k, &i);) {
        const struct op *o = edit_op(g, i);
        if (!o) {
            p->dur[i] *= times;
            continue;
        }
        bool grows = o->kind == OP_KERNEL && !edit_exchange(g, i) && !edit_updates(g, i);
        double by = grows ? by_waves(g->a, o, times, d) : times;
        int64_t ramp = p->dur[i] < ASSUMED_FLOOR_NS ? p->dur[i] : ASSUMED_FLOOR_NS;
        p->dur[i] = ramp + (int64_t)((double)(p->dur[i] - ramp) * by);
    }
}

const struct edit_kind edit_batch = {
    .name = "batch",
    .apply = apply,
    .touches = touches,
};
