/* Parts of a step that go by a name: clipping of gradients, loss scaling, computing again what was
 * not kept. Work belongs to a phase by the name of its kernel, or because it was launched inside a
 * range of that name.
 *
 * Cost: one pass over calls and ranges, one over operations and gaps; a name is looked at once. */
#ifndef GPUPROF_QUERIES_TRAINING_PHASE_H
#define GPUPROF_QUERIES_TRAINING_PHASE_H

#include "analyzer/queries/query.h"

struct phase_names { /* parts of names, '|' between; NULL: not told by that */
    const char *kernels;
    const char *ranges;
    const char *not_inside; /* ranges inside those, whose work is something else's */
};

struct query_phase {
    struct query_ops ops;
    int64_t sync_ns; /* idle time of the device after waits of the host inside such ranges */
    int64_t syncs;   /* waits of the host inside, over all used steps */
    uint32_t wait;   /* index of the longest such call, TL_NONE */
    const bool *op_marks, *wait_marks; /* by op: belongs to the phase; by call: such a wait */
    const bool *call_marks;            /* by call: made inside such a range */
};
struct query_phase query_phase(const struct facts *f, struct arena *arena,
                               const struct phase_names *n);

extern const struct phase_names phase_clipping, phase_scaling, phase_recompute;

#endif
