/* What a step does needlessly when it is told to: copies of a few bytes, memory that comes and
 * goes, a batch copied on the host first, weights that live there, host work, checks for NaN,
 * threads that take cores. Costs nothing when it is not. */
#ifndef CONV_BURDENS_H
#define CONV_BURDENS_H

#include "reference_workloads/common/loader.h"
#include "reference_workloads/conv/model.h"

#include <pthread.h>
#include <stdatomic.h>

struct burdens {
    void *on_device;          /* small copies go here */
    void *again[2];           /* per device buffer: the batch, copied once more */
    int *found_nan;           /* on the device */
    float *home[GROUP_COUNT]; /* pinned: of each group the weights, then the momentum */
    int steps;                /* with host work, or between such */
    atomic_int stop;          /* the busy threads */
    int busy_count;
    pthread_t busy[256];
};

/* Before anything asks for a GPU: what the CUDA runtime reads from the environment. */
void burdens_environment(const struct config *c);
void burdens_open(struct burdens *b, const struct config *c, const struct model *m,
                  size_t slot_bytes);
void burdens_close(struct burdens *b, const struct config *c);
/* Each step, before its work, and behind it. */
void burdens_bear(struct burdens *b, const struct config *c, const struct model *m);
void burdens_put_back(struct burdens *b, const struct config *c, const struct model *m);
/* Each step, behind its work: is there a NaN among the gradients? Says so on stderr. */
void burdens_check(struct burdens *b, const struct model *m);
/* The batch as it is to be copied from: itself, or its copy. */
struct loader_batch burdens_copy(struct burdens *b, const struct config *c,
                                 struct loader_batch batch, int which);

#endif
