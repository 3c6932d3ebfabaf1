/* Cuts of a sequence of operations into segments. Each segment begins with an occurrence of one
 * operation (the token). detect.c chooses the cut whose segments are steps. Shares go from 0 to
 * 1. */
#ifndef GPUPROF_DETECT_CUT_H
#define GPUPROF_DETECT_CUT_H

#include "analyzer/measure/sequence.h"

enum hint { HINT_NONE, HINT_COPIES, HINT_UPDATES };

struct cut {
    uint32_t token; /* segments begin with this operation */
    uint32_t from;  /* position; operations before it do not count in the shares */
    size_t k;       /* number of segments, or one more */
    size_t votes;   /* number of operations that occur k or k + 1 times */
    /* Of the operations that occur k times or more: the share that the median segment contains. */
    double coverage;
    /* Median Dice coefficient of neighbouring segments, or of every other one. */
    double similarity;
    /* Median absolute deviation of the segments' lengths, divided by their median. */
    double regularity;
    double alike;  /* share of the segments that are of one kind */
    double steady; /* share of the GPU's time that lies in segments of that kind */
    /* The GPU time of these segments, divided by itself plus the time of operations that occur more
     * rarely than segments. */
    double whole;
    double within;    /* the same, only from the first segment to the last */
    double updates;   /* share of the segments with an optimizer's kernel */
    double copies;    /* share with a copy between host and GPU */
    double computing; /* share with more than copies and memsets */
    double layers;    /* share with the operations of a deep network's layer */
    /* A guess: nothing is known but that the segments are alike. */
    bool guessed;
};

struct scratch {
    int64_t *v;             /* n + 1 elements */
    uint32_t *seen, *count; /* by token; count is all 0 between calls */
};

/* Returns the median absolute deviation of the time between x's occurrences, divided by its median.
 * `v` is scratch. */
double cut_regularity(const struct sequence *s, uint32_t x, int64_t *v);
/* Cuts at the occurrences of operation x: fills coverage, similarity and regularity. */
void cut_by(struct cut *c, const struct sequence *s, uint32_t x, struct scratch *w);
/* Finds the operation with k or k + 1 occurrences that cuts best: by coverage, then regularity,
 * then the host's pause before it. It examines the `tries` most regular operations and the one with
 * the longest pause. Fills *best from token to regularity, except votes. Returns 1; 0 if there is
 * none; -1 without memory. */
int cut_best(struct cut *best, const struct sequence *s, size_t k, size_t tries, struct scratch *w);
/* Returns false for a few repeats that fill little of the recording: the layers of a model that ran
 * once. */
bool cut_fills_recording(const struct sequence *s, uint32_t x, int64_t *v);
/* Returns true if segments begin within the work of one call: the layers of a model that a CUDA
 * graph launched. */
bool cut_splits_calls(const struct sequence *s, uint32_t x);
/* Fills `steady`: which of the segments (count_of - 1) are of one kind. Returns -1 without
 * memory. */
int cut_steady(bool *steady, const struct sequence *s, uint32_t x, struct scratch *w);
/* Fills the shares from `alike` to `layers`. Returns -1 without memory. */
int cut_judge(struct cut *c, const struct sequence *s, struct scratch *w);
/* Returns what most segments contain that a step has: an update, or a copy from or to the host. */
enum hint cut_hint(const struct cut *c);

#endif
