/* train_gpt's forward pass in plain C and double precision: slow, with the formulas as in
 * textbooks. It uses the trainer's layout of the parameters, and none of its kernels. */
#ifndef GPUPROF_TESTS_GPT_REFERENCE_H
#define GPUPROF_TESTS_GPT_REFERENCE_H

#include "reference_workloads/gpt/model.h"

/* Mean loss of a batch (data.h) with all parameters in `w` (m->count). */
double gpt_reference_loss(const struct model *m, const double *w, const int32_t *batch);

#endif
