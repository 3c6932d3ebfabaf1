/* PyTorch's kernel that copies values of one type into a tensor of another. */
#ifndef VGPU_VALUES_CAST_H
#define VGPU_VALUES_CAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if a kernel may write to `p` and the program may read it. */
bool vg_writable(const void *p);
/* The same for `bytes` bytes, which must be no more than copies move. */
bool vg_small(const void *p, size_t bytes);

/* The memory around `p` that a kernel may have written; empty: none. For many tests against the
 * same memory. */
struct vg_stretch {
    uintptr_t from, to;
};
struct vg_stretch vg_stretch_of(const void *p);
static inline bool vg_within(struct vg_stretch s, const void *p, size_t bytes)
{
    uintptr_t at = (uintptr_t)p;
    return at >= s.from && at < s.to && bytes <= s.to - at;
}

/* By c10::ScalarType: bytes of an integer or a flag (0: another type); the value of one. */
unsigned vg_integer_bytes(int type);
int64_t vg_integer_at(const char *from, int type);

bool vg_casts(const char *name); /* name: mangled */
/* Casts a few values, if it knows the types. Takes the kernel's name and arguments. */
void vg_cast(const char *name, void *const *args);

#endif
