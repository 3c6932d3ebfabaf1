/* Where the members of CPython's structs lie that lead from its runtime to a line of the program. A
 * debugger's view: nothing of it is an interface that Python promises, so what is read by it is
 * checked, by the recorder outside (analyzer/pyframes) and by the agent inside (agent/lines).
 *
 * Layouts of CPython 3.9 to 3.12 as its headers have them on 64-bit systems (offsetof of each
 * member; they do not change between patch releases), and for later ones what _PyRuntime itself
 * says at its start (_Py_DebugOffsets). */
#ifndef GPUPROF_WIRE_PYTHON_LAYOUT_H
#define GPUPROF_WIRE_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
    uint16_t locals;                              /* of it: the first one; 0 = not known */
    uint16_t file, name, first_line, lines, code; /* of a code object; code 0: not needed */
    uint16_t text_data[2];                        /* of a str: ASCII, any other one */
    uint16_t bytes_size, bytes_data;
    uint8_t table;             /* enum line_table */
    uint8_t instruction_bytes; /* 1, 2: `instruction` is an int that counts these; 0: an address */
    uint8_t tag;               /* low bits of `executable` that are no part of the address */
};

enum layout_result { LAYOUT_FOUND, LAYOUT_NOT_YET, LAYOUT_UNKNOWN, LAYOUT_FREE_THREADED };

/* Members of str and bytes are where they are in all versions: length 16, state 32. */
static const struct python_layout python_layouts[] = {
    {.minor = 9,
     .interpreters = 32,
     .threads = 8,
     .thread_next = 8,
     .thread_id = 176,
     .frame = 24,
     .previous = 24,
     .executable = 32,
     .instruction = 104,
     .file = 104,
     .name = 112,
     .first_line = 40,
     .lines = 120,
     .text_data = {48, 72},
     .bytes_size = 16,
     .bytes_data = 32,
     .table = LINES_LNOTAB,
     .instruction_bytes = 1},
    {.minor = 10,
     .interpreters = 32,
     .threads = 8,
     .thread_next = 8,
     .thread_id = 176,
     .frame = 24,
     .previous = 24,
     .executable = 32,
     .instruction = 96,
     .file = 104,
     .name = 112,
     .first_line = 40,
     .lines = 120,
     .text_data = {48, 72},
     .bytes_size = 16,
     .bytes_data = 32,
     .table = LINES_PAIRS,
     .instruction_bytes = 2},
    {.minor = 11,
     .interpreters = 40,
     .threads = 16,
     .thread_next = 8,
     .thread_id = 152,
     .native_id = 160,
     .frame = 56,
     .cframe = 8 + 1,
     .previous = 48,
     .executable = 32,
     .instruction = 56,
     .locals = 72,
     .file = 112,
     .name = 128,
     .first_line = 72,
     .lines = 136,
     .code = 184,
     .text_data = {48, 72},
     .bytes_size = 16,
     .bytes_data = 32,
     .table = LINES_LOCATIONS},
    {.minor = 12,
     .interpreters = 40,
     .threads = 72,
     .thread_next = 8,
     .thread_id = 136,
     .native_id = 144,
     .frame = 56,
     .cframe = 0 + 1,
     .previous = 8,
     .executable = 0,
     .instruction = 56,
     .locals = 72,
     .file = 112,
     .name = 128,
     .first_line = 68,
     .lines = 136,
     .code = 192,
     .text_data = {40, 56},
     .bytes_size = 16,
     .bytes_data = 32,
     .table = LINES_LOCATIONS},
};

/* The parts of _Py_DebugOffsets that are read, as numbers of its 64-bit words. Each part begins
 * with a size; which members stand between them differs by version. */
struct python_said {
    int minor;
    uint8_t interpreters, threads;                           /* runtime, interpreter */
    uint8_t thread_next, thread_frame, thread_id, native_id; /* thread state */
    uint8_t previous, executable, instruction, locals;       /* frame */
    uint8_t file, qualname, lines, first_line, code;         /* code object */
    uint8_t tag;
};

static const struct python_said python_said_by[] = {
    {13, 5, 9, 21, 23, 24, 25, 29, 30, 31, 32, 35, 37, 38, 39, 43, 0},
    {14, 5, 9, 24, 26, 27, 28, 32, 33, 34, 35, 40, 42, 43, 44, 48, 3},
};

enum { PYTHON_SAID_WORDS = 64, PYTHON_COOKIE_WORDS = 1, PYTHON_MOST_OFFSET = 32768 };

static const char python_cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};

static inline bool python_take(const uint64_t *word, uint8_t which, uint16_t *offset)
{
    *offset = (uint16_t)word[which];
    return word[which] < PYTHON_MOST_OFFSET && word[which] % 4 == 0;
}

static inline enum layout_result python_layout_said(const uint64_t *word, struct python_layout *l)
{
    int minor = (int)(word[PYTHON_COOKIE_WORDS] >> 16 & 0xff);
    const struct python_said *s = NULL;
    for (size_t i = 0; i < sizeof python_said_by / sizeof *python_said_by; i++)
        if (python_said_by[i].minor == minor && word[PYTHON_COOKIE_WORDS] >> 24 == 3)
            s = &python_said_by[i];
    if (!s)
        return LAYOUT_UNKNOWN;
    if (word[2] != 0)
        return LAYOUT_FREE_THREADED;
    *l = (struct python_layout){.minor = minor,
                                .text_data = {40, 56},
                                .bytes_size = 16,
                                .bytes_data = 32,
                                .table = LINES_LOCATIONS,
                                .tag = s->tag};
    bool fine =
        python_take(word, s->interpreters, &l->interpreters) &&
        python_take(word, s->threads, &l->threads) &&
        python_take(word, s->thread_next, &l->thread_next) &&
        python_take(word, s->thread_frame, &l->frame) &&
        python_take(word, s->thread_id, &l->thread_id) &&
        python_take(word, s->native_id, &l->native_id) &&
        python_take(word, s->previous, &l->previous) &&
        python_take(word, s->executable, &l->executable) &&
        python_take(word, s->instruction, &l->instruction) &&
        python_take(word, s->locals, &l->locals) && python_take(word, s->file, &l->file) &&
        python_take(word, s->qualname, &l->name) && python_take(word, s->lines, &l->lines) &&
        python_take(word, s->first_line, &l->first_line) && python_take(word, s->code, &l->code);
    return fine ? LAYOUT_FOUND : LAYOUT_UNKNOWN;
}

/* What _PyRuntime says, if `word` (PYTHON_SAID_WORDS of its start) begins with its cookie; else by
 * the version, 11 for 3.11. */
static inline enum layout_result python_layout_of(const uint64_t *word, int minor,
                                                  struct python_layout *layout)
{
    if (memcmp(word, python_cookie, sizeof python_cookie) == 0)
        return python_layout_said(word, layout);
    for (size_t i = 0; i < sizeof python_layouts / sizeof *python_layouts; i++)
        if (python_layouts[i].minor == minor) {
            *layout = python_layouts[i];
            return LAYOUT_FOUND;
        }
    return LAYOUT_UNKNOWN;
}

#endif
