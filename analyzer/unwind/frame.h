/* One frame of a stack: whose it is, and what to call it. */
#ifndef GPUPROF_UNWIND_FRAME_H
#define GPUPROF_UNWIND_FRAME_H

#include "analyzer/unwind/libdw.h"

#include <stdbool.h>
#include <stddef.h>

/* False: the frame is not the program's own, but of CUDA, the C library or the like; or nothing is
 * known of it. pc: of the call. */
bool frame_place(const struct libdw *d, Dwfl_Module *m, Dwarf_Addr pc, char *text, size_t size);

#endif
