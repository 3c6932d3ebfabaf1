/* Rows as bytes, a few a row: each number as its difference to the same column of the row of its
 * kind before, each text once. What one rank contributes to a job of many is kept so, in memory and
 * in files. Packing is a sink; unpacking pours the rows into another, and expects hostile bytes.
 * Cost: one pass over the columns. */
#ifndef GPUPROF_PROFILE_PACKED_H
#define GPUPROF_PROFILE_PACKED_H

#include "analyzer/profile/rows.h"

struct bytes {
    unsigned char *at;
    size_t n, cap;
};

struct packer;

/* Appends to *out, which the caller releases. NULL with *e set. */
struct packer *pack_open(struct bytes *out, struct err *e);
struct sink pack_sink(struct packer *p); /* until pack_close */
void pack_close(struct packer *p);       /* NULL is fine */

/* Pours all rows of `b` into `out`. -1 with *e set: damaged, or the sink failed. */
int unpack_rows(const struct bytes *b, struct sink *out, struct err *e);

/* Plain values, for what lies around the rows. -1: out of memory; the end of the bytes. */
int bytes_put(struct bytes *b, const void *data, size_t n);
int bytes_put_int(struct bytes *b, int64_t v);
int bytes_put_text(struct bytes *b, const char *text, size_t n);
int bytes_get_int(const struct bytes *b, size_t *at, int64_t *v);
/* Where the text lies in `b`, not ended by a NUL. */
int bytes_get_text(const struct bytes *b, size_t *at, const char **text, size_t *n);
void bytes_release(struct bytes *b);

#endif
