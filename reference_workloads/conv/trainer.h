/* The training loop around the ResNet of model.h, shared by the trainers that train it. One step is
 *
 *   data.wait   the next batch from the loader's threads
 *   copy        to one of two device buffers, on a stream of its own
 *   compute     the caller's: forward, backward, zero_grad, optimizer
 *   sync        on request: waits for the loss; else it is read two steps late
 *
 * and the host stays at most two steps ahead of the GPU. */
#ifndef CONV_TRAINER_H
#define CONV_TRAINER_H

#include "reference_workloads/common/loader.h"
#include "reference_workloads/conv/burdens.h"
#include "reference_workloads/conv/model.h"

#include <stdint.h>

struct trainer {
    struct config config;
    int device;
    /* The work of a step on the batch in device buffer `which`; trainer_compute unless set. */
    void (*compute)(struct trainer *t, int which);
    void *arg;   /* of compute */
    int silent;  /* prints nothing: other ranks do */
    int is_part; /* one of several devices that make a step together: the caller marks the step */

    struct model model;
    struct burdens burdens;
    struct jpeg_set set;
    struct loader *loader;
    void **slots;
    int slot_count;
    size_t slot_bytes;
    cudaStream_t copy_stream;
    cudaEvent_t copied[2], done[2]; /* per device buffer: batch arrived; step finished */
    cudaGraphExec_t graph[2];       /* per device buffer */
    float *losses;                  /* (batch) on the host, pinned */
    int queued_loss;                /* step whose losses are on their way, -1 */
    int is_virtual;                 /* the device computes nothing */
};

/* config, device, compute, arg and silent are set; the rest is made. `seed_shift` is added to the
 * seed of the data alone: ranks share weights, not pictures. */
void trainer_open(struct trainer *t, int seed_shift);
void trainer_close(struct trainer *t);
void trainer_step(struct trainer *t, int step);
/* All steps, with their lengths in step_ns (config.steps), until the GPU has done them. */
void trainer_run(struct trainer *t, int64_t *step_ns);
/* The median of the steps after the warm-up. */
double trainer_median_ms(const struct trainer *t, int64_t *step_ns);

/* forward, backward and optimizer */
void trainer_compute(struct trainer *t, int which);

#endif
