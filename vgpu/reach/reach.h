/* libvgpu-reach.so is preloaded into programs on the virtual GPU. The shims replace NVIDIA's
 * libraries by having their sonames. That fails if a program has its CUDA runtime linked in (nvcc's
 * default), if its RPATH names another folder first, or if it opens a library by its path. In these
 * cases this library writes a jump to the shim's function at the start of each CUDA function that
 * the program brought along. Where it cannot (a stripped program), it leaves a note for the
 * recorder.
 *
 *   reach.c        which objects are looked at, and when
 *   reach_elf.c    reads an object's file
 *   reach_jump.c   writes the jumps
 *   reach_note.c   writes the note
 *   reach_device.c makes programs find the card's device files */
#ifndef VGPU_REACH_H
#define VGPU_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The mapped file of an object. */
struct image {
    const unsigned char *bytes;
    size_t size;
};
/* -1: not an ELF file for this kind of machine. */
int image_open(struct image *m, const char *path);
void image_close(struct image *m);
bool image_has_section(const struct image *m, const char *name);
/* True if the object has a symbol of this name; with `defined`: a function that the object itself
 * defines. */
bool image_has_symbol(const struct image *m, const char *name, bool defined);
/* True if the object imports a function whose name begins with `prefix`. */
bool image_imports(const struct image *m, char *prefix);
/* Calls `each` for every function that the object defines, with its address in the file. */
void image_functions(const struct image *m, void (*each)(void *arg, const char *name, uint64_t at),
                     void *arg);

/* Writes a jump to `to` at the start of `from`. -1: the system does not allow it, or the kind of
 * processor is not supported. */
int jump_write(void *from, const void *to);

/* Why the program's calls do not reach the virtual GPU. */
enum note {
    NOTE_STRIPPED, /* the CUDA runtime is linked in, and no symbol table tells where */
    NOTE_LIBRARY,  /* a library of NVIDIA that could not be replaced */
    NOTE_DRIVER,   /* a driver that could not be replaced */
};
/* Writes the file `unreached` into the recording's folder. Only the first note counts. */
void note_leave(enum note what, const char *path);

#endif
