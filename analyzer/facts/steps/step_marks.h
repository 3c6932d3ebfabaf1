/* Marks of steps in a recording: PyTorch's profiler, NVTX ranges, the hook (steps.c). */
#ifndef GPUPROF_FACTS_STEPS_STEP_MARKS_H
#define GPUPROF_FACTS_STEPS_STEP_MARKS_H

#include "analyzer/timeline/timeline.h"
#include "wire/step_mark.h"

/* The ranges of one depth on one thread that look like steps: the best of a recording. */
struct mark_group {
    uint32_t thread, depth, first;
    size_t count;               /* 0: there are none */
    int64_t covered_ns, end_ns; /* all of them together; the last one's end */
    enum spool_step_mark mark;
    int64_t rank; /* of its process, -1 */
    bool counted; /* no word for a step alone: "Coarse Level 3" (steps_counted.c) */
};
struct mark_group steps_marks(const struct timeline *t);
/* Whose steps count where two recordings have marks: a's rather than b's. */
bool steps_better_marks(const struct mark_group *a, const struct mark_group *b);
/* Ranges whose names differ in a number that rises, which hold most of the GPU's work. */
struct mark_group steps_counted(const struct timeline *t);
bool steps_counted_alike(const char *a, const char *b); /* names of such ranges */

#endif
