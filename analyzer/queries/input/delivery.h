/* When workers delivered each batch, where a recording has only the waits for them: it was made by
 * a profiler that sees neither the workers nor how many there are. In a loop that they hold up, the
 * end of a wait is the moment of a delivery. Cost: one pass over the training thread's ranges. */
#ifndef GPUPROF_QUERIES_INPUT_DELIVERY_H
#define GPUPROF_QUERIES_INPUT_DELIVERY_H

#include "analyzer/facts/facts.h"
#include "base/vec.h"

struct delivery {
    int64_t from_ns, to_ns; /* the training thread takes the batch */
    int64_t made_ns; /* the batch was ready: at the end of a wait; else at an even pace between the
                        waits before and after, and not later than it was taken */
};
struct deliveries VEC(struct delivery);

/* The batches that the training thread took, in order. n stays 0 where workers do not hold up the
 * loop, where their work was recorded, or where nothing says that somebody else makes the batches.
 * -1: out of memory. Release what was found. */
int query_deliveries(const struct facts *f, struct deliveries *d);
void query_deliveries_release(struct deliveries *d);

/* What the waits for batches are. Taking a batch that is ready costs time as well: Python wakes up,
 * maps the memory and unpacks. */
enum delivery_reading {
    DELIVERY_LIMITS, /* workers make batches no faster: a shorter step waits longer */
    DELIVERY_EITHER, /* the recording does not decide between the two */
    DELIVERY_COSTS   /* batches were ready: a shorter step waits as long as this one */
};
/* How to read the waits of `d`. Cost: one pass over them. */
enum delivery_reading query_delivery_reading(const struct facts *f, const struct deliveries *d);
/* How many times as many workers it takes to make the batches within the rest of the step, where
 * workers hold up the loop and only the waits for them were recorded; 0 = not known. */
double query_workers_lack(const struct facts *f);

#endif
