/* The cost of one memory access of a warp: sectors and lines in global memory, bank conflicts in
 * shared memory. */
#include "ptx/ptx_run.h"

enum { SECTOR = 32, LINE = 128, BANKS = 32, WORD = 4 };

static bool known(const struct ptx_access *a, uint64_t sector, uint64_t unit)
{
    for (int i = a->sectors; i-- > 0;)
        if (a->sector[i] / unit == sector / unit)
            return true;
    return false;
}

/* Adds a sector if it is new. One above all others is new for certain. */
static void add_sector(struct ptx_access *a, uint64_t sector, uint64_t *highest)
{
    const uint64_t per_line = LINE / SECTOR;
    bool above = a->sectors == 0 || sector > *highest;
    if (a->sectors == (int)(sizeof a->sector / sizeof *a->sector) ||
        (!above && known(a, sector, 1)))
        return;
    a->lines += a->sectors == 0 ||
                (above ? sector / per_line > *highest / per_line : !known(a, sector, per_line));
    a->sector[a->sectors++] = sector;
    *highest = above ? sector : *highest;
}

/* Words in one bank are read one after another, unless they are the same word. */
int ptx_bank_cycles(const uint64_t *address, int64_t offset, uint32_t mask, unsigned bytes)
{
    uint64_t word[BANKS][PTX_LANES];
    int count[BANKS] = {0}, most = 1;
    bool same = true;
    for (int lane = 1; lane < PTX_LANES && same; lane++)
        same = address[lane] == address[0];
    if (same && mask)
        return 1;
    for (int lane = 0; lane < PTX_LANES; lane++)
        for (unsigned at = 0; (mask >> lane & 1) && at < bytes; at += WORD) {
            uint64_t w = (address[lane] + (uint64_t)offset + at) / WORD;
            int bank = (int)(w % BANKS), n = 0;
            while (n < count[bank] && word[bank][n] != w)
                n++;
            if (n == count[bank] && n < PTX_LANES)
                word[bank][count[bank]++] = w;
            most = count[bank] > most ? count[bank] : most;
        }
    return most;
}

int ptx_same_address(const uint64_t *address, uint32_t mask)
{
    int most = 0;
    for (int lane = 0; lane < PTX_LANES; lane++) {
        int n = 0;
        for (int other = 0; other < PTX_LANES; other++)
            n += (mask >> other & 1) && address[other] == address[lane];
        most = (mask >> lane & 1) && n > most ? n : most;
    }
    return most;
}

void ptx_access(struct ptx_access *a, const uint64_t *address, int64_t offset, uint32_t mask,
                unsigned bytes)
{
    uint64_t highest = 0;
    a->sectors = a->lines = 0;
    a->from = UINT64_MAX;
    a->to = 0;
    for (int lane = 0; lane < PTX_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        uint64_t from = address[lane] + (uint64_t)offset, to = from + bytes;
        for (uint64_t s = from / SECTOR; s <= (to - 1) / SECTOR; s++)
            add_sector(a, s, &highest);
        a->from = from < a->from ? from : a->from;
        a->to = to > a->to ? to : a->to;
    }
}
