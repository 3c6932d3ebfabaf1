/* The passes of the analysis, in the order in which analyze() runs them. Private to analyze/.
 * Each returns 0, or -1 with *e set. */
#ifndef GPUPROF_ANALYZE_PASSES_H
#define GPUPROF_ANALYZE_PASSES_H

#include "analyzer/facts/analysis.h"

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

/* When the host thread waits for or makes input data: from ranges and loader rows. */
int input_spans(struct spans *out, const struct timeline *t, uint32_t thread);
bool input_name(const char *name);
bool input_makes(const char *name); /* of a batch, rather than waits for one */

/* By range: the one around it, TL_NONE; NULL without memory, free() it. And with them the innermost
 * range of a thread at a time, TL_NONE. */
uint32_t *range_parents(const struct timeline *t);
uint32_t range_at(const struct timeline *t, const uint32_t *parent, uint32_t thread, int64_t time);

struct detected {
    struct span *at; /* arena; segments of the steady state and around it */
    bool *steady;
    size_t count;
    double confidence;
    size_t votes;
    const char *text; /* for people; NULL = nothing found */
};
/* Steps from repetition alone. The arena owns what it returns. */
int steps_detect(struct detected *d, const struct timeline *t, uint32_t process,
                 struct arena *arena, struct err *e);

/* recorded.c, from steps_find: the stretches (-1: out of memory); steps end with their stretch; the
 * steps of a stretch whose GPU time is not whole are dropped, once operations have steps. */
int recorded_find(struct analysis *a);
void recorded_cut(struct analysis *a);
void recorded_drop(struct analysis *a);
/* The stretch around a time, NULL without; the first that ends after it; what of [from_ns, to_ns)
 * is known in one (empty: end_ns = start_ns), and in all; what of the spans lies where it is. */
const struct stretch *recorded_at(const struct analysis *a, int64_t ns);
size_t recorded_after(const struct analysis *a, int64_t ns);
static inline struct span recorded_part(const struct stretch *r, int64_t from_ns, int64_t to_ns)
{
    int64_t low = r->known_ns > from_ns ? r->known_ns : from_ns;
    int64_t high = r->end_ns < to_ns ? r->end_ns : to_ns;
    return (struct span){low, high > low ? high : low};
}
int64_t recorded_length(const struct analysis *a); /* of the stretches, or of the whole */
int64_t recorded_known(const struct analysis *a, int64_t from_ns, int64_t to_ns);
int64_t recorded_covered(const struct analysis *a, const struct spans *spans);

int steps_find(struct analysis *a, struct err *e);
int steps_lengths(struct analysis *a); /* -1: out of memory; steps_length.c */
/* steps_choose.c, -1: out of memory. Which steps count, and their statistics; the median that
 * detection alone would give, by the same rules. */
int steps_choose(struct steps *s);
int steps_median_detected(const struct detected *d, int64_t *median);
/* steps_batches.c, -1: out of memory. From one batch of a loader to the next, where no step is
 * marked and no GPU was at work; count stays 0 where there are too few. */
int steps_from_batches(struct analysis *a);
/* cpu_parts.c */
bool cpu_is_all(const struct timeline *t); /* no GPU was at work, and none should have been */
struct cpu_spans *cpu_spans_find(const struct analysis *a, uint32_t thread); /* NULL: no memory */
void cpu_spans_part(const struct cpu_spans *s, int64_t from_ns, int64_t to_ns,
                    int64_t parts[PART_COUNT]); /* sums to the length */
void cpu_spans_free(struct cpu_spans *s);
/* Threads in which PyTorch computes; 0 = not known. verdict_cpu.c */
int cpu_threads(const struct analysis *a);
int cpu_ranks_look(struct analysis *a, struct err *e);
int gaps_find(struct analysis *a, const struct activity *act, struct err *e);
int totals_sum(struct analysis *a, const struct activity *act, struct err *e);
int ranks_look(struct analysis *a, struct err *e); /* ranks.c, ranks_match.c */
int host_look(struct analysis *a, struct err *e);
void health_look(struct analysis *a);
void launches_look(struct analysis *a);           /* launches.c */
int rules_run(struct analysis *a, struct err *e); /* outcomes and ranking, rank.c */
void rules_rank(struct analysis *a);              /* the findings, best first */
void verdict_write(struct analysis *a);           /* verdict.c */

/* Median of n values (the array is reordered); 0 without any. */
int64_t median_ns(int64_t *v, size_t n);
void sort_ns(int64_t *v, size_t n); /* rising */
int no_memory(struct err *e);

/* A step or two that hold fewer than ten GPU operations (their number in *ops unless NULL) and
 * little computing. */
bool analysis_thin(const struct analysis *a, size_t *ops);

#endif
