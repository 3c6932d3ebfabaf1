/* Step times of an analysis as a sample, and the bootstrap over two of them. */
#ifndef GPUPROF_COMPARE_STEPS_SAMPLE_H
#define GPUPROF_COMPARE_STEPS_SAMPLE_H

#include "analyzer/advice/advice.h"

/* 95 % interval of median(now) / median(base). 0, or -1 when out of memory. */
int sample_ratio(const struct advice *base, const struct advice *now, double *low, double *high);
/* The same of the pace: mean lengths, those that are only longer included. */
int sample_pace_ratio(const struct advice *base, const struct advice *now, double *low,
                      double *high);
/* 95 % interval of the median step, ns; both = the median when there are too few steps. */
int sample_median(const struct advice *a, double *low, double *high);

#endif
