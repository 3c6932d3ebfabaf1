/* The monotonic clock, busy waiting and medians. */
#ifndef WORKLOAD_CLOCK_H
#define WORKLOAD_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_now_ns(void);
void clock_spin_us(int us); /* burns CPU: stands for host work, as a framework's */

int64_t median_ns(int64_t *values, size_t n); /* sorts them; 0 of none */
/* Median over four values in a row: what a step takes where long and short ones alternate, as with
 * two workers that end together. Leaves them as they are. */
int64_t pace_ns(const int64_t *values, size_t n);

#endif
