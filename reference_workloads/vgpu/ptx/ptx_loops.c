/* How long the loops are of a warp that was stopped before its end. */
#include "reference_workloads/vgpu/ptx/ptx_warp.h"

#include <math.h>

void ptx_loop_turns(struct ptx_loop *l, double difference)
{
    double step = difference - l->last;
    if (l->turns == 0)
        l->first = difference;
    else if (l->turns == 1)
        l->step = step;
    else
        l->uneven |= step < l->step || step > l->step;
    l->last = difference;
    l->turns++;
}

/* By the outermost loop that has turned at least twice, by equal steps: one that goes through a
 * list in memory, or was entered again, says nothing. After its first turn `first` was left to go,
 * after the last one `last`. */
double ptx_stretch(const struct ptx_run *r)
{
    double share = 1;
    int outermost = r->k->inst_count;
    for (int i = 0; i < r->k->inst_count; i++) {
        const struct ptx_loop *l = &r->loop[i];
        double way = l->first - l->last;
        if (l->turns < 2 || l->uneven || r->k->inst[i].target > outermost ||
            fabs(l->last) >= fabs(l->first))
            continue;
        outermost = r->k->inst[i].target;
        share = l->turns / (l->first / way * (l->turns - 1) + 1);
    }
    return share > 0 && share < 1 ? 1 / share : 1;
}

bool ptx_too_early(const struct ptx_run *r, int at)
{
    int outermost = r->k->inst_count;
    const struct ptx_loop *around = NULL;
    for (int i = at; i < r->k->inst_count; i++) {
        const struct ptx_inst *x = &r->k->inst[i];
        if (x->op == OP_BRANCH && x->target <= at && x->target < outermost) {
            outermost = x->target;
            around = &r->loop[i];
        }
    }
    return around && around->turns < 2;
}
