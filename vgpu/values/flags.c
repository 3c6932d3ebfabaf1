/* Results of nonzero() and of masks: CUB counts flags and lists their places. Flags that a kernel
 * would have computed read as whatever was in memory, so flags count only if all bytes are 0 or
 * 1. */
#include "values/cast.h"
#include "values/integers.h"

#include <string.h>

enum vg_integers vg_flags_of(const char *name)
{
    bool single = strstr(name, "28DeviceReduceSingleTileKernel");
    if (single && strstr(name, "10Policy1000EPiS"))
        return VG_COUNT_FLAGS;
    if (!strstr(name, "9NonZeroOpI"))
        return VG_NO_INTEGERS;
    if (single || strstr(name, "18DeviceReduceKernelI"))
        return VG_COUNT_FLAGS;
    bool selects = strstr(name, "9NonZeroOpIbE") && strstr(name, "23DeviceSelectSweepKernel") &&
                   strstr(name, "17counting_iteratorIl");
    return selects ? VG_SELECT_FLAGS : VG_NO_INTEGERS;
}

static uint32_t count(const unsigned char *flags, uint32_t n)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (flags[i] > 1)
            return 0;
        set += flags[i];
    }
    return set;
}

/* The sum of the counts of blocks: as written below, all are in the first. */
static int32_t sum_of_blocks(const int32_t *counts, int32_t n)
{
    bool others = false;
    if (n <= 0 || !vg_small(counts, (size_t)n * sizeof *counts))
        return 0;
    for (int32_t i = 1; i < n; i++)
        others = others || counts[i] != 0;
    return others || !vg_is_count(counts[0]) ? 0 : counts[0];
}

/* Arguments: an iterator over the flags (or over counts of blocks), the address of the count (or of
 * one per block), the number of flags. */
void vg_count_flags(const char *name, void *const *args, unsigned blocks)
{
    const unsigned char *flags;
    char *to;
    int32_t n, set;
    bool single = strstr(name, "SingleTileKernel");
    if (!args[1] || !args[2])
        return;
    memcpy(&flags, args[0], sizeof flags);
    memcpy(&to, args[1], sizeof to);
    memcpy(&n, args[2], sizeof n);
    size_t bytes = (single ? 1 : blocks) * sizeof set;
    if (!vg_small(to, bytes))
        return;
    memset(to, 0, bytes);
    if (!strstr(name, "9NonZeroOpI"))
        set = sum_of_blocks((const int32_t *)(const void *)flags, n);
    else
        set = strstr(name, "9NonZeroOpIbE") && n > 0 && vg_small(flags, (size_t)n)
                  ? (int32_t)count(flags, (uint32_t)n)
                  : 0;
    memcpy(to, &set, sizeof set);
}

/* Arguments: the first index, an iterator over the flags, the addresses of the list and of its
 * length, CUB's state, two operations, the number of flags. */
void vg_select_flags(void *const *args)
{
    const unsigned char *flags;
    int64_t first, *to;
    int32_t *length, n;
    for (int i = 1; i < 8; i++)
        if (!args[i])
            return;
    memcpy(&first, args[0], sizeof first);
    memcpy(&flags, args[1], sizeof flags);
    memcpy(&to, args[2], sizeof to);
    memcpy(&length, args[3], sizeof length);
    memcpy(&n, args[7], sizeof n);
    if (n <= 0 || !vg_small(flags, (size_t)n) || !vg_small(length, sizeof *length))
        return;
    uint32_t set = count(flags, (uint32_t)n), at = 0;
    if (set == 0 || !vg_within(vg_stretch_of(to), to, set * sizeof *to))
        return;
    for (uint32_t i = 0; i < (uint32_t)n; i++)
        if (flags[i])
            to[at++] = first + i;
    *length = (int32_t)set;
}
