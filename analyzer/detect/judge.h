/* Whether the segments of a cut could be steps. Each fills the cut further; 1, 0, -1: out of
 * memory.
 */
#ifndef GPUPROF_DETECT_JUDGE_H
#define GPUPROF_DETECT_JUDGE_H

#include "analyzer/detect/cut.h"

typedef int judgement(struct cut *c, const struct sequence *s, struct scratch *w);

judgement judge_steps;
/* Steps behind a warm-up that did more than all of them: a compiler tried kernels. They are many,
 * all alike, and all that is done from the first one on. */
judgement judge_behind;
/* Steps of a few operations: without much that could agree on them they are exactly the same, and
 * nearly all that is done. A copy from or to the host is among them, or they are very many. */
judgement judge_exact;
/* The same with two kinds of copies between host and GPU in each: a batch comes, and a result goes.
 * Before the first one the weights may have come. */
judgement judge_served;
/* Segments that are the same one by one, and nearly all that is done from the first to the last.
 * Few operations need to agree on them, and others may come more often. It is a guess, and needs
 * another sign (waits.h). */
judgement judge_same;
/* Passes through a network, however few and however long the first took: alike, and all that many
 * operations do. They need another sign (waits.h). */
judgement judge_pass;

#endif
