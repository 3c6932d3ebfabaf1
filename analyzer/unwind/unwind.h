/* Finds the program's line in a copied stack. Unwinds it by the DWARF tables of the files that the
 * process has mapped, so the program needs no frame pointers. It uses elfutils' libdw, which is
 * opened when the first stack comes; without libdw no lines are found.
 *
 * Only files on this machine are read; debug information is searched in the files themselves and
 * under /usr/lib/debug. Nothing is downloaded. Not thread-safe. */
#ifndef GPUPROF_UNWIND_UNWIND_H
#define GPUPROF_UNWIND_UNWIND_H

#include "wire/spool_format.h"

/* Why this gpuprof cannot find lines, as one clause; NULL: it can. */
const char *unwind_missing(void);

struct unwinder;
/* `maps`: text of /proc/PID/maps, `size` bytes. NULL: libdw is missing, or out of memory. */
struct unwinder *unwind_open(int pid, const char *maps, size_t size);
/* Updates the mapped files from a new text of maps. */
void unwind_reload(struct unwinder *u, const char *maps, size_t size);
void unwind_close(struct unwinder *u);

enum unwind_result {
    UNWIND_FOUND,
    UNWIND_NOTHING, /* no frame is the program's own, or none can be named */
    UNWIND_UNKNOWN, /* a frame lies in a file that is not in the maps */
};
/* Writes the innermost frame that is the program's own: "train.c:211 (train_step)"; without debug
 * information "train_step+0x2f (train)", without symbols "train+0x1a2f". */
enum unwind_result unwind_place(struct unwinder *u, const struct spool_rec_stack *r,
                                const void *stack, char *text, size_t size);

#endif
