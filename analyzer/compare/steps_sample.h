/* Step times of an analysis as a sample, and bootstrap intervals from one or two samples. */
#ifndef GPUPROF_COMPARE_STEPS_SAMPLE_H
#define GPUPROF_COMPARE_STEPS_SAMPLE_H

#include "analyzer/advice/advice.h"

/* Computes the 95 % interval of median(now) / median(base). Returns 0, or -1 without memory. */
int sample_ratio(const struct advice *base, const struct advice *now, double *low, double *high);
/* The same for the pace: the mean length, with steps that are only longer included. */
int sample_pace_ratio(const struct advice *base, const struct advice *now, double *low,
                      double *high);
/* Computes the 95 % interval of the median step in ns. With too few steps both ends are the
 * median. */
int sample_median(const struct advice *a, double *low, double *high);

#endif
