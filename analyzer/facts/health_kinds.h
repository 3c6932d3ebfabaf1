/* What each health row means for the answer. Every code that somebody writes into the table health
 * stands here (tests/health.py compares them with the sources), so that none that means "records
 * are missing" can be forgotten where the verdict is made. */
#ifndef GPUPROF_FACTS_HEALTH_KINDS_H
#define GPUPROF_FACTS_HEALTH_KINDS_H

#include "analyzer/facts/facts.h"

enum health_meaning {
    HEALTH_NOTE,     /* nothing is missing from the answer, or another sentence says what */
    HEALTH_NO_GPU,   /* why nothing of the GPU was recorded, where nothing was */
    HEALTH_MISSING,  /* records are missing, and nobody knows how many */
    HEALTH_LOST_SOME /* its value counts records that are missing, each once */
};

enum {
    HEALTH_DROPPED = 1, /* its value is part of the sum "records lost" that every output shows */
    HEALTH_OF_GPU = 2,  /* the records are the GPU's: it was at work */
};

struct health_kind {
    const char *code;
    enum health_meaning meaning;
    unsigned how; /* HEALTH_DROPPED, HEALTH_OF_GPU */
};

extern const struct health_kind health_kinds[];
extern const size_t health_kind_count;

/* NULL: of a newer gpuprof, or none of ours. */
const struct health_kind *health_kind(const char *code);
/* The row that says why one cannot say that no GPU was at work, although nothing of it was
 * recorded. NULL: nothing hides it. */
const struct row_health *health_hides_gpu(const struct timeline *t);
/* The row that says so where records are missing that matter: an unknown number of them, at least
 * one in a hundred, or those of the GPU where there are none. NULL: nothing is missing. */
const struct row_health *health_missing(const struct facts *f);

#endif
