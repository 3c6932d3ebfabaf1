/* Words for two recordings beside each other: the one sentence of diff and gate, the same in every output. */
#ifndef GPUPROF_REPORT_WORDS_COMPARISON_H
#define GPUPROF_REPORT_WORDS_COMPARISON_H

#include "analyzer/compare/compare.h"

struct sentence {
    char s[512];
};

/* Which is slower, by how much, and in which part most of it lies: "NEW takes 271 ms per step, 14.3 ms (5.0 %) less than BASE;
 * most of it: GPU idle: waiting for input data, -25.4 ms." Where the interval has both signs it says that no difference can be
 * told. NULL: the two are not compared. */
const char *comparison_says(struct sentence *b, const struct diff *d);
/* Which advice only one of them has: "only NEW has num-workers; only BASE has starved-workers". Its milliseconds are those of the
 * parts, so they are not told again. NULL: none. */
const char *comparison_advice(struct sentence *b, const struct diff *d);
/* Rows of the table: a part of the step or a kernel. */
bool comparison_lists(const struct change *c);
/* The verdict of all checks: "failed" where the program did, and no check is slower. */
const char *comparison_verdict(const struct gate *g);
/* The sentence of a gate: what failed, or which is slower and why. */
const char *comparison_gate(struct sentence *b, const struct gate *g);

#endif
