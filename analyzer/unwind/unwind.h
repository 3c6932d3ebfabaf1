/* From the bytes of a stack to the line of the program that called: unwound by the DWARF tables of
 * the files that the process has mapped, so the program needs no frame pointers. elfutils' libdw
 * does it; it is opened when the first stack comes, and a gpuprof without it gives no places.
 *
 * Files are read on this machine only; debug information is looked for in the files themselves and
 * under /usr/lib/debug. Nothing is downloaded. Not thread-safe. */
#ifndef GPUPROF_UNWIND_UNWIND_H
#define GPUPROF_UNWIND_UNWIND_H

#include "wire/spool_format.h"

/* Why this gpuprof finds no lines, one clause; NULL: it does. */
const char *unwind_missing(void);

struct unwinder;
/* `maps` as in /proc/PID/maps. NULL: libdw is missing or cannot read them. */
struct unwinder *unwind_open(int pid, const char *maps, size_t size);
/* What the process has mapped meanwhile. */
void unwind_reload(struct unwinder *u, const char *maps, size_t size);
void unwind_close(struct unwinder *u);

enum unwind_result {
    UNWIND_FOUND,
    UNWIND_NOTHING, /* no frame is the program's own, or none can be told */
    UNWIND_UNKNOWN, /* a frame lies in a file that is not in the maps */
};
/* The innermost frame that is the program's own: "train.c:211 (train_step)"; without debug
 * information "train_step+0x2f (train)", without symbols "train+0x1a2f". */
enum unwind_result unwind_place(struct unwinder *u, const struct spool_rec_stack *r,
                                const void *stack, char *text, size_t size);

#endif
