/* Static estimates of kernels, with a cache. Runs a sample of a launch's warps
 * (cost_code_sample.c), turns the counts into a time (cost_code_time.c), and reuses the result for
 * launches that look the same. */
#include "cost/cost_code.h"
#include "core/core_state.h"
#include "ptx/ptx_bulk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* MOST: instructions that are run for all estimates of one kernel, some 50 ms. Later launches are
 * compared by PROBE instructions, and after PROBES of them by their sizes. The limits count
 * instructions and not time, so that a program's estimates do not depend on the load of this
 * machine. */
enum { ESTIMATES = 256, MOST = 1000000, PROBE = 1000, PROBES = 20000 };

struct estimate {
    uint64_t key;
    double blocks, probe; /* probe: instructions of a warp in the middle of the grid */
    int64_t ns;
};

struct vg_code {
    struct ptx_kernel *kernel;
    pthread_mutex_t lock;
    struct estimate estimate[ESTIMATES];
    int count, next;
    int64_t ran, probes;
    bool away; /* it leaves its work to functions that the estimate does not follow */
};

struct vg_code *vg_code_read(const char *ptx, const char *name)
{
    struct vg_code *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->kernel = ptx_read(ptx, name);
    if (!c->kernel) {
        free(c);
        return NULL;
    }
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
    const unsigned char *s = data;
    while (n-- > 0)
        h = (h ^ *s++) * 1099511628211u;
    return h;
}

static bool on_device(uint64_t address)
{
    return vg_pointer((const void *)(uintptr_t)address).kind == VG_MEM_DEVICE;
}

/* Cache key of a launch. Of a device address only the alignment counts. */
static uint64_t key_of(const struct vg_code *c, const struct vg_profile *p,
                       const struct vg_kernel *k, void *const *args)
{
    uint64_t h = mix(14695981039346656037u, &p, sizeof p);
    h = mix(mix(h, k->grid, sizeof k->grid), k->block, sizeof k->block);
    h = mix(h, &k->smem_dynamic, sizeof k->smem_dynamic);
    for (int i = 0; i < c->kernel->slot_count; i++) {
        const struct ptx_slot *s = &c->kernel->slot[i];
        uint64_t v = 0;
        if (!s->steers || s->param < 0 || s->size > sizeof v || !args[s->param])
            continue;
        memcpy(&v, (const char *)args[s->param] + s->offset, s->size);
        if (s->size == 8 && on_device(v))
            v &= 127;
        h = mix(h, &v, sizeof v);
    }
    for (int i = 0; i < c->kernel->map_count; i++) {
        const struct ptx_map *m = &c->kernel->map[i];
        if (m->param < c->kernel->param_count && args[m->param])
            h = mix(h, (const char *)args[m->param] + m->offset,
                    offsetof(struct ptx_tensor, address));
    }
    return h;
}

static struct ptx_launch launch_of(const struct vg_profile *p, const struct vg_kernel *k,
                                   void *const *args)
{
    struct ptx_launch l = {.smem = k->smem_dynamic, .args = args, .clock_hz = p->clock_mhz * 1e6};
    memcpy(l.grid, k->grid, sizeof l.grid);
    memcpy(l.block, k->block, sizeof l.block);
    for (int i = 0; i < vg_core.device_count && i < PTX_MEMORIES; i++) {
        l.memory[i].base = vg_core.device[i].base;
        l.memory[i].size = vg_core.device[i].span;
        l.memories++;
    }
    return l;
}

/* For launches whose arguments differ each time: the estimate of the nearest launch, scaled by how
 * much more this one does. */
static int64_t nearest(const struct vg_code *c, double least_ns, double blocks, double probe)
{
    const struct estimate *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < c->count; i++) {
        const struct estimate *e = &c->estimate[i];
        double more = blocks / e->blocks;
        more *= probe > 0 && e->probe > 0 ? probe / e->probe : 1;
        if (fabs(log(more)) < fabs(log(least))) {
            best = e;
            least = more;
        }
    }
    return best ? (int64_t)(least_ns + fmax(0, (double)best->ns - least_ns) * least) : -1;
}

static bool calls(const struct ptx_kernel *k)
{
    for (int i = 0; i < k->inst_count; i++)
        if (k->inst[i].op == OP_CALL)
            return true;
    return false;
}

