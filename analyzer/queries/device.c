/* Which GPU it is, where the recording does not say: kernels are built for an architecture, and
 * their names tell it. A kernel for one runs on it and on later ones of its line, so a name bounds
 * the compute capability from below and no more. */
#include "analyzer/queries/query.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The number behind `prefix` (sm80_xmma..., cutlass_80_...) as a major version: 80 -> 8, 100 -> 10;
 * -1 without one. */
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
