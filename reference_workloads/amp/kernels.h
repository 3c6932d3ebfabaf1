/* What train_amp adds to train_conv's kernels. T is the 16-bit type of the weights. */
#ifndef AMP_KERNELS_H
#define AMP_KERNELS_H

#include "reference_workloads/conv/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* working (n) T = w (n) */
void kernel_weight_cast(cudaStream_t stream, enum dtype t, const float *w, void *working, size_t n);
/* halves the scale after an overflow, doubles it after `interval` steps without one; forgets the
 * overflow */
void kernel_amp_update_scale(cudaStream_t stream, struct loss_scale *s, int interval);
void kernel_amp_set_scale(cudaStream_t stream, struct loss_scale *s, float scale);
/* makes one gradient infinite, as an overflow does */
void kernel_amp_overflow(cudaStream_t stream, enum dtype t, void *gradient);

#ifdef __cplusplus
}
#endif

#endif
