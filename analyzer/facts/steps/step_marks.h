/* Marks of steps in a recording: those of PyTorch's profiler, NVTX ranges,
 * and the hook's (steps.c). */
#ifndef GPUPROF_FACTS_STEPS_STEP_MARKS_H
#define GPUPROF_FACTS_STEPS_STEP_MARKS_H

#include "analyzer/timeline/timeline.h"
#include "wire/step_mark.h"

/* The ranges of one thread at one depth that look like step marks. */
struct mark_group {
    uint32_t thread, depth, first;
    size_t count;               /* 0: there are no marks */
    int64_t covered_ns, end_ns; /* their summed length; the end of the last one */
    enum spool_step_mark mark;
    int64_t rank; /* rank of their process, or -1 */
    bool counted; /* the names are not plain step marks, but count up: "Coarse
                     Level 3" (steps_counted.c) */
};
/* The best group of marks in the recording, or of one process of it (TL_NONE: of any). */
struct mark_group steps_marks(const struct timeline *t, uint32_t process);
/* True if the marks of recording a should be used rather than those of recording b. */
bool steps_better_marks(const struct mark_group *a, const struct mark_group *b);
/* Marks found by names that differ only in a rising number and that hold most of the
 * GPU's work; of one process, or of any (TL_NONE). count 0: none. */
struct mark_group steps_counted(const struct timeline *t, uint32_t process);
/* do both names belong to the same such group? */
bool steps_counted_alike(const char *a, const char *b);

#endif
