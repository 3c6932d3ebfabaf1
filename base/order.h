/* Orders of plain values, rising, for qsort() and bsearch(). The order of NaN is not defined. */
#ifndef GPUPROF_BASE_ORDER_H
#define GPUPROF_BASE_ORDER_H

#include <stdint.h>

#define ORDER_OF(NAME, TYPE)                                                                       \
    static inline int order_##NAME(const void *a, const void *b)                                   \
    {                                                                                              \
        TYPE x = *(const TYPE *)a, y = *(const TYPE *)b;                                           \
        return (x > y) - (x < y);                                                                  \
    }

ORDER_OF(int64, int64_t)
ORDER_OF(uint64, uint64_t)
ORDER_OF(uint32, uint32_t)
ORDER_OF(double, double)

#undef ORDER_OF

#endif
