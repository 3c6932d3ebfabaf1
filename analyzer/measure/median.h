/* Median and sorting of times in ns. */
#ifndef GPUPROF_MEASURE_MEDIAN_H
#define GPUPROF_MEASURE_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

/* Returns the median of n values, and reorders the array; 0 if n is 0. */
int64_t median_ns(int64_t *v, size_t n);
void sort_ns(int64_t *v, size_t n); /* ascending */

#endif