static int64_t estimate(struct vg_code *c, const struct vg_profile *p, const struct vg_kernel *k,
                        void *const *args, struct estimate *e)
{
    struct ptx_launch l = launch_of(p, k, args);
    unsigned smem =
        k->smem_static > c->kernel->smem_static ? k->smem_static : c->kernel->smem_static;
    struct code_needs needs = {k->registers, smem + k->smem_dynamic};
    struct code_work work;
    if (!vg_code_sample(c->kernel, &l, &work))
        return -1;
    c->ran += work.ran;
    c->away = calls(c->kernel) && work.load_bytes + work.store_bytes <= 0;
    if (c->away)
        return -1;
    e->blocks = work.blocks;
    e->probe = vg_code_probe(c->kernel, &l, PROBE);
    e->ns = vg_code_time(p, &work, &needs);
    return e->ns;
}

static int64_t look_up(struct vg_code *c, const struct vg_profile *p, const struct vg_kernel *k,
                       void *const *args)
{
    struct estimate e = {.key = key_of(c, p, k, args)};
    for (int i = 0; i < c->count; i++)
        if (c->estimate[i].key == e.key)
            return c->estimate[i].ns;
    if (c->ran > MOST && c->count > 0) {
        struct ptx_launch l = launch_of(p, k, args);
        bool again = c->probes++ < PROBES;
        return nearest(c, p->kernel_min_ns, (double)k->grid[0] * k->grid[1] * k->grid[2],
                       again ? vg_code_probe(c->kernel, &l, PROBE) : 0);
    }
    if (estimate(c, p, k, args, &e) < 0)
        return -1;
    c->estimate[c->next] = e;
    c->next = (c->next + 1) % ESTIMATES;
    c->count += c->count < ESTIMATES;
    return e.ns;
}

bool vg_code_arguments(const struct vg_code *c, const void *block, size_t bytes, const void *args[],
                       int room)
{
    int known = (int)(sizeof c->kernel->param_at / sizeof *c->kernel->param_at);
    if (c->kernel->param_count > room || c->kernel->param_count > known ||
        c->kernel->param_end > bytes)
        return false;
    for (int i = 0; i < c->kernel->param_count; i++)
        args[i] = (const char *)block + c->kernel->param_at[i];
    return true;
}

int64_t vg_cost_code(const struct vg_profile *p, struct vg_code *c, const struct vg_kernel *k,
                     void *const *args)
{
    if (!args && c->kernel->param_count > 0)
        return -1;
    pthread_mutex_lock(&c->lock);
    int64_t ns = c->away ? -1 : look_up(c, p, k, args);
    pthread_mutex_unlock(&c->lock);
    return ns;
}

/* ---- kernels whose work is in functions ---- */

enum { ARRAYS = 64, WORDS = 512 };

/* Allocations, each one once. */
struct arrays {
    const char *base[ARRAYS];
    int count;
    double bytes;
};

static void add_array(struct arrays *a, uint64_t address)
{
    struct vg_pointer at = vg_allocation((const void *)(uintptr_t)address);
    for (int i = 0; i < a->count; i++)
        if (a->base[i] == at.base)
            return;
    if (at.kind != VG_MEM_DEVICE || a->count == ARRAYS)
        return;
    a->base[a->count++] = at.base;
    a->bytes += (double)at.size;
}

int64_t vg_cost_data(const struct vg_profile *p, const struct vg_code *c, void *const *args)
{
    struct arrays all = {.count = 0};
    for (int i = 0; args && i < c->kernel->param_count; i++) {
        uint64_t word[WORDS], address;
        unsigned end =
            i + 1 < c->kernel->param_count ? c->kernel->param_at[i + 1] : c->kernel->param_end;
        if (end - c->kernel->param_at[i] != sizeof address || !args[i])
            continue;
        memcpy(&address, args[i], sizeof address);
        struct vg_pointer at = vg_allocation((const void *)(uintptr_t)address);
        if (at.kind != VG_MEM_DEVICE || at.size > sizeof word)
            continue;
        memcpy(word, at.base, at.size);
        for (size_t k = 0; k < at.size / sizeof *word; k++)
            add_array(&all, word[k]);
    }
    return c->away && all.bytes > 0 ? vg_cost_memory(p, all.bytes / 2, 2, p->pointwise_eff) : -1;
}
