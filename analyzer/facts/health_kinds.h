/* What each row of the table `health` means for the answer. Every code that any part of gpuprof
 * writes stands in this table (tests/health.py compares it with the sources), so that the verdict
 * cannot overlook a code that means "records are missing". */
#ifndef GPUPROF_FACTS_HEALTH_KINDS_H
#define GPUPROF_FACTS_HEALTH_KINDS_H

#include "analyzer/facts/facts.h"

enum health_meaning {
    HEALTH_NOTE,     /* the answer lacks nothing, or another sentence says what is missing */
    HEALTH_NO_GPU,   /* explains why no GPU work was recorded; counts only if there is none */
    HEALTH_MISSING,  /* records are missing, and their number is not known */
    HEALTH_LOST_SOME /* its value counts missing records, each once */
};

enum {
    HEALTH_DROPPED = 1, /* its value is part of the sum "records lost" that every output shows */
    HEALTH_OF_GPU = 2,  /* the lost records were the GPU's, so a GPU worked */
};

struct health_kind {
    const char *code;
    enum health_meaning meaning;
    unsigned how; /* bits HEALTH_DROPPED, HEALTH_OF_GPU */
};

extern const struct health_kind health_kinds[];
extern const size_t health_kind_count;

/* NULL: the code is unknown, as in a profile of a newer gpuprof or of another program. */
const struct health_kind *health_kind(const char *code);
/* The row that explains why an absence of GPU records does not prove that no GPU worked.
 * NULL: there is no such row. */
const struct row_health *health_hides_gpu(const struct timeline *t);
/* The row that says which records are missing, if enough are missing to matter: an
 * unknown number, at least one in a hundred, or GPU records where none remain. NULL:
 * nothing that matters is missing. */
const struct row_health *health_missing(const struct facts *f);

#endif
