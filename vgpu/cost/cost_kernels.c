/* Durations of the program's own kernels without code to estimate from. profiles/all/kernels.ini
 * gives bytes and flops per thread for a pattern (fnmatch) of the name as the binary registers it:
 *
 *   PATTERN = BYTES B FLOPS F class ; provenance, source
 *
 * class = pointwise | norm | pool | optimizer | layout: the kind whose share of the bandwidth it
 * reaches. The first matching pattern counts; the last line must be `*`, the default. The table is
 * read once, before the first launch; a look-up costs a hash and usually one comparison. */
#include "core/core.h"
#include "cost/ini.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 128, CACHE = 256 };

struct row {
    char *pattern;
    double bytes, flops; /* per thread */
    size_t eff;          /* offset of the share in vg_profile */
};
static struct row rows[MAX_ROWS];
static size_t row_count;

static const struct {
    const char *name;
    size_t eff;
} classes[] = {
    {"pointwise", offsetof(struct vg_profile, pointwise_eff)},
    {"norm", offsetof(struct vg_profile, bn_bwd_eff)},
    {"pool", offsetof(struct vg_profile, pool_eff)},
    {"optimizer", offsetof(struct vg_profile, optimizer_eff)},
    {"layout", offsetof(struct vg_profile, layout_eff)},
};

static int parse_row(const struct ini *in, struct row *r)
{
    char bytes_unit[2], flops_unit[2], class[16], extra;
    if (sscanf(in->value, "%lf %1s %lf %1s %15s %c", &r->bytes, bytes_unit, &r->flops, flops_unit,
               class, &extra) != 5 ||
        *bytes_unit != 'B' || *flops_unit != 'F' || !(r->bytes >= 0) || !(r->flops >= 0))
        return ini_fault(in, "not `PATTERN = BYTES B FLOPS F class ; ...`");
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (strcmp(classes[i].name, class) == 0) {
            r->eff = classes[i].eff;
            r->pattern = strdup(in->key);
            return r->pattern ? 0 : ini_fault(in, "out of memory");
        }
    return ini_fault(in, "no class named `%s`", class);
}

static void forget_rows(void)
{
    while (row_count > 0)
        free(rows[--row_count].pattern);
}

int vg_kernels_read(const char *path, char *why, size_t n)
{
    struct ini in;
    int rc;
    if (ini_open(&in, path, why, n) < 0)
        return -1;
    forget_rows();
    while ((rc = ini_next(&in)) == 1) {
        if (row_count == MAX_ROWS)
            rc = ini_fault(&in, "more than %d patterns", MAX_ROWS);
        else
            rc = parse_row(&in, &rows[row_count]);
        if (rc < 0)
            break;
        row_count++;
    }
    if (rc == 0 && (row_count == 0 || strcmp(rows[row_count - 1].pattern, "*") != 0))
        rc = ini_fault(&in, "the last pattern must be `*`, the default");
    ini_close(&in);
    return rc;
}

static uint64_t hash(const char *s)
{
    uint64_t h = 14695981039346656037u;
    while (*s)
        h = (h ^ (unsigned char)*s++) * 1099511628211u;
    return h;
}

static const struct row *find_row(const char *name)
{
    static _Thread_local struct {
        uint64_t hash;
        const struct row *row;
    } cache[CACHE];
    uint64_t h = hash(name);
    size_t slot = h % CACHE;
    if (cache[slot].row && cache[slot].hash == h)
        return cache[slot].row;
    for (size_t i = 0; i < row_count; i++)
        if (fnmatch(rows[i].pattern, name, 0) == 0) {
            cache[slot].hash = h;
            cache[slot].row = &rows[i];
            return &rows[i];
        }
    return NULL;
}

int64_t vg_cost_user_kernel(const struct vg_profile *p, const char *name, const unsigned grid[3],
                            const unsigned block[3])
{
    const struct row *r = find_row(name);
    double threads = 1;
    for (int i = 0; i < 3; i++)
        threads *= (double)grid[i] * (double)block[i];
    if (!r)
        return (int64_t)p->kernel_min_ns;
    double eff = *(const double *)((const char *)p + r->eff);
    /* A kernel mostly writes what it reads, so L2 may hold half of the traffic. */
    double memory = (double)vg_cost_memory(p, threads * r->bytes / 2, 2, eff);
    double compute = threads * r->flops / (p->fp32_flops * p->gemm_fp32_eff) * 1e9;
    return (int64_t)fmax(memory, compute + p->kernel_min_ns);
}
