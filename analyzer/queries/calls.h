/* Where no single line takes most of the time, the line that does so with what it calls: the loop over a
 * small function, the call of a function of many lines. */
#ifndef GPUPROF_QUERIES_CALLS_H
#define GPUPROF_QUERIES_CALLS_H

#include "analyzer/facts/lines.h"

struct query_calls {
    const char *place;    /* "train.py:9"; NULL: no line of the user's own has so much */
    const char *function; /* the function that the line is in; "" at a file's top level */
    int64_t ns;           /* its time, with that of what it calls: a share of the list's */
};
/* Of the lines of the user's own code that hold `least` or more of this list's time with what they call,
 * the innermost one. Cost: a walk up each stack of the list. */
struct query_calls query_calls(const struct facts *f, struct arena *arena, enum lines_of which,
                               int64_t least);
/* "test() train.py:9 and what it calls". */
const char *query_calls_text(const struct query_calls *c, struct arena *arena);

#endif
