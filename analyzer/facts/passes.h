/* Passes that find/ runs, in its order, and what they share. Private to facts/.
 * Each returns 0, or -1 with *e set. */
#ifndef GPUPROF_FACTS_PASSES_H
#define GPUPROF_FACTS_PASSES_H

#include "analyzer/detect/detect.h"
#include "analyzer/facts/facts.h"
#include "analyzer/measure/input.h"
#include "analyzer/measure/launched.h"
#include "analyzer/measure/median.h"
#include "analyzer/measure/ranges.h"
#include "analyzer/facts/recorded.h"
#include "analyzer/measure/spans.h"

/* recorded.c, from steps_find: the windows (-1: out of memory); steps end with their window; the
 * steps of a window whose GPU time is not whole are dropped, once operations have steps. */
int recorded_find(struct facts *f);
void recorded_cut(struct facts *f);
void recorded_drop(struct facts *f);
/* cpu_parts.c */
bool cpu_is_all(const struct timeline *t); /* no GPU was at work, and none should have been */
bool cpu_trace(const struct timeline *t);  /* the same of another profiler's trace: cpu_trace.c */
bool cpu_backward(const char *range);      /* a node of a backward pass, by PyTorch's own name */
struct cpu_spans *cpu_spans_find(const struct facts *f, uint32_t thread); /* NULL: no memory */
void cpu_spans_part(const struct cpu_spans *s, int64_t from_ns, int64_t to_ns,
                    int64_t parts[PART_COUNT]); /* sums to the length */
void cpu_spans_free(struct cpu_spans *s);
int cpu_ranks_measure(struct facts *f, struct err *e);
void facts_check(struct facts *f); /* check.c, when all is known: fills f->contradiction */
int gaps_find(struct facts *f, const struct activity *act, struct err *e);
int totals_sum(struct facts *f, const struct activity *act, struct err *e);
int host_measure(struct facts *f, struct err *e);
void health_measure(struct facts *f);
void launches_measure(struct facts *f);    /* launches.c */
void graph_holes_measure(struct facts *f); /* graph_holes.c, once gaps are charged */

#endif
