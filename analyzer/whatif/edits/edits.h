/* What the kinds of edits share: applying an edit to a plan, drawing parameters, and dropping work
 * with its launch. See edit.h. */
#ifndef GPUPROF_WHATIF_EDITS_EDITS_H
#define GPUPROF_WHATIF_EDITS_EDITS_H

#include "analyzer/replay/replay.h"
#include "analyzer/whatif/edits/edit.h"
#include "analyzer/whatif/edits/limits.h"

enum { DRAW_DIMENSIONS = 3 };

/* Where in its range each parameter lies: 0 is the good end, 1 the bad end. */
struct draw {
    double u[DRAW_DIMENSIONS];
};

static inline void edit_apply(const struct edit *x, const struct graph *g, struct plan *p,
                              const struct draw *d)
{
    if (x->kind)
        x->kind->apply(x, g, p, d);
}

/* Finds once which tasks the edit touches: an edit is applied some thirty times, and most kinds touch
 * few of the tasks. Without memory, or for a kind without `touches`, apply() goes through all. */
void edit_find(struct edit *x, const struct graph *g, struct arena *arena);
/* Sets *i to the next task that the edit touches; *k counts from 0. */
static inline bool edit_next(const struct edit *x, const struct graph *g, size_t *k, uint32_t *i)
{
    if (x->tasks)
        return *k < x->task_count && (*i = x->tasks[(*k)++], true);
    while (*k < g->count)
        if (x->kind->touches(x, g, *i = (uint32_t)(*k)++))
            return true;
    return false;
}

/* All kinds, sorted by name; for tests. */
extern const struct edit_kind *const edit_kinds[];
extern const size_t edit_kind_count;

/* Returns the parameter between its good and its bad end. */
static inline double draw_between(const struct draw *d, int dimension, double good, double bad)
{
    return good + (bad - good) * d->u[dimension];
}
/* The same with a likely value in between: half of the draws are better, half are worse. */
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
/* Returns the operation of task i, or NULL if it is none. */
static inline const struct op *edit_op(const struct graph *g, uint32_t i)
{
    const struct task *t = &g->tasks[i];
    return t->kind >= TASK_KERNEL && t->kind <= TASK_COLL ? &g->a->tl->ops[t->source] : NULL;
}
/* True for collectives that exchange gradients: edits may move, join or skip these. */
static inline bool edit_exchange(const struct graph *g, uint32_t i)
{
    return g->tasks[i].kind == TASK_COLL &&
           g->a->tl->ops[g->tasks[i].source].comm == COMM_GRADIENTS;
}

/* Removes GPU work with its launch and with the host's pause before the launch, if the pause is
 * short (ASSUMED_PAUSE_NS); for an upper bound with any pause. */
void edit_drop(const struct graph *g, struct plan *p, uint32_t i);
/* The same, but removes only the share `part` of the pause: the rest belongs to operators that
 * stay. */
void edit_drop_with(const struct graph *g, struct plan *p, uint32_t i, double part);
/* Removes the share `part` of the host's pause before a call, by the same rule. */
void edit_drop_pause(const struct graph *g, struct plan *p, uint32_t call, double part);
/* As edit_drop(), but keeps the pause: a library launched the work inside a call that the program
 * still makes. Returns false if the call launched other work too and therefore stays. */
bool edit_drop_launched(const struct graph *g, struct plan *p, uint32_t i);

/* Returns the share of an FP32 kernel's time that remains on tensor cores (tensor.c). `share`:
 * which part of the relative speed that it had in FP32 it keeps there. */
double edit_on_tensor_cores(const struct graph *g, double share);
/* The same for the kernel of task i, using what is known of it and of its library call
 * (x->at.op_calls): in 16 bits, or in TF32 (x->precision.tf32). */
double edit_matrix_left(const struct edit *x, const struct graph *g, uint32_t i,
                        const struct draw *d);

/* Returns the library call of task i, or NULL if not known, as always without x->at.op_calls. */
const struct call *edit_call(const struct edit *x, const struct graph *g, uint32_t i);
/* True if the task's library call already has its tensors in NHWC. */
bool edit_in_nhwc(const struct edit *x, const struct graph *g, uint32_t i);
/* True if task i converts the layout of images for a call with NCHW tensors. False without
 * x->at.op_calls. */
bool edit_converts(const struct edit *x, const struct graph *g, uint32_t i);

/* True if the edit names this operation, or this call. */
bool edit_picks(const struct edit *x, const struct graph *g, uint32_t op);
bool edit_picks_call(const struct edit *x, const struct graph *g, uint32_t call);
/* Removes task i if it is a call that the edit names, the wait in one, or the wait for a copy that
 * the edit names. */
void edit_drop_call(const struct edit *x, const struct graph *g, struct plan *p, uint32_t i);

/* True if the task updates the parameters or sets their gradients to zero. */
bool edit_updates(const struct graph *g, uint32_t i);

/* Changes copies of batches from memory of that kind (enum memory_kind) so that they block neither
 * host nor stream (copies.c). same_stream: they stay in the stream that computes. rate: their new
 * rate in bytes per ns; 0: as recorded. */
void edit_copies(const struct edit *x, const struct graph *g, struct plan *p, uint8_t from,
                 bool same_stream, double rate);
/* Their kinds' touches(). */
bool edit_copies_touch(const struct edit *x, const struct graph *g, uint32_t i);

#endif
