/* Decides which copies and memsets move their data. Kernels compute nothing, and this machine
 * copies more slowly than a device's bus, so not all of them do. But a program may read back what
 * it put into device memory (arrays of pointers, indices, weights), and its kernels branch on it.
 * So these move:
 *
 * - up to `copy` bytes (64 KB unless the option says otherwise): always;
 * - to the device, up to 1 MB: if the host waits for the copy anyway;
 * - to the device, up to 16 MB: the first copy to a place;
 * - between places on devices, up to 16 MB: the first one, from a place that was copied to;
 * - to the host, up to 16 MB: if the host waits, from a place that was copied to;
 * - memset, up to 16 MB: the first one, and in managed memory; zeros of any size always.
 *
 * A bitmap per device marks the pages that were copied to. It also bounds the memory that this
 * takes: MOST bytes of first copies. It has no lock, because a copy may be placed with the core's
 * lock held. */
#include "core/core_state.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE         ((size_t)4096)
#define LARGEST_PAGE ((size_t)64 << 10)
#define WAITED_FOR   ((size_t)1 << 20)
#define FIRST        ((size_t)16 << 20)
#define MOST         ((size_t)1 << 30)
#define HUGE         ((uintptr_t)2 << 20)

static _Atomic size_t marked; /* pages on all devices */

struct place { /* pages of one device's memory */
    _Atomic uint64_t *bits;
    size_t first, last;
};

int vg_data_open(struct vg_device *d)
{
    d->copied_to = calloc(d->span / PAGE / 64 + 1, sizeof *d->copied_to);
    return d->copied_to ? 0 : -1;
}

/* False: not in memory that cudaMalloc gives out. */
static bool place_of(const void *p, size_t bytes, struct place *out)
{
    struct vg_pointer at = vg_pointer(p);
    if (at.device < 0 || bytes == 0)
        return false;
    const struct vg_device *d = &vg_core.device[at.device];
    if (at.base != d->base)
        return false;
    size_t offset = (size_t)((const char *)p - d->base);
    if (bytes > d->span - offset)
        bytes = d->span - offset;
    *out = (struct place){d->copied_to, offset / PAGE, (offset + bytes - 1) / PAGE};
    return true;
}

/* Mask of the bits from page i to `last` within page i's word. */
static uint64_t word_mask(size_t i, size_t last)
{
    size_t end = i / 64 == last / 64 ? last % 64 : 63;
    return (UINT64_MAX >> (63 - end)) & (UINT64_MAX << (i % 64));
}

static size_t pages_marked(const struct place *at)
{
    size_t n = 0;
    for (size_t i = at->first; i <= at->last; i = (i / 64 + 1) * 64)
        n += (size_t)__builtin_popcountll(at->bits[i / 64] & word_mask(i, at->last));
    return n;
}

static void mark(const struct place *at)
{
    for (size_t i = at->first; i <= at->last; i = (i / 64 + 1) * 64) {
        uint64_t mask = word_mask(i, at->last);
        uint64_t were = atomic_fetch_or(&at->bits[i / 64], mask);
        marked += (size_t)__builtin_popcountll(mask & ~were);
    }
}

void vg_library_wrote(const void *p, size_t bytes)
{
    struct place at;
    if (place_of(p, bytes, &at))
        mark(&at);
}

static bool is_new(const struct place *at)
{
    size_t pages = at->last - at->first + 1;
    return pages_marked(at) < pages && (marked + pages) * PAGE <= MOST;
}

/* Bytes from the first to the last one touched. */
static size_t span(const struct vg_copy *c, size_t pitch, size_t slice)
{
    if (c->rows == 0)
        return c->bytes;
    size_t slices = c->slices ? c->slices : 1;
    return (slices - 1) * slice + (c->rows - 1) * pitch + c->row_bytes;
}

static bool moves(const struct vg_copy *c, bool host_waits)
{
    struct place from, to;
    bool from_device = place_of(c->src, span(c, c->src_pitch, c->src_slice), &from);
    bool to_device = place_of(c->dst, span(c, c->dst_pitch, c->dst_slice), &to);
    bool small = c->bytes <= vg_core.copy_limit;
    if (!small && (c->bytes > FIRST || (from_device && pages_marked(&from) == 0)))
        return false;
    if (!to_device)
        return small || host_waits;
    bool yes = small || (host_waits && c->bytes <= WAITED_FOR) || is_new(&to);
    if (yes)
        mark(&to);
    return yes;
}

void vg_copy_rows(const struct vg_copy *c)
{
    if (c->rows == 0) {
        memmove(c->dst, c->src, c->bytes);
        return;
    }
    for (size_t z = 0; z < (c->slices ? c->slices : 1); z++)
        for (size_t i = 0; i < c->rows; i++)
            memmove((char *)c->dst + z * c->dst_slice + i * c->dst_pitch,
                    (const char *)c->src + z * c->src_slice + i * c->src_pitch, c->row_bytes);
}

