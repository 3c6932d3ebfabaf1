/* Code objects of another process: file, function, and the line of an instruction. */
#ifndef GPUPROF_PYFRAMES_CODE_H
#define GPUPROF_PYFRAMES_CODE_H

#include "analyzer/pyframes/layout.h"
#include "base/str.h"

#include <stdbool.h>

/* One that was read. Another object may take its place: so what it says of itself is compared, once
 * in CODE_ROUNDS walks, because a walk of eleven frames would else read eleven pages more. */
enum { CODE_ROUNDS = 64 };
struct code {
    uint64_t address;
    uint64_t round;                      /* of the memory, when it was compared last */
    uint64_t file_at, name_at, lines_at; /* addresses, as the object has them */
    int32_t first_line;
    uint32_t file, function; /* ids in texts */
    uint8_t *lines;          /* its table of lines */
    size_t lines_bytes;
};

enum { CODES = 4096 }; /* at once; a power of two */

struct codes {
    struct str_table texts;
    struct code *at; /* open addressing by address; address 0 = free */
    size_t n;
};

int codes_init(struct codes *c); /* -1: out of memory */
void codes_release(struct codes *c);
/* The code object at `address`; NULL: there is none, or it cannot be read now. */
const struct code *codes_find(struct codes *c, struct memory *m, const struct python_layout *l,
                              uint64_t code_type, uint64_t address);
/* The line of an instruction, `at` bytes behind the first one; 0: not known. */
int code_line(const struct code *c, enum line_table table, int64_t at);

#endif
