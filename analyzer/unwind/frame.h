/* One frame of a stack: whether it is the program's own, and its name. */
#ifndef GPUPROF_UNWIND_FRAME_H
#define GPUPROF_UNWIND_FRAME_H

#include "analyzer/unwind/libdw.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes the frame's place to `text`. False: the frame belongs to CUDA, the C library or the like,
 * or a header. pc: address of the call. */
bool frame_place(const struct libdw *d, Dwfl_Module *m, Dwarf_Addr pc, char *text, size_t size);

#endif
