/* Device code that a program loads at run time: a cubin (ELF), PTX text or a fat binary. Only the
 * kernels' names and what their launch needs are read. */
#ifndef VGPU_CORE_IMAGE_H
#define VGPU_CORE_IMAGE_H

#include "reference_workloads/vgpu/core/core_function.h"

/* A copy of what is needed to find kernels in it, to be freed; NULL: it is no device code. */
void *vg_image_copy(const void *image);
/* Finds a kernel in a copy and fills what the image tells of it. False: there is none of this name.
 * A fat binary's contents may be compressed: it is taken to hold whatever is asked for. */
bool vg_image_kernel(const void *image, const char *name, struct vg_function *f);

#endif
