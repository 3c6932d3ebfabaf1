/* The values that kernels leave in memory that the host reads back. */
#ifndef VGPU_VALUES_RESULTS_H
#define VGPU_VALUES_RESULTS_H

struct vg_results;

/* Writes what a launch leaves, if that is known. Takes the kernel's mangled name, its arguments,
 * and its grid's x and y. known: cache of what the name means; NULL before the first launch. */
void vg_results_write(_Atomic(const struct vg_results *) *known, const char *name,
                      void *const *args, const unsigned grid[2]);

#endif
