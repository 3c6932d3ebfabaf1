/* libvgpu-reach.so: preloaded into programs on the virtual GPU. The shims take the place of
 * NVIDIA's libraries by soname; a program does not ask for them by soname if its CUDA runtime is
 * linked in (nvcc's default), if its RPATH names another folder first, or if it opens a library by
 * its path. There this library writes a jump to the shim's function at the start of each function
 * that the program brought along. Where it cannot (a stripped program), it leaves a note for the
 * recorder.
 *
 *   reach.c        which objects are looked at, and when
 *   reach_elf.c    what an object's file says
 *   reach_jump.c   the jumps
 *   reach_note.c   the note
 *   reach_device.c the card's device files, to programs that look for them
 */
#ifndef VGPU_REACH_H
#define VGPU_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object's file, mapped. */
struct image {
    const unsigned char *bytes;
    size_t size;
};
int image_open(struct image *m, const char *path); /* -1: no ELF file of this machine's kind */
void image_close(struct image *m);
bool image_has_section(const struct image *m, const char *name);
/* Any symbol of this name; defined: a function that is in this object. */
bool image_has_symbol(const struct image *m, const char *name, bool defined);
/* It takes a function of this prefix from another object. */
bool image_imports(const struct image *m, char *prefix);
/* Calls `each` for the functions that the object defines, with their addresses in the file. */
void image_functions(const struct image *m, void (*each)(void *arg, const char *name, uint64_t at),
                     void *arg);

/* Writes a jump to `to` at `from`. -1: the system does not allow it, or this processor is not
 * known. */
int jump_write(void *from, const void *to);

/* Why a program's calls do not reach the virtual GPU. */
enum note {
    NOTE_STRIPPED, /* the CUDA runtime is linked in, and no symbol table says where */
    NOTE_LIBRARY,  /* a library of NVIDIA's own that could not be replaced */
    NOTE_DRIVER,   /* the driver's own interface */
};
/* A file `unreached` in the recording's folder; only the first counts. */
void note_leave(enum note what, const char *path);

#endif
