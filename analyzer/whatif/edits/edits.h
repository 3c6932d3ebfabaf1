/* What the kinds of edits share (see edit.h): how one is applied to a plan, draws, work and its
 * launch. */
#ifndef GPUPROF_WHATIF_EDITS_EDITS_H
#define GPUPROF_WHATIF_EDITS_EDITS_H

#include "analyzer/replay/replay.h"
#include "analyzer/whatif/edits/edit.h"
#include "analyzer/whatif/edits/limits.h"

enum { DRAW_DIMENSIONS = 3 };

struct draw { /* where in its range each unknown lies: 0 good luck, 1 bad luck */
    double u[DRAW_DIMENSIONS];
};

static inline void edit_apply(const struct edit *x, const struct graph *g, struct plan *p,
                              const struct draw *d)
{
    if (x->kind)
        x->kind->apply(x, g, p, d);
}

/* All kinds, by name: for tests. */
extern const struct edit_kind *const edit_kinds[];
extern const size_t edit_kind_count;

/* Shared by the edits. */
static inline double draw_between(const struct draw *d, int dimension, double good, double bad)
{
    return good + (bad - good) * d->u[dimension];
}
/* The same where one value is the likeliest: as often better as worse. */
static inline double draw_around(const struct draw *d, int dimension, double good, double likely,
                                 double bad)
{
    double u = d->u[dimension];
    return u < 0.5 ? good + (likely - good) * 2 * u : likely + (bad - likely) * (2 * u - 1);
}
static inline double draw_span(const struct draw *d, int dimension, struct limit_span s)
{
    return draw_between(d, dimension, s.good, s.bad);
}
static inline double draw_range(const struct draw *d, int dimension, struct limit_range r)
{
    return draw_around(d, dimension, r.good, r.likely, r.bad);
}
/* The operation behind task i, NULL when it is none. */
static inline const struct op *edit_op(const struct graph *g, uint32_t i)
{
    const struct task *t = &g->tasks[i];
    return t->kind >= TASK_KERNEL && t->kind <= TASK_COLL ? &g->a->tl->ops[t->source] : NULL;
}
/* Exchanges of gradients: what may be moved, gathered or made seldom. */
static inline bool edit_exchange(const struct graph *g, uint32_t i)
{
    return g->tasks[i].kind == TASK_COLL &&
           g->a->tl->ops[g->tasks[i].source].comm == COMM_GRADIENTS;
}

/* Removes GPU work together with its launch and the host's pause before that: a short one, for a
 * bound any. */
void edit_drop(const struct graph *g, struct plan *p, uint32_t i);
/* The same with a part of the pause: the rest is of operators that stay. */
void edit_drop_with(const struct graph *g, struct plan *p, uint32_t i, double part);
/* The same, but the pause stays: a library launched it inside a call that the program still makes.
 * False: others were launched with it, so their call stays as well. */
bool edit_drop_launched(const struct graph *g, struct plan *p, uint32_t i);

/* What is left of an FP32 kernel's time on tensor cores (tensor.c), where these reach `share`
 * of the share of the peak rate that it reached. */
double edit_on_tensor_cores(const struct graph *g, double share);
/* The same of the kernel of task i, by what is known of it and of its call (x->at.op_calls): in 16
 * bits, or in TF32 (x->precision.tf32). */
double edit_matrix_left(const struct edit *x, const struct graph *g, uint32_t i,
                        const struct draw *d);

/* The library call behind task i; NULL: not known, as always without x->at.op_calls. */
const struct call *edit_call(const struct edit *x, const struct graph *g, uint32_t i);
/* Did the library launch it for a call whose tensors are in NHWC already? */
bool edit_in_nhwc(const struct edit *x, const struct graph *g, uint32_t i);
/* Does task i convert the layout of images for a call that was given NCHW? False without
 * x->at.op_calls. */
bool edit_converts(const struct edit *x, const struct graph *g, uint32_t i);

/* Is the edit about this operation? */
bool edit_picks(const struct edit *x, const struct graph *g, uint32_t op);

/* Does the task belong to the update of the parameters, or to the zeroing of their gradients? */
bool edit_updates(const struct graph *g, uint32_t i);

/* copies.c: uploads of batches from that memory (enum memory_kind) wait for nothing. same_stream:
 * they stay on the stream that computes. rate: bytes per ns that they then reach, 0: as recorded.
 */
void edit_copies(const struct graph *g, struct plan *p, uint8_t from, bool same_stream,
                 double rate);

#endif
