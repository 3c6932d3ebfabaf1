/* Estimates how long the loops of a warp last that was stopped before its end. */
#include "ptx/ptx_warp.h"

#include <math.h>
#include <stdlib.h>

void ptx_loop_turns(struct ptx_loop *l, double difference, double ran)
{
    double step = difference - l->last;
    if (l->turns == 0) {
        l->first = difference;
        l->ran_first = ran;
    } else if (l->turns == 1) {
        l->step = step;
    } else {
        l->uneven |= step < l->step || step > l->step;
    }
    l->last = difference;
    l->ran_last = ran;
    l->turns++;
}

static bool tells(const struct ptx_loop *l)
{
    return l->turns >= 2 && !l->uneven && fabs(l->last) < fabs(l->first);
}

/* The comparison that shows how far a loop is: usually the one that decides on another turn. If
 * that one compares a flag that stays the same (a kernel that fetches its next tile and notes
 * whether there is one), it is a branch inside that is passed once in each turn. NULL: none. */
static const struct ptx_loop *telling(const struct ptx_run *r, int end)
{
    const struct ptx_loop *l = &r->loop[end];
    bool flag = l->turns >= 2 && !l->uneven && fabs(l->last - l->first) == 0;
    if (!flag)
        return tells(l) ? l : NULL;
    for (int i = r->k->inst[end].target; i < end; i++) {
        const struct ptx_inst *x = &r->k->inst[i];
        if (x->op == OP_BRANCH && x->target > i && tells(&r->loop[i]) &&
            abs(r->loop[i].turns - l->turns) <= 1)
            return &r->loop[i];
    }
    return NULL;
}

/* Instructions that are left of such a loop, beside those since its last turn. */
static double left_of(const struct ptx_run *r, const struct ptx_loop *l)
{
    double turns = l->last / (l->first - l->last) * (l->turns - 1);
    double each = (l->ran_last - l->ran_first) / (l->turns - 1);
    return turns * each - (r->sum->instructions - l->ran_last);
}

/* Uses the outermost loop that has turned at least twice by equal steps. A loop over a list in
 * memory, or one that was entered again, shows nothing. `first` is the distance left after its
 * first turn, `last` after its last one. */
double ptx_stretch(const struct ptx_run *r)
{
    double left = 0;
    int outermost = r->k->inst_count;
    for (int i = 0; i < r->k->inst_count; i++) {
        const struct ptx_inst *x = &r->k->inst[i];
        const struct ptx_loop *l =
            x->op == OP_BRANCH && x->target <= i && x->target <= outermost ? telling(r, i) : NULL;
        if (!l)
            continue;
        outermost = x->target;
        left = left_of(r, l);
    }
    return left > 0 ? 1 + left / r->sum->instructions : 1;
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

bool ptx_skips_loop(const struct ptx_run *r, int at)
{
    for (int i = at + 1; i < r->k->inst[at].target; i++) {
        const struct ptx_inst *x = &r->k->inst[i];
        if (x->op == OP_BRANCH && x->target > at && x->target <= i)
            return true;
    }
    return false;
}
