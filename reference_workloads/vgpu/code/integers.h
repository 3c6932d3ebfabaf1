/* A few integers that PyTorch's kernels compute: ranges, running sums, joined tensors and
 * what gather() and scatter() move, which
 * programs read back as sizes, indices and tokens. */
#ifndef VGPU_CODE_INTEGERS_H
#define VGPU_CODE_INTEGERS_H

enum vg_integers { VG_NO_INTEGERS, VG_RANGE, VG_RUNNING_SUM, VG_JOIN, VG_PLACE };

enum vg_integers vg_integers_of(const char *name); /* a mangled one */
/* The kernel's arguments; joined: how many tensors one launch joins (its grid's y). */
void vg_integers_write(enum vg_integers what, const char *name, void *const *args, unsigned joined);

#endif
