/* Parts of a step with a name: gradient clipping, loss scaling, recomputing activations.
 * Work belongs to a phase by the name of its kernel, or because it was launched inside a
 * range with such a name.
 *
 * Cost: one pass over calls and ranges, one over operations and gaps; each
 * name is examined once. */
#ifndef GPUPROF_QUERIES_TRAINING_PHASE_H
#define GPUPROF_QUERIES_TRAINING_PHASE_H

#include "analyzer/queries/query.h"

struct phase_names { /* parts of names, separated by '|'; NULL: not used to recognise the phase */
    const char *kernels;
    const char *ranges;
    const char *not_inside; /* ranges whose work inside the phase belongs to something else */
};

struct query_phase {
    struct query_ops ops;
    int64_t sync_ns; /* idle time of the device after the host's waits inside such ranges */
    int64_t syncs;   /* number of waits of the host inside them, in used steps */
    uint32_t wait;   /* index of the longest such wait, or TL_NONE */
    /* by op: it belongs to the phase; by call: it is such a wait */
    const bool *op_marks, *wait_marks;
    const bool *call_marks; /* by call: it is made inside such a range */
};
struct query_phase query_phase(const struct facts *f, struct arena *arena,
                               const struct phase_names *n);

extern const struct phase_names phase_clipping, phase_scaling, phase_recompute;

#endif
