/* What a step does, as far as a recording tells: whether the steps of two runs may be compared. */
#ifndef GPUPROF_COMPARE_WORK_H
#define GPUPROF_COMPARE_WORK_H

#include "analyzer/advice/advice.h"

/* Samples in a batch, by the loader or an option of the command; 0: not known. */
int64_t work_batch(const struct advice *a);
/* The name of the program, train.py of "python -u dir/train.py", in buffer. */
const char *work_program(const struct advice *a, char *buffer, size_t size);
/* NULL, or in what the work differs: the program, ranks, batch (unless per_sample), or an option
 * that sets what is computed, such as precision. Of the arena. What was not recorded differs from
 * nothing. */
const char *work_differs(struct arena *arena, const struct advice *base, const struct advice *now,
                         bool per_sample);
/* "--workers 4 in the baseline, --workers 0 now": words of the commands that only one of them has;
 * NULL: none, or a command was not recorded. Of the arena. */
const char *work_commands_differ(struct arena *arena, const struct advice *base,
                                 const struct advice *now);
/* Of two windows in which no step repeats: is it other work? Told by the operations, kernels by
 * name: nine tenths of them are on both sides where it is not. */
bool work_of_windows_differs(const struct advice *base, const struct advice *now);

#endif
