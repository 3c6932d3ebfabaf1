/* Layouts of CPython 3.9 to 3.12 as its headers have them on 64-bit systems (offsetof of each
 * member; they do not change between patch releases), and for later ones what _PyRuntime itself
 * says at its start (_Py_DebugOffsets). */
#include "analyzer/pyframes/layout.h"

#include <string.h>

/* Members of str and bytes are where they are in all versions: length 16, state 32. */
static const struct python_layout known[] = {
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

/* ---- what the interpreter says ---- */

/* The parts of _Py_DebugOffsets that are read, as numbers of its 64-bit words. Each part begins
 * with a size; which members stand between them differs by version. */
struct said {
    int minor;
    uint8_t interpreters, threads;                           /* runtime, interpreter */
    uint8_t thread_next, thread_frame, thread_id, native_id; /* thread state */
    uint8_t previous, executable, instruction;               /* frame */
    uint8_t file, qualname, lines, first_line, code;         /* code object */
    uint8_t tag;
};

static const struct said said_by[] = {
    {13, 5, 9, 21, 23, 24, 25, 29, 30, 31, 35, 37, 38, 39, 43, 0},
    {14, 5, 9, 24, 26, 27, 28, 32, 33, 34, 40, 42, 43, 44, 48, 3},
};

enum { SAID_WORDS = 64, COOKIE_WORDS = 1, MOST_OFFSET = 32768 };

static const char cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};

static bool take(const uint64_t *word, uint8_t which, uint16_t *offset)
{
    *offset = (uint16_t)word[which];
    return word[which] < MOST_OFFSET && word[which] % 4 == 0;
}

static enum layout_result by_itself(const uint64_t *word, struct python_layout *l)
{
    int minor = (int)(word[COOKIE_WORDS] >> 16 & 0xff);
    const struct said *s = NULL;
    for (size_t i = 0; i < sizeof said_by / sizeof *said_by; i++)
        if (said_by[i].minor == minor && word[COOKIE_WORDS] >> 24 == 3)
            s = &said_by[i];
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
        take(word, s->interpreters, &l->interpreters) && take(word, s->threads, &l->threads) &&
        take(word, s->thread_next, &l->thread_next) && take(word, s->thread_frame, &l->frame) &&
        take(word, s->thread_id, &l->thread_id) && take(word, s->native_id, &l->native_id) &&
        take(word, s->previous, &l->previous) && take(word, s->executable, &l->executable) &&
        take(word, s->instruction, &l->instruction) && take(word, s->file, &l->file) &&
        take(word, s->qualname, &l->name) && take(word, s->lines, &l->lines) &&
        take(word, s->first_line, &l->first_line) && take(word, s->code, &l->code);
    return fine ? LAYOUT_FOUND : LAYOUT_UNKNOWN;
}

enum layout_result layout_find(struct memory *m, const struct python_place *place,
                               struct python_layout *layout)
{
    uint64_t word[SAID_WORDS], version = 0;
    int minor = place->minor;
    if (!memory_read(m, place->runtime, word, sizeof word))
        return LAYOUT_NOT_YET;
    if (memcmp(word, cookie, sizeof cookie) == 0)
        return by_itself(word, layout);
    if (place->version && memory_word(m, place->version, &version))
        minor = version >> 24 == 3 ? (int)(version >> 16 & 0xff) : 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].minor == minor) {
            *layout = known[i];
            return LAYOUT_FOUND;
        }
    return LAYOUT_UNKNOWN;
}
