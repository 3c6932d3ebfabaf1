/* A stream that is gzipped and written as base64 into an outer one (packed.h). */
#include "report/page/events/packed.h"

#include "report/page/base64.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 9 };

struct packed {
    FILE *to;
    z_stream z;
    unsigned char rest[3]; /* bytes that do not fill a group of three yet */
    size_t rest_n;
};

static void put_base64(struct packed *p, const unsigned char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p->rest[p->rest_n++] = b[i];
        if (p->rest_n == 3) {
            base64_group(p->to, p->rest, 3);
            p->rest_n = 0;
        }
    }
}

static int pump(struct packed *p, int flush)
{
    unsigned char out[1 << 14];
    int rc;
    do {
        p->z.next_out = out;
        p->z.avail_out = sizeof out;
        rc = deflate(&p->z, flush);
        put_base64(p, out, sizeof out - p->z.avail_out);
    } while (rc == Z_OK && (p->z.avail_in || p->z.avail_out == 0 || flush == Z_FINISH));
    return rc == Z_STREAM_ERROR ? -1 : 0;
}

static ssize_t packed_write(void *cookie, const char *data, size_t n)
{
    struct packed *p = cookie;
    p->z.next_in = (unsigned char *)(size_t)data;
    p->z.avail_in = (uInt)n;
    return pump(p, Z_NO_FLUSH) ? 0 : (ssize_t)n;
}

static int packed_close(void *cookie)
{
    struct packed *p = cookie;
    p->z.avail_in = 0;
    int rc = pump(p, Z_FINISH);
    if (p->rest_n)
        base64_group(p->to, p->rest, p->rest_n);
    deflateEnd(&p->z);
    if (ferror(p->to))
        rc = -1;
    free(p);
    return rc;
}

FILE *packed_open(FILE *to)
{
    struct packed *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->to = to;
    if (deflateInit2(&p->z, 6, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(p);
        return NULL;
    }
    FILE *f =
        fopencookie(p, "w", (cookie_io_functions_t){.write = packed_write, .close = packed_close});
    if (!f) {
        deflateEnd(&p->z);
        free(p);
    }
    return f;
}
