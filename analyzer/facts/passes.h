/* The passes of facts.c, in the order in which it runs them. Private to facts/.
 * Each returns 0, or -1 with *e set. */
#ifndef GPUPROF_FACTS_PASSES_H
#define GPUPROF_FACTS_PASSES_H

#include "analyzer/facts/facts.h"
#include "analyzer/facts/input.h"
#include "analyzer/facts/median.h"
#include "analyzer/facts/ranges.h"
#include "analyzer/facts/recorded.h"
#include "analyzer/facts/spans.h"

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
int recorded_find(struct facts *f);
void recorded_cut(struct facts *f);
void recorded_drop(struct facts *f);
int steps_find(struct facts *f, struct err *e);
int steps_lengths(struct facts *f); /* -1: out of memory; steps_length.c */
/* steps_choose.c, -1: out of memory. Which steps count, and their statistics; the median that
 * detection alone would give, by the same rules. */
int steps_choose(struct steps *s);
int steps_median_detected(const struct detected *d, int64_t *median);
/* steps_batches.c, -1: out of memory. From one batch of a loader to the next, where no step is
 * marked and no GPU was at work; count stays 0 where there are too few. */
int steps_from_batches(struct facts *f);
/* cpu_parts.c */
bool cpu_is_all(const struct timeline *t); /* no GPU was at work, and none should have been */
struct cpu_spans *cpu_spans_find(const struct facts *f, uint32_t thread); /* NULL: no memory */
void cpu_spans_part(const struct cpu_spans *s, int64_t from_ns, int64_t to_ns,
                    int64_t parts[PART_COUNT]); /* sums to the length */
void cpu_spans_free(struct cpu_spans *s);
int cpu_ranks_look(struct facts *f, struct err *e);
int gaps_find(struct facts *f, const struct activity *act, struct err *e);
int totals_sum(struct facts *f, const struct activity *act, struct err *e);
int ranks_look(struct facts *f, struct err *e); /* ranks.c, ranks_match.c */
int host_look(struct facts *f, struct err *e);
void health_look(struct facts *f);
void launches_look(struct facts *f); /* launches.c */

#endif
