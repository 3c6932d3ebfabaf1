/* The input pipeline: worker threads decode, crop, flip and (for float input) normalise pictures
 * into a ring of batch slots. Batches come out in order whatever the number of workers, and the
 * same pixels for the same seed.
 *
 * A slot holds (batch, image, image, 3) pixels, bytes or floats, and then (batch) int32 labels, so
 * that one copy moves it. The caller owns the slots' memory, which may be pinned.
 *
 * Without workers the batch is made by the thread that asks for it.
 */
#ifndef WORKLOAD_LOADER_H
#define WORKLOAD_LOADER_H

#include "reference_workloads/common/jpegset.h"

enum loader_data {
    LOADER_JPEG, /* decode every time */
    LOADER_FIXED /* every slot is filled once and handed out again and again */
};

struct loader_config {
    const struct jpeg_set *set;
    int batch, image;
    int float_pixels; /* 1: normalised floats; 0: bytes */
    enum loader_data data;
    int workers;
    int slots; /* batches made ahead and those still in use by copies, together */
    unsigned seed;
    int disk_mbps; /* MB/s that all workers together read; 0: no limit */
};

struct loader_batch {
    const void *pixels; /* start of the slot */
    const int32_t *labels;
    size_t bytes; /* of the slot: pixels and labels */
};

struct loader;

size_t loader_slot_bytes(const struct loader_config *c);
struct loader *loader_open(const struct loader_config *c, void **slots);
void loader_close(struct loader *l);

/* The next batch in order; waits for it, or makes it when there are no workers. */
struct loader_batch loader_next(struct loader *l);
/* Gives the oldest batch not yet released back to the workers: nothing reads it any more. */
void loader_release(struct loader *l);

#endif
