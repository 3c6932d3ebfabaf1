/* Memory of another process, copied by the kernel (process_vm_readv) while that process
 * continues to run. Reads whole pages, and keeps them until memory_forget: what lies on one page
 * is read at one moment, and a stack of some thirty frames takes two or three system calls of
 * about a microsecond each. */
#ifndef GPUPROF_PYFRAMES_MEMORY_H
#define GPUPROF_PYFRAMES_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MEMORY_PAGE = 4096, MEMORY_PAGES = 64 };

struct memory {
    pid_t pid;
    int error; /* errno of the last failed read; 0 = none failed since memory_open */
    uint64_t round;
    struct {
        uint64_t address, round;
        uint8_t bytes[MEMORY_PAGE];
    } page[MEMORY_PAGES];
};

void memory_open(struct memory *m, pid_t pid);
/* Later reads copy the pages again. */
void memory_forget(struct memory *m);
/* Copies n bytes from `address` in the process. False: not all of them are mapped, or the kernel
 * refuses (EPERM in m->error). */
bool memory_read(struct memory *m, uint64_t address, void *to, size_t n);

static inline bool memory_word(struct memory *m, uint64_t address, uint64_t *word)
{
    return memory_read(m, address, word, sizeof *word);
}

#endif
