/* Asks a predicate about names and remembers the answers: a timeline has hundreds of thousands of
 * ranges, but few distinct names. Cost: one byte per name; one look-up per call. If out of memory,
 * it calls the predicate each time. */
#ifndef GPUPROF_TIMELINE_NAME_TEST_H
#define GPUPROF_TIMELINE_NAME_TEST_H

#include "analyzer/timeline/timeline.h"

#include <stdlib.h>

struct name_test {
    const struct timeline *t;
    bool (*holds)(const char *name);
    uint8_t *answer; /* by string id: 0 not asked yet, 1 no, 2 yes */
};

static inline struct name_test name_test_open(const struct timeline *t, bool (*holds)(const char *))
{
    return (struct name_test){t, holds, calloc((size_t)t->strings.n + 1, 1)};
}

static inline bool name_test(const struct name_test *n, uint32_t name)
{
    if (!n->answer)
        return n->holds(tl_text(n->t, name));
    if (!n->answer[name])
        n->answer[name] = n->holds(tl_text(n->t, name)) ? 2 : 1;
    return n->answer[name] == 2;
}

static inline void name_test_close(struct name_test *n)
{
    free(n->answer);
    n->answer = NULL;
}

#endif
