/* A labelled set of pictures that needs no download: drawn, compressed with libjpeg and kept in
 * memory. A picture shows its class (direction, width and colour of stripes) under noise, so that a
 * network can learn it and the loss falls.
 *
 * Cost: about 0.15 ms per 96x96 picture to make; decoding is the loader's real work.
 */
#ifndef WORKLOAD_JPEGSET_H
#define WORKLOAD_JPEGSET_H

#include <stddef.h>
#include <stdint.h>

struct jpeg_set {
    int count, side, classes;
    struct jpeg_picture {
        unsigned char *bytes;
        size_t size;
        int label;
    } * at;
};

void jpeg_set_make(struct jpeg_set *s, int count, int side, int classes, unsigned seed);
void jpeg_set_free(struct jpeg_set *s);

/* One decoder per thread: it keeps libjpeg's state and one decoded picture. */
struct jpeg_decoder;
struct jpeg_decoder *jpeg_decoder_new(const struct jpeg_set *s);
void jpeg_decoder_free(struct jpeg_decoder *d);
/* (side, side, 3) RGB bytes, valid until the next call. */
const unsigned char *jpeg_decode(struct jpeg_decoder *d, int picture);

/* A well mixed 64-bit value from a counter: the same for every number of workers. */
static inline uint64_t mix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
