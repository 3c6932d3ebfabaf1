/* What a step computes, as far as the recording shows it: whether the steps of two runs can be
 * compared. */
#ifndef GPUPROF_COMPARE_WORK_H
#define GPUPROF_COMPARE_WORK_H

#include "analyzer/advice/advice.h"

/* Returns the samples in a batch, from the loader or an option of the command; 0: not known. */
int64_t work_batch(const struct advice *a);
/* Writes the name of the program into buffer, e.g. train.py for "python -u dir/train.py", and
 * returns it. */
const char *work_program(const struct advice *a, char *buffer, size_t size);
/* Returns how the work differs, or NULL: program, ranks, batch (unless per_sample), or an option
 * that sets what is computed, such as precision. What was not recorded does not count as different.
 * The arena owns the text. */
const char *work_differs(struct arena *arena, const struct advice *base, const struct advice *now,
                         bool per_sample);
/* Returns words of the commands that only one of them has, e.g. "--workers 4 in the baseline,
 * --workers 0 now", or NULL if there are none or a command was not recorded. The arena owns the
 * text. */
const char *work_commands_differ(struct arena *arena, const struct advice *base,
                                 const struct advice *now);
/* Returns true if two windows in which no step repeats contain different work: fewer than nine
 * tenths of the operations (kernels by name) occur on both sides. */
bool work_of_windows_differs(const struct advice *base, const struct advice *now);

#endif
