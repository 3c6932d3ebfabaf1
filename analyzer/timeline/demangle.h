/* Readable kernel names. A small demangler for Itanium C++ names as nvcc and hipcc emit them; what
 * it cannot read is shown by its innermost identifier, or as it is. Needs no C++ library, so names
 * are the same on every machine.
 *
 * Not __cxa_demangle: on the names of real traces it takes 1.7 us a name in place of 0.5 us, and on
 * a hostile one it has no bound. A name of 253 bytes whose types repeat each other makes it write
 * 436 MB in 2.8 s; this one stops at DEMANGLED_MAX. */
#ifndef GPUPROF_TIMELINE_DEMANGLE_H
#define GPUPROF_TIMELINE_DEMANGLE_H

#include <stddef.h>

enum { DEMANGLED_MAX = 8192 }; /* longer names are not read */

/* Name with namespaces and template arguments, without return type and parameters. 0, or -1 when
 * the text is not a name this can read; `out` is then empty. */
int demangle(const char *mangled, char *out, size_t size);
/* What reports show: demangled; without return type, parameters and namespaces; cut to fit. */
void kernel_display_name(const char *recorded, char *out, size_t size);

#endif
