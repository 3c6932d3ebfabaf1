/* PyTorch's kernel that copies values of one type into a tensor of another. */
#ifndef VGPU_CODE_CAST_H
#define VGPU_CODE_CAST_H

#include <stdbool.h>

/* Whether the program may read at `p` what a kernel would have left there. */
bool vg_writable(const void *p);

bool vg_casts(const char *name); /* a mangled one */
/* Casts a few values, if the types are ones that it knows; the kernel's arguments. */
void vg_cast(void *const *args);

#endif
