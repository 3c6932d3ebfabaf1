/* Sizes and times as people write and read them. A time that stands beside others (the length of a
 * step, the saving of a change) is written in milliseconds, so that readers can compare them. The
 * length of a single thing (a kernel, a recording) gets the unit that fits it. Both have three
 * figures. */
#ifndef GPUPROF_BASE_SIZE_H
#define GPUPROF_BASE_SIZE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Reads "500M", "1.5G", "4GiB" or "4294967296" as bytes; K, M, G and T are powers of 1024. -1 with
 * *e set. */
int size_parse(const char *text, int64_t *bytes, struct err *e);

struct arena;

/* Both write into `out` and return it. 32 bytes are enough. */
/* "4.69 ms", "0.796 ms", "176 ms"; below 10 us "9.5 us", from 10 s on "12.3 s". */
const char *time_words(char *out, size_t size, int64_t ns);
const char *length_words(char *out, size_t size, int64_t ns); /* "45 ns", "796 us", "1.25 s" */
/* time_words in the arena; NULL: out of memory. */
const char *time_text(struct arena *arena, int64_t ns);
/* The number of decimals that gives a number three figures, without an exponent. */
int three_figures(double v);

#endif
