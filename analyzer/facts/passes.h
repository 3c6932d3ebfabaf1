/* The passes that find/ runs, in its order, and what they share. Private to facts/. A pass that
 * takes an e returns 0, or -1 with *e set. */
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

/* recorded.c, called by steps_find. recorded_find fills the windows (-1: out of memory);
 * recorded_cut ends steps with their window; recorded_drop_incomplete_steps, once operations have steps, stops using
 * steps of a window whose GPU time is incomplete. */
int recorded_find(struct facts *f);
void recorded_cut(struct facts *f);
void recorded_drop_incomplete_steps(struct facts *f);
void recorded_tell(
    struct facts *f); /* recorded_tell.c: fills recorded_pct to unseen_text of the health */
/* cpu_parts.c */
bool cpu_is_all(const struct timeline *t); /* no GPU worked, and none should have */
bool cpu_trace(const struct timeline *t);  /* cpu_trace.c: the same for a trace of another
                                              profiler */
/* The program trains, and its backward pass runs on a thread of its own: a device works for it. */
bool cpu_trace_of_device(const struct timeline *t);
bool cpu_backward(const char *range); /* is it the name that PyTorch gives a
                                              node of the backward pass? */
struct cpu_spans *cpu_spans_find(const struct facts *f, uint32_t thread); /* NULL: out of memory */
void cpu_spans_part(const struct cpu_spans *s, int64_t from_ns, int64_t to_ns,
                    int64_t parts[PART_COUNT]); /* fills the parts of [from_ns, to_ns),
                                                   which sum to its length */
void cpu_spans_free(struct cpu_spans *s);
int cpu_ranks_measure(struct facts *f, struct err *e);
void facts_check(struct facts *f); /* check.c; fills f->contradiction once all facts are known */
int gaps_find(struct facts *f, const struct activity *act, struct err *e);
int totals_sum(struct facts *f, const struct activity *act, struct err *e);
int host_measure(struct facts *f, struct err *e);
void health_measure(struct facts *f);
int hardware_measure(struct facts *f, struct err *e);
void launches_measure(struct facts *f);    /* launches.c */
void graph_holes_measure(struct facts *f); /* graph_holes.c, after the gaps are charged */

#endif
