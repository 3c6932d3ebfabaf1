/* Which GPU the recording is from, and what it can hold and transfer. If the recording does not
 * name it, kernel names give a lower bound for the compute capability: a kernel is built for one
 * architecture and runs on that and on later ones. */
#include "analyzer/queries/query.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Major version from the number after `prefix` in a kernel's name (sm80_xmma..., cutlass_80_...):
 * 80 -> 8, 100 -> 10; -1: no such number. */
static int major_behind(const char *name, const char *prefix)
{
    const char *p = strstr(name, prefix);
    if (!p || !isdigit((unsigned char)p[strlen(prefix)]))
        return -1;
    long v = strtol(p + strlen(prefix), NULL, 10);
    return v >= 50 && v < 200 ? (int)(v / 10) : -1;
}

static int major_of(const char *name)
{
    static const struct {
        const char *word;
        int major;
    } words[] = {{"volta_", 7}, {"turing_", 7}, {"ampere_", 8}, {"nvjet_", 9}, {"hopper_", 9}};
    static const char *const prefixes[] = {"sm", "cutlass_", "cutlass3x_sm"};
    int best = -1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i].word) && words[i].major > best)
            best = words[i].major;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (major_behind(name, prefixes[i]) > best)
            best = major_behind(name, prefixes[i]);
    return best;
}

int query_cc_major(const struct facts *f, bool *told)
{
    *told = f->device && f->device->cc_major >= 0;
    if (*told)
        return (int)f->device->cc_major;
    int best = -1;
    for (size_t i = 0; i < f->totals.kernel_count; i++) {
        const struct op *o = &f->tl->ops[f->totals.kernels[i].longest];
        int major = major_of(tl_text(f->tl, o->full_name));
        best = major > best ? major : best;
    }
    return best;
}

/* PCIe x16 of generation 5, 4 and 3, one direction. */
double query_pcie_rate(const struct facts *f)
{
    int64_t major = f->device ? f->device->cc_major : 0;
    return major >= 9 ? 63.0 : major == 8 ? 31.5 : 15.75;
}

/* CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". Registers: 65,536
 * of 32 bits on all of these. */
static const struct processor {
    int64_t capability, blocks, threads, shared_kib;
} processors[] = {
    {30, 16, 2048, 48},  {50, 32, 2048, 64},   {61, 32, 2048, 96},   {75, 16, 1024, 64},
    {80, 32, 2048, 164}, {86, 16, 1536, 100},  {87, 16, 1536, 164},  {89, 24, 1536, 100},
    {90, 32, 2048, 228}, {100, 32, 2048, 228}, {120, 24, 1536, 100},
};

static const struct processor *processor_of(const struct row_device *v)
{
    size_t k = sizeof processors / sizeof *processors;
    while (k > 0 && processors[k - 1].capability > v->cc_major * 10 + v->cc_minor)
        k--;
    return k ? &processors[k - 1] : NULL;
}

int64_t query_resident_blocks(const struct facts *f, const struct op *o)
{
    enum {
        REGISTERS = 65536,
        WARP = 32,
        GRAIN = 256 /* registers are allocated to a warp in such units */
    };
    int64_t warps = ((int64_t)o->block[0] * o->block[1] * o->block[2] + WARP - 1) / WARP;
    const struct processor *p = f->device && query_nvidia(f) ? processor_of(f->device) : NULL;
    if (!p || warps == 0)
        return 0;
    int64_t each = (o->registers * WARP + GRAIN - 1) / GRAIN * GRAIN * warps;
    int64_t n = p->threads / (warps * WARP);
    int64_t by_registers = each ? REGISTERS / each : n;
    int64_t by_shared = p->shared_kib / (o->shared_kib + 1); /* 1 KiB more, which CUDA reserves */
    n = by_registers < n ? by_registers : n;
    n = by_shared < n ? by_shared : n;
    n = p->blocks < n ? p->blocks : n;
    return n < 1 ? 1 : n;
}
