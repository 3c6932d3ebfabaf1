/* Looks at a matrix of whole numbers in the host's memory: how much of it is padding, how much a loss
 * ignores. In C, because the program could see operations of PyTorch. */
#include "agent/python/hook.h"

enum { IGNORED = -100 /* PyTorch's default for labels that no loss counts */ };

static int64_t number_at(const void *numbers, int bytes, int64_t at)
{
    return bytes == 8 ? ((const int64_t *)numbers)[at] : ((const int32_t *)numbers)[at];
}

int64_t gpuprof_hook_columns_used(const void *numbers, int bytes, int64_t rows, int64_t columns)
{
    int64_t used = columns, last = number_at(numbers, bytes, rows * columns - 1);
    while (used > 0) {
        for (int64_t row = 0; row < rows; row++)
            if (number_at(numbers, bytes, row * columns + used - 1) != last)
                return used;
        used--;
    }
    return 0;
}

int64_t gpuprof_hook_ignored(const void *numbers, int bytes, int64_t count)
{
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++)
        n += number_at(numbers, bytes, i) == IGNORED;
    return n;
}