void vg_copy_bytes(const struct vg_copy *c, bool host_waits)
{
    if (!moves(c, host_waits))
        return;
    uintptr_t from = ((uintptr_t)c->dst + HUGE - 1) & ~(HUGE - 1),
              to = (uintptr_t)c->dst + c->bytes;
    /* Otherwise 4 KB pages take three times as long. */
    if (c->rows == 0 && to > from && to - from >= HUGE)
        madvise((void *)from, (to - from) & ~(HUGE - 1), MADV_HUGEPAGE);
    vg_copy_rows(c);
}

/* Returns where row y begins, in bytes behind set->ptr. */
static size_t row_offset(const struct vg_set *set, size_t y)
{
    return set->slice_rows
               ? y / set->slice_rows * set->slice_pitch + y % set->slice_rows * set->pitch
               : y * set->pitch;
}

static void set_rows(const struct vg_set *set)
{
    for (size_t y = 0; y < set->rows; y++) {
        char *row = (char *)set->ptr + row_offset(set, y);
        if (set->element <= 1)
            memset(row, (int)set->value, set->width);
        else
            for (size_t x = 0; x + set->element <= set->width; x += set->element)
                memcpy(row + x, &set->value, set->element < 4 ? set->element : 4);
    }
}

size_t vg_whole_pages(char **at, size_t bytes)
{
    size_t head = -(uintptr_t)*at & (LARGEST_PAGE - 1);
    if (head > bytes)
        return 0;
    *at += head;
    return (bytes - head) & ~(LARGEST_PAGE - 1);
}

/* Returns whole pages to the system, which reads as zeros from then on. */
static void clear(char *at, size_t bytes)
{
    char *pages = at;
    size_t within = vg_whole_pages(&pages, bytes);
    memset(at, 0, (size_t)(pages - at));
    memset(pages + within, 0, bytes - (size_t)(pages - at) - within);
    madvise(pages, within, MADV_DONTNEED);
}

void vg_set_bytes(const struct vg_set *set)
{
    struct place to;
    size_t bytes = set->width * set->rows;
    if (bytes == 0)
        return;
    bool on_device = place_of(set->ptr, row_offset(set, set->rows - 1) + set->width, &to);
    if (bytes <= vg_core.copy_limit) {
        set_rows(set);
        return;
    }
    if (!on_device) {
        if (bytes <= FIRST && vg_pointer(set->ptr).kind == VG_MEM_MANAGED)
            set_rows(set); /* the host reads it without a copy */
        return;
    }
    if (set->value == 0 && pages_marked(&to) == 0)
        return;
    if (set->value == 0 && set->rows == 1)
        clear(set->ptr, bytes);
    else if (bytes <= FIRST && (set->value == 0 || is_new(&to))) {
        mark(&to);
        set_rows(set);
    }
}

/* ---- awaited ---- */

/* Memory that a pending collective or copy will write or still read. Results of kernels and bytes
 * from the host are written at launch, so code that reads or writes pending memory must wait first.
 * Then a size that another rank sends is there before it is summed, and the bytes of the next
 * object do not overwrite bytes that a collective still has to send. Kernels wait only for sizes
 * and flags, because the host runs ahead of everything else. Every wait has a limit, because the
 * other rank may wait for this one. */
enum {
    PLACES = 256, /* entries at a time; further ones are not waited for */
    FLAGS = 1024
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct awaited {
    const void *owner; /* NULL: free */
    uintptr_t from, to;
} awaited[PLACES];
static _Atomic int count;

void vg_awaited_add(const void *owner, const void *p, size_t bytes)
{
    if (!p || bytes == 0)
        return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PLACES; i++)
        if (!awaited[i].owner) {
            awaited[i] = (struct awaited){owner, (uintptr_t)p, (uintptr_t)p + bytes};
            count++;
            break;
        }
    pthread_mutex_unlock(&lock);
}

void vg_awaited_end(const void *owner)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PLACES && count > 0; i++)
        if (awaited[i].owner == owner) {
            awaited[i].owner = NULL;
            count--;
        }
    pthread_mutex_unlock(&lock);
}

/* True if an owner awaits any of these bytes. forget: removes those entries. */
static bool is_awaited(uintptr_t from, uintptr_t to, uintptr_t most, bool forget)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PLACES; i++) {
        struct awaited *a = &awaited[i];
        if (!a->owner || from >= a->to || to <= a->from || a->to - a->from > most)
            continue;
        found = true;
        if (forget) {
            a->owner = NULL;
            count--;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void await(const void *p, size_t bytes, uintptr_t most)
{
    enum { LIMIT_NS = 2000000000, NAP_NS = 50000 };
    uintptr_t from = (uintptr_t)p, to = from + bytes;
    if (count == 0 || !is_awaited(from, to, most, false))
        return;
    for (int64_t until = vg_now_ns() + LIMIT_NS; vg_now_ns() < until;) {
        vg_barriers_changed();
        if (!is_awaited(from, to, most, false))
            return;
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
    }
    is_awaited(from, to, most, true);
}

void vg_await(const void *p, size_t bytes)
{
    await(p, bytes, UINTPTR_MAX);
}

void vg_await_flags(const void *p, size_t bytes)
{
    await(p, bytes, FLAGS);
}
