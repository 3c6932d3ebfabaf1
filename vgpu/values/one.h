/* Results of PyTorch's kernels for a single number, which programs read back and branch on. */
#ifndef VGPU_VALUES_ONE_H
#define VGPU_VALUES_ONE_H

enum vg_one {
    VG_NOT_ONE,
    VG_COMPARED, /* with itself or with infinity, as in isnan(), isinf() and isfinite() */
    VG_BOUNDED,  /* with a scalar or another number: x >= a, x < a */
    VG_NUMBER,   /* a function that gives a number of 4 bytes; WIDE: of 8 */
    VG_WIDE_NUMBER,
    VG_ONES
};

enum vg_one vg_one_of(const char *name); /* name: mangled */
/* Writes the result if there is one number and the answer is known. Takes the kernel's name and
 * arguments. */
void vg_one_write(enum vg_one what, const char *name, void *const *args);

#endif
