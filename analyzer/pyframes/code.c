/* Reads code objects of another process, and Python's three kinds of tables from
 * instructions to lines. */
#include "analyzer/pyframes/code.h"

#include <stdlib.h>
#include <string.h>

/* A path has at most 4096 characters; a table of 64 KiB covers some 10,000 lines. */
enum { MOST_TEXT = 4096, MOST_LINES_BYTES = 1 << 16, TYPE_OFFSET = 8, LENGTH = 16, STATE = 32 };

int codes_init(struct codes *c)
{
    *c = (struct codes){0};
    c->at = calloc(CODES, sizeof *c->at);
    return c->at && str_table_init(&c->texts) == 0 ? 0 : -1;
}

static void forget_all(struct codes *c)
{
    for (size_t i = 0; c->at && i < CODES; i++) {
        free(c->at[i].lines);
        c->at[i] = (struct code){0};
    }
    c->n = 0;
}

void codes_release(struct codes *c)
{
    forget_all(c);
    free(c->at);
    str_table_release(&c->texts);
    *c = (struct codes){0};
}

/* ---- texts ---- */

static size_t put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (char)(first[more] | c >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

static uint32_t character(const uint8_t *bytes, size_t i, size_t width)
{
    uint32_t c = 0; /* of a little-endian machine, as both that are supported */
    memcpy(&c, bytes + i * width, width);
    return c;
}

/* Reads a str in its compact form, which compilers always produce, as UTF-8; control characters
 * become spaces. STR_NONE: none, or not readable. */
static uint32_t read_text(struct codes *c, struct memory *m, const struct python_layout *l,
                          uint64_t at)
{
    uint8_t bytes[MOST_TEXT];
    char text[MOST_TEXT * 4 + 1];
    uint64_t length;
    uint32_t state;
    if (!memory_word(m, at + LENGTH, &length) ||
        !memory_read(m, at + STATE, &state, sizeof state) || length == 0)
        return STR_NONE;
    size_t width = state >> 2 & 7, used = 0;
    bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    if (!compact || (width != 1 && width != 2 && width != 4) || length > MOST_TEXT / width)
        return STR_NONE;
    if (!memory_read(m, at + l->text_data[!ascii], bytes, length * width))
        return STR_NONE;
    for (size_t i = 0; i < length; i++) {
        uint32_t one = character(bytes, i, width);
        if (one > 0x10ffff || one == 0)
            return STR_NONE;
        used += put_utf8(text + used, one < ' ' || one == 0x7f ? ' ' : one);
    }
    return str_intern(&c->texts, text, used);
}

/* ---- code objects ---- */

/* Reads the members that identify the object. False: it is no code object. */
static bool read_head(struct memory *m, const struct python_layout *l, uint64_t code_type,
                      uint64_t address, struct code *head)
{
    uint64_t type;
    *head = (struct code){.address = address, .round = m->round};
    return address % 8 == 0 && memory_word(m, address + TYPE_OFFSET, &type) && type == code_type &&
           memory_word(m, address + l->file, &head->file_at) &&
           memory_word(m, address + l->name, &head->name_at) &&
           memory_word(m, address + l->lines, &head->lines_at) &&
           memory_read(m, address + l->first_line, &head->first_line, sizeof head->first_line);
}

static bool read_rest(struct codes *c, struct memory *m, const struct python_layout *l,
                      struct code *code)
{
    uint64_t size;
    code->file = read_text(c, m, l, code->file_at);
    code->function = read_text(c, m, l, code->name_at);
    if (code->file == STR_NONE || code->function == STR_NONE || code->first_line < 0 ||
        !memory_word(m, code->lines_at + l->bytes_size, &size) || size > MOST_LINES_BYTES)
        return false;
    code->lines = size ? malloc(size) : NULL;
    code->lines_bytes = size;
    if (size == 0 ||
        (code->lines && memory_read(m, code->lines_at + l->bytes_data, code->lines, size)))
        return true;
    free(code->lines);
    return false;
}

static bool same(const struct code *a, const struct code *b)
{
    return a->file_at == b->file_at && a->name_at == b->name_at && a->lines_at == b->lines_at &&
           a->first_line == b->first_line;
}

const struct code *codes_find(struct codes *c, struct memory *m, const struct python_layout *l,
                              uint64_t code_type, uint64_t address)
{
    struct code head;
    size_t slot = (size_t)(address / 16 * 0x9e3779b97f4a7c15u >> 32) & (CODES - 1);
    while (c->at[slot].address && c->at[slot].address != address)
        slot = (slot + 1) & (CODES - 1);
    struct code *known = &c->at[slot];
    if (known->address && m->round - known->round < CODE_ROUNDS)
        return known;
    if (!read_head(m, l, code_type, address, &head))
        return NULL;
    if (known->address && same(known, &head)) {
        known->round = m->round;
        return known;
    }
    if (!read_rest(c, m, l, &head))
        return NULL;
    if (!known->address && c->n >= CODES / 2) { /* the program creates code objects without end */
        forget_all(c);
        return codes_find(c, m, l, code_type, address);
    }
    c->n += !known->address;
    free(known->lines);
    *known = head;
    return known;
}

/* ---- lines ---- */

/* Python 3.9: pairs of increments for the instruction's address and the line. */
static int line_by_lnotab(const struct code *c, int64_t at)
{
    int64_t address = 0, line = c->first_line;
    for (size_t i = 0; i + 1 < c->lines_bytes; i += 2) {
        address += c->lines[i];
        if (address > at)
            break;
        line += (int8_t)c->lines[i + 1];
    }
    return (int)line;
}

/* Python 3.10: pairs of how many bytes of instructions belong to a line, and the line's difference
 * to the previous one; -128 = these instructions have no line. */
static int line_by_pairs(const struct code *c, int64_t at)
{
    int64_t end = 0, line = c->first_line, last = c->first_line;
    for (size_t i = 0; i + 1 < c->lines_bytes; i += 2) {
        int8_t step = (int8_t)c->lines[i + 1];
        end += c->lines[i];
        line += step == -128 ? 0 : step;
        last = step == -128 ? last : line;
        if (at < end)
            break;
    }
    return (int)last;
}

/* A number of 6 bits per byte, the lowest first; bit 6 says that more follow. */
static int64_t varint(const struct code *c, size_t *i)
{
    uint64_t value = 0;
    for (unsigned shift = 0; *i < c->lines_bytes && shift < 36; shift += 6) {
        uint8_t byte = c->lines[(*i)++];
        value |= (uint64_t)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return (int64_t)value;
}

static int64_t signed_varint(const struct code *c, size_t *i)
{
    int64_t v = varint(c, i);
    return v & 1 ? -(v >> 1) : v >> 1;
}

/* Python 3.11 and later: the first byte of an entry has its form and its number of instructions (of
 * two bytes each). Only some forms change the line. */
static int line_by_locations(const struct code *c, int64_t at)
{
    int64_t end = 0, line = c->first_line;
    for (size_t i = 0; i < c->lines_bytes;) {
        uint8_t first = c->lines[i++];
        unsigned form = first >> 3 & 15;
        end += ((first & 7) + 1) * 2;
        if (form == 13 || form == 14)
            line += signed_varint(c, &i);
        else if (form >= 10 && form <= 12)
            line += form - 10;
        if (at < end)
            return form == 15 ? 0 : (int)line;
        while (i < c->lines_bytes && !(c->lines[i] & 0x80)) /* skips the columns */
            i++;
    }
    return c->first_line;
}

int code_line(const struct code *c, enum line_table table, int64_t at)
{
    int line = table == LINES_LNOTAB  ? line_by_lnotab(c, at)
               : table == LINES_PAIRS ? line_by_pairs(c, at)
                                      : line_by_locations(c, at);
    return line > 0 && line < 10000000 ? line : 0;
}
