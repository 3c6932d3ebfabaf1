/* Walks over a fat binary and unpacks its entries: LZ4 here, zstd by the system's library. */
#include "ptx/fatbin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    WRAPPER = 0x466243b1,
    WRAPPER_LINKED = 2, /* version of a wrapper whose device code was linked (nvcc -rdc=true) */
    FLAG_LZ4 = 0x2000,
    FLAG_ZSTD = 0x8000,
    LARGEST = 256 << 20 /* far more than any image of a program's own kernels */
};
static const uint32_t container_magic = 0xba55ed50;

struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *const *linked; /* containers that it was linked from; NULL ends the list */
};
enum { SHORT_WRAPPER = offsetof(struct wrapper, linked) };

struct container {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; /* of what follows the header */
};

/* The part of an entry's header that is the same in all versions. */
struct entry_header {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t padded_size;
    uint32_t packed_size, name_offset;
    uint32_t code_version, arch;
    uint32_t unknown[2];
    uint64_t flags, reserved, unpacked_size;
};

static uint32_t first_word(const void *image)
{
    uint32_t word;
    memcpy(&word, image, sizeof word);
    return word;
}

bool fat_is(const void *image)
{
    return first_word(image) == WRAPPER || first_word(image) == container_magic;
}

const void *fat_container(const void *image)
{
    struct wrapper outer;
    if (first_word(image) == WRAPPER) {
        memcpy(&outer, image, SHORT_WRAPPER);
        image = outer.data;
    }
    return image && first_word(image) == container_magic ? image : NULL;
}

const void *fat_linked(const void *image, size_t index)
{
    struct wrapper outer;
    if (first_word(image) != WRAPPER)
        return NULL;
    memcpy(&outer, image, SHORT_WRAPPER);
    if (outer.version != WRAPPER_LINKED)
        return NULL;
    memcpy(&outer, image, sizeof outer);
    for (size_t i = 0; outer.linked && outer.linked[i]; i++)
        if (i == index)
            return outer.linked[i];
    return NULL;
}

size_t fat_size(const void *container)
{
    struct container c;
    memcpy(&c, container, sizeof c);
    return c.header_size + c.size;
}

struct fat_walk fat_walk(const void *image)
{
    struct fat_walk w = {NULL, NULL};
    struct container c;
    image = fat_container(image);
    if (!image)
        return w;
    memcpy(&c, image, sizeof c);
    w.at = (const char *)image + c.header_size;
    w.end = w.at + c.size;
    return w;
}

bool fat_next(struct fat_walk *w, struct fat_entry *out)
{
    struct entry_header h;
    if (!w->at || (size_t)(w->end - w->at) < sizeof h)
        return false;
    memcpy(&h, w->at, sizeof h);
    size_t left = (size_t)(w->end - w->at);
    if (h.header_size < sizeof h - 8 || h.header_size > left ||
        h.padded_size > left - h.header_size)
        return false;
    bool packed = h.flags & (FLAG_LZ4 | FLAG_ZSTD);
    *out = (struct fat_entry){.kind = (enum fat_kind)h.kind,
                              .arch = h.arch,
                              .data = w->at + h.header_size,
                              .size = packed ? h.packed_size : h.padded_size,
                              .unpacked = packed ? h.unpacked_size : 0,
                              .zstd = h.flags & FLAG_ZSTD};
    if (out->size > h.padded_size)
        return false;
    w->at += h.header_size + h.padded_size;
    return true;
}

/* A length in LZ4: the token's four bits and, if they are 15, the bytes that follow. */
static size_t lz4_length(size_t bits, const unsigned char **in, const unsigned char *end)
{
    size_t n = bits;
    if (bits == 15)
        while (*in < end) {
            unsigned char more = *(*in)++;
            n += more;
            if (more != 255)
                break;
        }
    return n;
}

size_t fat_lz4(const unsigned char *in, size_t in_size, unsigned char *out, size_t out_size)
{
    const unsigned char *end = in + in_size;
    size_t at = 0;
    while (in < end) {
        unsigned token = *in++;
        size_t literals = lz4_length(token >> 4, &in, end);
        if (literals > (size_t)(end - in) || literals > out_size - at)
            return 0;
        memcpy(out + at, in, literals);
        in += literals;
        at += literals;
        if (end - in < 2)
            break; /* the last sequence has no match */
        size_t back = in[0] | (size_t)in[1] << 8;
        in += 2;
        size_t n = lz4_length(token & 15, &in, end) + 4;
        if (back == 0 || back > at || n > out_size - at)
            return 0;
        for (; n > 0; n--, at++)
            out[at] = out[at - back];
    }
    return at;
}

typedef size_t (*zstd_decompress)(void *out, size_t room, const void *in, size_t n);
static zstd_decompress zstd;

/* The library stays open. Every Linux distribution has it, but building this one does not need
 * it. */
static void zstd_open(void)
{
    void *lib = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (lib)
        *(void **)&zstd = dlsym(lib, "ZSTD_decompress");
}

char *fat_unpack(const struct fat_entry *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t room = e->unpacked ? e->unpacked : e->size, n = room;
    if (room == 0 || room > LARGEST)
        return NULL;
    char *out = malloc(room + 1);
    if (!out)
        return NULL;
    if (!e->unpacked) {
        memcpy(out, e->data, room);
    } else if (e->zstd) {
        pthread_once(&once, zstd_open);
        n = zstd ? zstd(out, room, e->data, e->size) : 0;
    } else {
        n = fat_lz4((const unsigned char *)e->data, e->size, (unsigned char *)out, room);
    }
    if (n != room) {
        free(out);
        return NULL;
    }
    out[room] = '\0';
    return out;
}
