/* Finds when workers delivered each batch in recordings that contain only the waits for batches,
 * because the profiler saw neither the workers nor their number. If the workers set the loop's
 * pace, a batch is delivered when a wait ends. Cost: one pass over the training thread's ranges. */
#ifndef GPUPROF_QUERIES_INPUT_DELIVERY_H
#define GPUPROF_QUERIES_INPUT_DELIVERY_H

#include "analyzer/facts/facts.h"
#include "base/vec.h"

struct delivery {
    int64_t from_ns, to_ns; /* the training thread takes the batch */
    /* when the batch was ready: at the end of a long wait; otherwise evenly spread between the long
     * waits before and after it, and not later than it was taken */
    int64_t made_ns;
};
struct deliveries VEC(struct delivery);

/* The batches that the training thread took, in order. n stays 0 if workers do not set the pace, if
 * their work was recorded, or if nothing shows that other processes make the batches. -1: out of
 * memory. The caller releases *d in either case. */
int query_deliveries(const struct facts *f, struct deliveries *d);
void query_deliveries_release(struct deliveries *d);

/* What the waits for batches mean. Taking a ready batch also costs time: Python wakes up, maps
 * the memory and unpacks. */
enum delivery_reading {
    DELIVERY_LIMITS, /* workers are too slow: in a shorter step the wait is longer */
    DELIVERY_EITHER, /* the recording does not decide between the other two */
    DELIVERY_COSTS   /* batches were ready: in a shorter step the wait is as long */
};
/* Decides what the waits in `d` mean. Cost: one pass over them. */
enum delivery_reading query_delivery_reading(const struct facts *f, const struct deliveries *d);
/* By which factor the number of workers must grow to make the batches within the rest of
 * the step. Only if workers set the pace and only the waits for them were recorded;
 * otherwise 0 = not known. */
double query_workers_lack(const struct facts *f);

#endif
