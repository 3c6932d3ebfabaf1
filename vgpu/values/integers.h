/* Integers that PyTorch's kernels compute and programs read back as sizes, indices and tokens:
 * running sums, joined tensors, data moved by indices; and numbers that kernels generate. */
#ifndef VGPU_VALUES_INTEGERS_H
#define VGPU_VALUES_INTEGERS_H

#include <stdbool.h>
#include <stdint.h>

enum vg_integers {
    VG_NO_INTEGERS,
    VG_RANGE,
    VG_RUNNING_SUM,
    VG_REPEAT,
    VG_JOIN,
    VG_SCATTER, /* and gather */
    VG_INDEX,
    VG_ELEMENTS, /* element-wise, of integers and flags */
    VG_COUNT_FLAGS,
    VG_SELECT_FLAGS,
    VG_DRAW,
    VG_DRAW_NUMBERS,
    VG_PERMUTE,
    VG_TOP_K,
    VG_INTEGERS
};

enum vg_integers vg_integers_of(const char *name); /* name: mangled */
/* Writes the results. Takes the kernel's name, its arguments, and its grid's x and y. */
void vg_integers_write(enum vg_integers what, const char *name, void *const *args,
                       const unsigned grid[2]);

enum { VG_MOST_INTEGERS = 65536 /* masks, labels, indices; the host needs about 3 ns for each */ };

/* True if the value may be a count or an index. Memory may hold floating-point numbers where a
 * kernel would have written integers; read as integers they are large. */
static inline bool vg_is_count(int64_t value)
{
    return value >= -(1 << 24) && value <= 1 << 24;
}

/* True for elements of this size: integers and flags, which the names of PyTorch's kernels do not
 * distinguish from numbers. Tensors with elements of 4 and 2 bytes are mostly data, whose values
 * programs do not read. */
static inline bool vg_is_integer(unsigned bytes)
{
    return bytes == 8 || bytes == 1;
}

/* One file for each kind. */
enum vg_integers vg_places_of(const char *name);
void vg_scatter(const char *name, void *const *args);
void vg_index(const char *name, void *const *args);
bool vg_elements_known(const char *name);
void vg_elements(const char *name, void *const *args);
enum vg_integers vg_flags_of(const char *name);
void vg_count_flags(const char *name, void *const *args, unsigned blocks);
void vg_select_flags(void *const *args);
enum vg_integers vg_draws_of(const char *name);
uint64_t vg_drawn(void);
enum vg_integers vg_numbers_of(const char *name);
void vg_range(const char *name, void *const *args);
void vg_draw_numbers(const char *name, void *const *args);
void vg_draw(const char *name, void *const *args);
void vg_permute(void *const *args);
void vg_top_k(void *const *args);

#endif
