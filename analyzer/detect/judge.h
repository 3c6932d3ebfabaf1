/* Each function decides whether the segments of a cut could be steps, by one kind of evidence, and
 * fills more of the cut. Returns 1 if they could, 0 if not, -1 without memory. */
#ifndef GPUPROF_DETECT_JUDGE_H
#define GPUPROF_DETECT_JUDGE_H

#include "analyzer/detect/cut.h"

typedef int judgement(struct cut *c, const struct sequence *s, struct scratch *w);

/* Steps that many operations agree on, with an update, a copy, or nearly all of the common
 * operations in each. */
judgement judge_steps;
/* Steps behind a warm-up that did more work than all of them, for example a compiler that tries
 * kernels. They must be many, all alike, and nearly everything from the first one on. */
judgement judge_behind;
/* Steps of a few operations: since little can agree on them, they must be exactly equal and nearly
 * everything that is done. Each contains a copy from or to the host, or they are very many. */
judgement judge_exact;
/* The same with two kinds of copies between host and GPU in each segment: a batch comes and a
 * result goes. Weights may have come before the first one. */
judgement judge_served;
/* Segments that are equal one by one and nearly everything from the first to the last. Few
 * operations need to agree on them, and others may come more often. This is a guess and needs
 * another sign (waits.h). */
judgement judge_same;
/* Passes through a network, however few there are and however long the first took: alike, and
 * agreed on by many operations. They need another sign (waits.h). */
judgement judge_pass;

#endif
