/* Finds the peak of the allocator's memory, and who holds it then. A piece is held by the outermost
 * operator in which it was asked for, and by the line that asked or, where that is not recorded, from
 * which its thread launched then. */
#include "analyzer/facts/allocations.h"

#include "analyzer/measure/ranges.h"
#include "base/keymap.h"
#include "base/vec.h"
#include "wire/spool_format.h"
#include "wire/step_mark.h"

#include <stdlib.h>
#include <string.h>

struct holding {
    const struct facts *f;
    struct keymap slot_of; /* address -> index in live */
    struct VEC(
        uint32_t) live;      /* by slot: the row of the piece that is given out there, or TL_NONE */
    uint32_t *line;          /* by row: the line of its thread then, like api.line */
    struct keymap holder_of; /* name and line -> index in all */
    struct VEC(struct holder) all;
};

bool in_use_add(const struct facts *f, const struct row_allocation *r, struct in_use *u,
                int64_t *bytes)
{
    if (!f->device || r->device != f->device->id)
        return false;
    u->sum += r->bytes;
    u->least = u->sum < u->least ? u->sum : u->least;
    *bytes = r->in_use_bytes >= 0 ? r->in_use_bytes : u->sum - u->least;
    return true;
}

/* Fills in the peak, and returns the index of its row; TL_NONE: no piece of this device. */
static uint32_t find_peak(const struct facts *f, struct allocations *a)
{
    const struct timeline *t = f->tl;
    struct in_use u = {0};
    uint32_t peak = TL_NONE;
    a->whole = true;
    for (uint32_t i = 0; i < t->allocation_count; i++) {
        const struct row_allocation *r = &t->allocations[i];
        int64_t bytes;
        if (!in_use_add(f, r, &u, &bytes))
            continue;
        a->whole &= r->in_use_bytes >= 0;
        if (peak != TL_NONE && bytes <= a->peak_bytes)
            continue;
        peak = i;
        a->peak_bytes = bytes;
        a->peak_ns = r->time_ns;
        a->held_bytes = r->held_bytes;
    }
    if (peak != TL_NONE)
        a->step = facts_step_at(f, a->peak_ns);
    return peak;
}

/* Notes which pieces are given out behind row `last`. -1: out of memory. */
static int find_live(struct holding *x, uint32_t last)
{
    const struct timeline *t = x->f->tl;
    for (uint32_t i = 0; i <= last; i++) {
        const struct row_allocation *r = &t->allocations[i];
        if (r->device != x->f->device->id)
            continue;
        struct key key = {{r->address}};
        uint32_t slot = keymap_get(&x->slot_of, key);
        if (slot == KEYMAP_NONE) {
            slot = (uint32_t)x->live.n;
            if (!vec_push(&x->live) || keymap_put(&x->slot_of, key, slot) < 0)
                return -1;
        }
        x->live.at[slot] = r->bytes > 0 ? i : TL_NONE;
    }
    return 0;
}

/* Fills x->line up to row `last`, walking along both tables in time. -1: out of memory. */
static int find_lines(struct holding *x, uint32_t last)
{
    const struct timeline *t = x->f->tl;
    uint32_t *of_thread = calloc(t->thread_count + 1, sizeof *of_thread);
    size_t k = 0;
    x->line = calloc((size_t)last + 1, sizeof *x->line);
    for (uint32_t i = 0; of_thread && x->line && i <= last; i++) {
        const struct row_allocation *r = &t->allocations[i];
        for (; k < t->launch_line_count && t->launch_lines[k].start_ns <= r->time_ns; k++) {
            uint32_t thread = timeline_thread_index(t, t->launch_lines[k].thread);
            if (thread != TL_NONE)
                of_thread[thread] = timeline_row_line(t, &t->launch_lines[k]);
        }
        uint32_t thread = timeline_thread_index(t, r->thread);
        struct row_launch_line asked = {.stack = r->stack, .what = SPOOL_LINE_OWN};
        x->line[i] = r->stack > 0        ? timeline_row_line(t, &asked)
                     : thread != TL_NONE ? of_thread[thread]
                                         : 0;
    }
    free(of_thread);
    return of_thread && x->line ? 0 : -1;
}

/* String id + 1 of the holder's name; 0: no range tells. */
static uint32_t name_of(const struct timeline *t, const struct row_allocation *r)
{
    uint32_t thread = timeline_thread_index(t, r->thread), best = 0;
    uint32_t at = thread != TL_NONE ? range_at(t, thread, r->time_ns) : TL_NONE;
    for (; at != TL_NONE; at = t->ranges[at].parent) {
        const char *name = tl_text(t, t->ranges[at].name);
        if (strncmp(name, "Optimizer.step", 14) == 0)
            return t->ranges[at].name + 1;
        if (strstr(name, "::") || (!best && !spool_step_mark(name)))
            best = t->ranges[at].name + 1;
    }
    return best;
}

/* Adds a piece to its holder. -1: out of memory. */
static int hold(struct holding *x, uint32_t row)
{
    static const char node[] = "autograd::engine::evaluate_function: ";
    const struct timeline *t = x->f->tl;
    const struct row_allocation *r = &t->allocations[row];
    struct key key = {{name_of(t, r), x->line[row]}};
    uint32_t at = keymap_get(&x->holder_of, key);
    if (at == KEYMAP_NONE) {
        at = (uint32_t)x->all.n;
        struct holder *h = vec_push(&x->all);
        if (!h || keymap_put(&x->holder_of, key, at) < 0)
            return -1;
        const char *name = key.part[0] ? tl_text(t, (uint32_t)key.part[0] - 1) : NULL;
        if (name && strncmp(name, node, sizeof node - 1) == 0)
            name += sizeof node - 1;
        *h = (struct holder){.name = name, .line = x->line[row]};
    }
    x->all.at[at].bytes += r->bytes;
    x->all.at[at].pieces++;
    return 0;
}

static int by_bytes(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static int find_holders(struct holding *x, uint32_t peak, struct allocations *a)
{
    int64_t live = 0;
    if (find_live(x, peak) < 0 || find_lines(x, peak) < 0)
        return -1;
    for (size_t i = 0; i < x->live.n; i++)
        if (x->live.at[i] != TL_NONE) {
            live += x->f->tl->allocations[x->live.at[i]].bytes;
            if (hold(x, x->live.at[i]) < 0)
                return -1;
        }
    if (x->all.n)
        qsort(x->all.at, x->all.n, sizeof *x->all.at, by_bytes);
    for (size_t i = 0; i < x->all.n; i++)
        if (i < HOLDERS)
            a->holders[a->holder_count++] = x->all.at[i];
        else
            a->others_bytes += x->all.at[i].bytes;
    a->before_bytes = a->whole && a->peak_bytes > live ? a->peak_bytes - live : 0;
    return 0;
}

int allocations_measure(struct facts *f)
{
    struct allocations found = {.held_bytes = -1, .step = TL_NONE};
    struct holding x = {.f = f};
    uint32_t peak = f->tl->allocation_count ? find_peak(f, &found) : TL_NONE;
    if (peak == TL_NONE || found.peak_bytes <= 0)
        return 0;
    int rc = find_holders(&x, peak, &found);
    keymap_release(&x.slot_of);
    keymap_release(&x.holder_of);
    vec_release(&x.live);
    vec_release(&x.all);
    free(x.line);
    struct allocations *kept = rc == 0 ? arena_array(&f->arena, 1, sizeof *kept) : NULL;
    if (!kept)
        return -1;
    *kept = found;
    f->allocations = kept;
    return 0;
}
