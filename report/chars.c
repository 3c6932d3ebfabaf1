/* Tells which characters of a name would act on a terminal or another viewer (chars.h). */
#include "report/chars.h"

#include <string.h>

static bool continuation(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

size_t utf8_next(const char *s, size_t n, uint32_t *code)
{
    const unsigned char *u = (const unsigned char *)s;
    *code = 0xfffd;
    if (u[0] < 0x80) {
        *code = u[0];
        return 1;
    }
    if (u[0] >= 0xc2 && u[0] <= 0xdf && n >= 2 && continuation(u[1])) {
        *code = (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
        return 2;
    }
    if ((u[0] & 0xf0) == 0xe0 && n >= 3 && continuation(u[1]) && continuation(u[2])) {
        uint32_t c = (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
        if (c < 0x800 || (c >= 0xd800 && c <= 0xdfff))
            return 1;
        *code = c;
        return 3;
    }
    if (u[0] >= 0xf0 && u[0] <= 0xf4 && n >= 4 && continuation(u[1]) && continuation(u[2]) &&
        continuation(u[3])) {
        uint32_t c =
            (u[0] & 7u) << 18 | (u[1] & 0x3fu) << 12 | (u[2] & 0x3fu) << 6 | (u[3] & 0x3fu);
        if (c < 0x10000 || c > 0x10ffff)
            return 1;
        *code = c;
        return 4;
    }
    return 1;
}

bool char_acts(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } spans[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200e, 0x200f}, {0x2028, 0x202e},
        {0x2066, 0x206f}, {0xfdd0, 0xfdef}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        if (code >= spans[i].first && code <= spans[i].last)
            return true;
    return (code & 0xfffe) == 0xfffe;
}

bool text_commands(const char *s, size_t n)
{
    static const char *const known[] = {"##[", "##vso["};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (n >= strlen(known[i]) && memcmp(s, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}
