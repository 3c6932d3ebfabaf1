/* Medians and order of nanoseconds. */
#ifndef GPUPROF_MEASURE_MEDIAN_H
#define GPUPROF_MEASURE_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

/* Median of n values (the array is reordered); 0 without any. */
int64_t median_ns(int64_t *v, size_t n);
void sort_ns(int64_t *v, size_t n); /* rising */

#endif
