/* Rows as a few bytes each: every number is stored as its difference to the same column of the
 * previous row of its kind, every text once. The contribution of one rank to a job of many ranks is
 * kept in this form, in memory and in files. Packing is a sink. Unpacking pours the rows into
 * another sink, and does not trust the bytes. Cost: one pass over the columns. */
#ifndef GPUPROF_PROFILE_PACKED_H
#define GPUPROF_PROFILE_PACKED_H

#include "analyzer/profile/rows.h"

struct bytes {
    unsigned char *at;
    size_t n, cap;
};

struct packer;

/* The packer appends to *out, which the caller releases. NULL with *e set. */
struct packer *pack_open(struct bytes *out, struct err *e);
struct sink pack_sink(struct packer *p); /* valid until pack_close */
void pack_close(struct packer *p);       /* accepts NULL */

/* Pours all rows of `b` into `out`. -1 with *e set: damaged, or the sink failed. */
int unpack_rows(const struct bytes *b, struct sink *out, struct err *e);

/* Single values, for data around the rows. -1: out of memory; when reading:
 * the bytes end too early. */
int bytes_put(struct bytes *b, const void *data, size_t n);
int bytes_put_int(struct bytes *b, int64_t v);
int bytes_put_text(struct bytes *b, const char *text, size_t n);
int bytes_get_int(const struct bytes *b, size_t *at, int64_t *v);
/* *text points into `b`, and does not end with a NUL. */
int bytes_get_text(const struct bytes *b, size_t *at, const char **text, size_t *n);
void bytes_release(struct bytes *b);

#endif
