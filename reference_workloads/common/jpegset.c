/* See jpegset.h. */
#include "reference_workloads/common/jpegset.h"

#include "reference_workloads/common/check.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

/* libjpeg-turbo writes rows that are aligned to its vectors past the caches, and cropping would
 * then wait for memory: a batch took an eighth longer wherever malloc happened to align them. A
 * quarter of a line off, a batch costs the same on every thread. */
enum { ROW_ALIGN = 64 };

struct jpeg_decoder {
    const struct jpeg_set *set;
    struct jpeg_decompress_struct state;
    struct jpeg_error_mgr error;
    unsigned char *memory;
    unsigned char *pixels; /* (side, side, 3) in memory */
    JSAMPROW *rows;        /* (side) into pixels */
};

static void jpeg_failed(j_common_ptr state)
{
    char text[JMSG_LENGTH_MAX];
    state->err->format_message(state, text);
    die(1, "libjpeg: %s", text);
}

/* Stripes whose direction, width and colour tell the class, a random phase, and noise. */
static void draw(unsigned char *rgb, int side, int label, int classes, uint64_t seed)
{
    const double pi = 3.14159265358979;
    double direction = pi * label / classes;
    double waves = 3 + label % 4;
    double phase = 2 * pi * (double)(mix64(seed) % 1000) / 1000;
    double fx = cos(direction) * waves * 2 * pi / side, fy = sin(direction) * waves * 2 * pi / side;
    double tint[3];
    for (int c = 0; c < 3; c++)
        tint[c] = 0.55 + 0.45 * cos(2 * pi * ((double)label / classes + c / 3.0));
    for (int y = 0; y < side; y++) {
        for (int x = 0; x < side; x++) {
            uint64_t noise = mix64(seed * 1315423911u + (uint64_t)(y * side + x));
            double light = 0.5 + 0.4 * sin(fx * x + fy * y + phase);
            for (int c = 0; c < 3; c++, noise >>= 8) {
                double v = 255 * light * tint[c] + (double)(noise & 63) - 32;
                rgb[(y * side + x) * 3 + c] = (unsigned char)(v < 0 ? 0 : v > 255 ? 255 : v);
            }
        }
    }
}

static void compress(struct jpeg_picture *p, unsigned char *rgb, int side)
{
    struct jpeg_compress_struct state;
    struct jpeg_error_mgr error;
    unsigned long size = 0;
    state.err = jpeg_std_error(&error);
    error.error_exit = jpeg_failed;
    jpeg_create_compress(&state);
    jpeg_mem_dest(&state, &p->bytes, &size);
    state.image_width = state.image_height = (JDIMENSION)side;
    state.input_components = 3;
    state.in_color_space = JCS_RGB;
    jpeg_set_defaults(&state);
    jpeg_set_quality(&state, 80, TRUE);
    jpeg_start_compress(&state, TRUE);
    while (state.next_scanline < state.image_height) {
        JSAMPROW row = rgb + (size_t)state.next_scanline * (size_t)side * 3;
        jpeg_write_scanlines(&state, &row, 1);
    }
    jpeg_finish_compress(&state);
    jpeg_destroy_compress(&state);
    p->size = size;
}

void jpeg_set_make(struct jpeg_set *s, int count, int side, int classes, unsigned seed)
{
    *s = (struct jpeg_set){.count = count, .side = side, .classes = classes};
    s->at = check_alloc((size_t)count * sizeof *s->at);
    unsigned char *rgb = check_alloc((size_t)side * (size_t)side * 3);
    for (int i = 0; i < count; i++) {
        s->at[i].label = i % classes;
        draw(rgb, side, s->at[i].label, classes, mix64(seed + (uint64_t)i * 7919));
        compress(&s->at[i], rgb, side);
    }
    free(rgb);
}

void jpeg_set_free(struct jpeg_set *s)
{
    for (int i = 0; i < s->count; i++)
        free(s->at[i].bytes);
    free(s->at);
    *s = (struct jpeg_set){0};
}

struct jpeg_decoder *jpeg_decoder_new(const struct jpeg_set *s)
{
    struct jpeg_decoder *d = check_alloc(sizeof *d);
    d->set = s;
    d->memory = check_alloc((size_t)s->side * (size_t)s->side * 3 + 2 * ROW_ALIGN);
    d->pixels = d->memory + ROW_ALIGN - (uintptr_t)d->memory % ROW_ALIGN + ROW_ALIGN / 4;
    d->rows = check_alloc((size_t)s->side * sizeof *d->rows);
    for (int y = 0; y < s->side; y++)
        d->rows[y] = d->pixels + (size_t)y * (size_t)s->side * 3;
    d->state.err = jpeg_std_error(&d->error);
    d->error.error_exit = jpeg_failed;
    jpeg_create_decompress(&d->state);
    return d;
}

void jpeg_decoder_free(struct jpeg_decoder *d)
{
    jpeg_destroy_decompress(&d->state);
    free(d->rows);
    free(d->memory);
    free(d);
}

const unsigned char *jpeg_decode(struct jpeg_decoder *d, int picture)
{
    const struct jpeg_picture *p = &d->set->at[picture];
    jpeg_mem_src(&d->state, p->bytes, p->size);
    jpeg_read_header(&d->state, TRUE);
    d->state.out_color_space = JCS_RGB;
    d->state.dct_method = JDCT_IFAST;
    jpeg_start_decompress(&d->state);
    while (d->state.output_scanline < d->state.output_height) {
        JDIMENSION left = d->state.output_height - d->state.output_scanline;
        jpeg_read_scanlines(&d->state, d->rows + d->state.output_scanline, left);
    }
    jpeg_finish_decompress(&d->state);
    return d->pixels;
}
