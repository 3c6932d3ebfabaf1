/* Readable kernel names: a small demangler for Itanium C++ names as nvcc and hipcc write them. For
 * a name that it cannot read, reports show its innermost identifier or the name itself. It needs no
 * C++ library, so names look the same on every machine.
 *
 * __cxa_demangle is not used: on the names of real traces it takes 1.7 us per name instead of 0.5
 * us, and on a hostile one it has no bound. A name of 253 bytes whose types repeat each other makes
 * it write 436 MB in 2.8 s; this one stops at DEMANGLED_MAX. */
#ifndef GPUPROF_TIMELINE_DEMANGLE_H
#define GPUPROF_TIMELINE_DEMANGLE_H

#include <stddef.h>

enum { DEMANGLED_MAX = 8192 }; /* longer results are refused */

/* Writes the name with namespaces and template arguments, without return type and parameters. 0, or
 * -1 if the text is no name that this can read, or too long; `out` is then empty. */
int demangle(const char *mangled, char *out, size_t size);
/* The name as reports show it: demangled, without return type, parameters and
 * namespaces, and shortened. */
void kernel_display_name(const char *recorded, char *out, size_t size);

#endif
