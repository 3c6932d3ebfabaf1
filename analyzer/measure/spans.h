/* Sorted, disjoint spans of time, and what a device does when. */
#ifndef GPUPROF_MEASURE_SPANS_H
#define GPUPROF_MEASURE_SPANS_H

#include "analyzer/timeline/timeline.h"

struct span {
    int64_t start_ns, end_ns;
};

struct spans { /* sorted, disjoint */
    struct span *at;
    size_t n, cap;
    int64_t *before; /* time covered by the spans before each one; n + 1 entries */
};

/* Adds a span that starts no earlier than the last one; merges the two if they touch. Returns -1
 * without memory. */
int spans_add(struct spans *s, int64_t start_ns, int64_t end_ns);
int spans_index(struct spans *s); /* fills `before`; call it after the last spans_add. Returns -1
                                     without memory */
/* Returns the covered time in [a, b) in ns, by two binary searches. */
int64_t spans_covered(const struct spans *s, int64_t a, int64_t b);
/* Returns the index of the first span that ends after t; s->n if there is none. */
size_t spans_after(const struct spans *s, int64_t t);
int64_t spans_total(const struct spans *s);
void spans_release(struct spans *s);

/* What a device does when: unions over its streams. */
struct activity {
    struct spans compute, comm, copy, busy;
    int64_t start_ns, end_ns; /* first start and last end; 0, 0 without work */
};

/* Fills *act from the work of one device. Returns -1 without memory. Call activity_release also
 * after a failure. */
int activity_build(struct activity *act, const struct timeline *t, uint32_t device);
void activity_release(struct activity *act);

#endif
