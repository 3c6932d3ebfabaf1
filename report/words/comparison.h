/* Words that compare two recordings: the one sentence of diff and gate, the same in every
 * output. */
#ifndef GPUPROF_REPORT_WORDS_COMPARISON_H
#define GPUPROF_REPORT_WORDS_COMPARISON_H

#include "analyzer/compare/compare.h"

struct sentence {
    char s[512];
};

/* Which recording is slower, by how much, and which part holds most of the difference: "NEW takes
 * 271 ms per step, 14.3 ms (5.0 %) less than BASE; most of it: GPU idle: waiting for input data,
 * -25.4 ms." If the interval has both signs, it says that there is no certain difference. NULL: the
 * two are not compared. */
const char *comparison_says(struct sentence *b, const struct diff *d);
/* Which advice only one of them has: "only NEW has num-workers; only BASE has starved-workers".
 * Without milliseconds, since the parts already show them. NULL: none. */
const char *comparison_advice(struct sentence *b, const struct diff *d);
/* True for rows of the table: a part of the step or a kernel. */
bool comparison_lists(const struct change *c);
/* The verdict of all checks: "failed" if the program failed and no check is slower. */
const char *comparison_verdict(const struct gate *g);
/* The sentence of a gate: what failed, or which recording is slower and why. */
const char *comparison_gate(struct sentence *b, const struct gate *g);

#endif
