/* Offsets of members of CPython's structs: those on the way from its runtime to a line of the
 * program. A debugger reads them in this way too. Python does not promise them, so both readers
 * check what they find: the recorder, from outside (analyzer/pyframes), and the agent, from inside
 * (agent/lines).
 *
 * For CPython 3.9 to 3.12 the offsets are those of its headers on 64-bit systems; patch releases do
 * not change them. Later versions describe themselves at the start of _PyRuntime
 * (_Py_DebugOffsets). */
#ifndef GPUPROF_WIRE_PYTHON_LAYOUT_H
#define GPUPROF_WIRE_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of 3.9; of 3.10; of 3.11 and later. */
enum line_table { LINES_LNOTAB, LINES_PAIRS, LINES_LOCATIONS };

/* Offsets in bytes. */
struct python_layout {
    int minor;
    uint16_t interpreters;                      /* in _PyRuntime: the first interpreter */
    uint16_t threads;                           /* in an interpreter: its first thread state */
    uint16_t thread_next, thread_id, native_id; /* in a thread state; native_id 0: there is none */
    uint16_t frame;  /* in a thread state: its frame, or the cframe that points to the frame */
    uint16_t cframe; /* in a cframe: the offset of the frame, + 1; 0: there is no cframe */
    uint16_t previous, executable, instruction;   /* in a frame */
    uint16_t locals;                              /* in a frame: the first local; 0: unknown */
    uint16_t file, name, first_line, lines, code; /* in a code object; code 0: not needed */
    uint16_t text_data[2];                        /* in a str: of ASCII text, of any other text */
    uint16_t bytes_size, bytes_data;
    uint8_t table; /* enum line_table */
    /* 1, 2: `instruction` is an int that counts units of so many bytes; 0: an address. */
    uint8_t instruction_bytes;
    uint8_t tag; /* low bits of `executable` that are not part of the address */
};

enum layout_result { LAYOUT_FOUND, LAYOUT_NOT_YET, LAYOUT_UNKNOWN, LAYOUT_FREE_THREADED };

/* The length (16) and state (32) of str and bytes lie at the same offset in all versions. */
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

/* Which words of _Py_DebugOffsets hold the offsets, as indices of 64-bit words. Each part begins
 * with a size; the members in between differ by version. */
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

/* The layout from `word`, the first PYTHON_SAID_WORDS of _PyRuntime, if they begin with the cookie
 * of _Py_DebugOffsets; else by the minor version, 11 for 3.11. */
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
