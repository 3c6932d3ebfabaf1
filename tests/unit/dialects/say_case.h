/* Helpers that check how a dialect words a remedy. */
#ifndef TESTS_UNIT_DIALECTS_SAY_CASE_H
#define TESTS_UNIT_DIALECTS_SAY_CASE_H

#include "tests/unit/test.h"
#include "analyzer/dialects/dialect.h"
#include "base/arena.h"

struct said {
    struct remedy remedy;
    const char *words;
};

/* The values of a remedy's parameter: a number, a text. */
#define NUMBER(n)                                                                                  \
    {                                                                                              \
        true, NULL, n                                                                              \
    }
#define TEXT(t)                                                                                    \
    {                                                                                              \
        true, t, 0                                                                                 \
    }

static inline void says(const struct dialect *d, const struct said *said, size_t n)
{
    struct arena arena = ARENA_INIT;
    struct facts facts = {0}; /* facts of a loop */
    for (size_t i = 0; i < n; i++)
        ck_assert_pstr_eq(dialect_say(d, &facts, &said[i].remedy, &arena), said[i].words);
    arena_release(&arena);
}

#endif
