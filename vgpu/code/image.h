/* Device code that a program contains or loads at run time: a cubin (ELF), PTX text or a fat
 * binary. */
#ifndef VGPU_CODE_IMAGE_H
#define VGPU_CODE_IMAGE_H

#include "code/function.h"

bool vg_image_is_fat(const void *image);
/* Copies what is needed to find kernels in it; to be freed. NULL: it is no device code. */
void *vg_image_copy(const void *image);
/* Finds a kernel and fills f from the image. arch: the device's compute capability times ten.
 * False: there is none of this name. A fat binary that cannot be unpacked is assumed to contain any
 * kernel. */
bool vg_image_kernel(const void *image, const char *name, int arch, struct vg_function *f);
enum vg_found { VG_FOUND, VG_NOT_THERE, VG_CANNOT_TELL };

/* A variable of the image. */
struct vg_variable {
    size_t size;
    bool managed; /* the host may use its address, too */
};
/* Finds a variable. VG_CANNOT_TELL: the image has parts that cannot be read. */
enum vg_found vg_image_variable(const void *image, const char *name, struct vg_variable *out);
/* Bytes that a thread of the kernel moves, by the machine code of an image without PTX (a cubin);
 * -1: unknown (ptx/sass.h). */
double vg_image_moves(const void *image, const char *name);
/* The PTX that contains the kernel; to be freed. NULL: none does. */
char *vg_image_ptx(const void *image, const char *name, int arch);

#endif
