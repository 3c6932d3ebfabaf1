/* The record of memory that a framework's allocator gave out. */
#include "agent/python/hook.h"

#include <string.h>

#include "agent/core/spool.h"

void gpuprof_hook_piece(int device, int64_t time_ns, int64_t bytes, int64_t address, int64_t in_use,
                        int64_t held, const char *file, const char *function, int line)
{
    struct thread *t = thread_enter();
    if (!t)
        return;
    struct spool_rec_piece *r = ring_reserve(t, SPOOL_REC_PIECE, sizeof *r);
    if (r) {
        r->head.start_ns = r->head.end_ns = time_ns;
        r->bytes = bytes;
        r->address = address;
        r->in_use = in_use;
        r->held = held;
        r->file = *file ? strings_add(file, strlen(file)) : 0;
        r->function = strings_add(function, strlen(function));
        r->line = line;
        r->device = (uint32_t)device;
        ring_commit(t);
    }
    thread_leave(t);
}
