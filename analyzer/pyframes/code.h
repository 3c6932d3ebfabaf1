/* Code objects of another process: file, function, and the line of an instruction. */
#ifndef GPUPROF_PYFRAMES_CODE_H
#define GPUPROF_PYFRAMES_CODE_H

#include "analyzer/pyframes/layout.h"
#include "base/str.h"

#include <stdbool.h>

/* A code object that was read. Another object may later have its address, so its identifying
 * members are compared again once in CODE_ROUNDS walks. Comparing each time would read eleven more
 * pages for a walk of eleven frames. */
enum { CODE_ROUNDS = 64 };
struct code {
    uint64_t address;
    uint64_t round;                      /* round of the memory in which it was last compared */
    uint64_t file_at, name_at, lines_at; /* addresses of its members in the process */
    int32_t first_line;
    uint32_t file, function; /* ids in codes.texts */
    uint8_t *lines;          /* its table of lines */
    size_t lines_bytes;
};

enum { CODES = 4096 }; /* most objects kept; a power of two */

struct codes {
    struct str_table texts;
    struct code *at; /* open addressing by address; address 0 = free */
    size_t n;
};

int codes_init(struct codes *c); /* -1: out of memory */
void codes_release(struct codes *c);
/* The code object at `address`. NULL: it is no code object, or cannot be read now. */
const struct code *codes_find(struct codes *c, struct memory *m, const struct python_layout *l,
                              uint64_t code_type, uint64_t address);
/* The line of an instruction `at` bytes after the first one; 0: not known. */
int code_line(const struct code *c, enum line_table table, int64_t at);

#endif
