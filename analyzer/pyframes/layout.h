/* Where the members of CPython's structs lie that lead from its runtime to a line of the program. A
 * debugger's view: nothing of it is an interface that Python promises, so what is read by it is
 * checked (pyframes.c). */
#ifndef GPUPROF_PYFRAMES_LAYOUT_H
#define GPUPROF_PYFRAMES_LAYOUT_H

#include "analyzer/pyframes/find.h"
#include "analyzer/pyframes/memory.h"

#include <stdint.h>

enum line_table { LINES_LNOTAB, LINES_PAIRS, LINES_LOCATIONS }; /* 3.9; 3.10; 3.11 and later */

/* Offsets in bytes. */
struct python_layout {
    int minor;
    uint16_t interpreters;                      /* of _PyRuntime: the first interpreter */
    uint16_t threads;                           /* of an interpreter: its first thread state */
    uint16_t thread_next, thread_id, native_id; /* native_id 0: there is none */
    uint16_t frame;  /* of a thread state: its frame, or the cframe that knows it */
    uint16_t cframe; /* of that: the frame + 1; 0 = there is no cframe */
    uint16_t previous, executable, instruction;   /* of a frame */
    uint16_t file, name, first_line, lines, code; /* of a code object; code 0: not needed */
    uint16_t text_data[2];                        /* of a str: ASCII, any other one */
    uint16_t bytes_size, bytes_data;
    uint8_t table;             /* enum line_table */
    uint8_t instruction_bytes; /* 1, 2: `instruction` is an int that counts these; 0: an address */
    uint8_t tag;               /* low bits of `executable` that are no part of the address */
};

enum layout_result { LAYOUT_FOUND, LAYOUT_NOT_YET, LAYOUT_UNKNOWN, LAYOUT_FREE_THREADED };

/* Of the interpreter at `place`: as it says itself (3.13 and later), or by its version. */
enum layout_result layout_find(struct memory *m, const struct python_place *place,
                               struct python_layout *layout);

#endif
