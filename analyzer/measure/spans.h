/* Sorted, disjoint stretches of time, and what the chosen device does when. */
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

/* Adds a span whose start is not before the last one's; merges. */
int spans_add(struct spans *s, int64_t start_ns, int64_t end_ns);
int spans_index(struct spans *s); /* fills `before` */
/* Covered time in [a, b): two binary searches. */
int64_t spans_covered(const struct spans *s, int64_t a, int64_t b);
/* First span that ends after t; s->n when none. */
size_t spans_after(const struct spans *s, int64_t t);
int64_t spans_total(const struct spans *s);
void spans_release(struct spans *s);

/* What the chosen device does when: unions over its streams. */
struct activity {
    struct spans compute, comm, copy, busy;
    int64_t start_ns, end_ns; /* first start, last end; 0, 0 without any */
};

/* Work that only one device sees. */
int activity_build(struct activity *act, const struct timeline *t, uint32_t device);
void activity_release(struct activity *act);

#endif
