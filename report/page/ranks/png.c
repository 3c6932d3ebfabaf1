/* Writes a picture of levels as PNG (png.h). */
#include "report/page/ranks/png.h"

#include "report/page/base64.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct png {
    unsigned char *at;
    size_t n;
};

static void put_u32(unsigned char *at, size_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(v >> (24 - 8 * i));
}

/* Appends a chunk: length, name, data, checksum. There is room for it. */
static void put_chunk(struct png *p, const char *name, const unsigned char *data, size_t n)
{
    unsigned char *at = p->at + p->n;
    put_u32(at, n);
    memcpy(at + 4, name, 4);
    if (n)
        memcpy(at + 8, data, n);
    put_u32(at + 8 + n, crc32(0, at + 4, (uInt)n + 4));
    p->n += n + 12;
}

/* The compressed lines. Each line begins with the number of its filter, 0: none. */
static unsigned char *squeeze(const unsigned char *levels, size_t width, size_t height, uLongf *n)
{
    size_t size = (width + 1) * height;
    unsigned char *lines = malloc(size), *out = NULL;
    *n = compressBound(size);
    for (size_t i = 0; lines && i < height; i++) {
        lines[i * (width + 1)] = 0;
        memcpy(lines + i * (width + 1) + 1, levels + i * width, width);
    }
    if (lines && (out = malloc(*n)) && compress2(out, n, lines, size, 9) != Z_OK) {
        free(out);
        out = NULL;
    }
    free(lines);
    return out;
}

int png_levels(FILE *f, unsigned rgb, const unsigned char *levels, size_t width, size_t height)
{
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char head[13] = {0}, palette[256 * 3], alpha[256];
    uLongf n;
    unsigned char *data = squeeze(levels, width, height, &n);
    struct png p = {data ? malloc(n + 2048) : NULL, sizeof signature};
    if (p.at) {
        put_u32(head, width);
        put_u32(head + 4, height);
        head[8] = 8; /* bits per pixel */
        head[9] = 3; /* pixels are indices into a palette */
        for (int i = 0; i < 256; i++) {
            for (int c = 0; c < 3; c++)
                palette[3 * i + c] = (unsigned char)(rgb >> (16 - 8 * c));
            alpha[i] = (unsigned char)i;
        }
        memcpy(p.at, signature, sizeof signature);
        put_chunk(&p, "IHDR", head, sizeof head);
        put_chunk(&p, "PLTE", palette, sizeof palette);
        put_chunk(&p, "tRNS", alpha, sizeof alpha);
        put_chunk(&p, "IDAT", data, n);
        put_chunk(&p, "IEND", NULL, 0);
        base64_put(f, p.at, p.n);
    }
    int rc = p.at ? 0 : -1;
    free(data);
    free(p.at);
    return rc;
}
