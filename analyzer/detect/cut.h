/* Cuts of a sequence of operations into segments: each begins with an occurrence of one operation.
 * For detect.c, which chooses the cut whose segments are steps. Shares go from 0 to 1. */
#ifndef GPUPROF_DETECT_CUT_H
#define GPUPROF_DETECT_CUT_H

#include "analyzer/measure/sequence.h"

enum hint { HINT_NONE, HINT_COPIES, HINT_UPDATES };

struct cut {
    uint32_t token;    /* that segments begin with */
    uint32_t from;     /* position: what lies before counts in no share */
    size_t k;          /* segments, or one more */
    size_t votes;      /* operations that occur k or k + 1 times */
    double coverage;   /* of the operations that occur so often or more, in the median segment */
    double similarity; /* Dice coefficient of neighbours, or of every other one: the median */
    double regularity; /* median absolute deviation of the segments' lengths over their median */
    double alike;      /* of the segments: of one kind */
    double steady;     /* of the GPU's time: in segments that are alike */
    double whole;      /* of steady, and of what occurs more seldom than segments: steady */
    double within;     /* the same from the first segment to the last */
    double updates;    /* of the segments: with an optimizer's kernel */
    double copies;     /* of the segments: with a copy between host and GPU */
    double computing;  /* of the segments: with more than copies and memsets */
    double layers;     /* of the segments: with what a layer of a deep network has */
    bool guessed; /* alike is all that they are: found where nothing else says what a step is */
};

struct scratch {
    int64_t *v;             /* n + 1 */
    uint32_t *seen, *count; /* by token; count all 0 between calls */
};

/* Median absolute deviation of the time between x's occurrences, over its median. `v`: scratch. */
double cut_regularity(const struct sequence *s, uint32_t x, int64_t *v);
/* How the occurrences of operation x cut: fills coverage, similarity and regularity. */
void cut_by(struct cut *c, const struct sequence *s, uint32_t x, struct scratch *w);
/* The operation with k or k + 1 occurrences that cuts best: by coverage, then regularity, then the
 * host's gap before it. The `tries` most regular are looked at, and the one with the longest gap.
 * Fills what is found from token to regularity, but votes. 1, 0: there is none, -1: out of memory.
 */
int cut_best(struct cut *best, const struct sequence *s, size_t k, size_t tries, struct scratch *w);
/* False: a few repeats that fill little of the recording, the layers of a model that ran once. */
bool cut_fills_recording(const struct sequence *s, uint32_t x, int64_t *v);
/* True: segments begin within what one call launched, the layers of a model that a graph holds. */
bool cut_splits_calls(const struct sequence *s, uint32_t x);
/* Which segments (count_of - 1) are alike. -1: out of memory. */
int cut_steady(bool *steady, const struct sequence *s, uint32_t x, struct scratch *w);
/* Fills alike to layers. -1: out of memory. */
int cut_judge(struct cut *c, const struct sequence *s, struct scratch *w);
/* What most segments hold that a step has: an update, or a copy from or to the host. */
enum hint cut_hint(const struct cut *c);

#endif
