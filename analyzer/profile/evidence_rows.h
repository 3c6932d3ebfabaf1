/* The rows of a profile that the query of an evidence lists. The file may be hostile: the query
 * reads through gpuprof's own views, and texts come without secrets. */
#ifndef GPUPROF_PROFILE_EVIDENCE_ROWS_H
#define GPUPROF_PROFILE_EVIDENCE_ROWS_H

#include "base/err.h"

#include <stdbool.h>

struct row_reader {
    /* One value. text: NULL for none; both texts are valid until it returns. */
    void (*value)(void *self, const char *column, const char *text, bool is_number);
    void (*row_end)(void *self);
    void *self;
};

/* The first `most` rows of the query. -1 with *e set: the rows until then were handed over. */
int evidence_rows(const char *profile, const char *query, int most, const struct row_reader *to,
                  struct err *e);

#endif
