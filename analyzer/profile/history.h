/* Results of trials of many programs: a text file that the user names ($GPUPROF_HISTORY,
 * --history), one trial per line, tab-separated. It is the only thing that gpuprof remembers
 * across profiles. A line contains the kind of change and shares of a step, but no program,
 * path, host or setting. Lines that cannot be parsed are skipped, because a newer gpuprof
 * may have written them. */
#ifndef GPUPROF_PROFILE_HISTORY_H
#define GPUPROF_PROFILE_HISTORY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTORY_MAX = 4096 }; /* only the newest ones are read */

struct past_trial {
    int64_t tried_ns; /* Unix time */
    bool virtual_gpu;
    char edit[24];    /* kind of change: the name of its edit_kind */
    double low, high; /* predicted share of the step saved, before past
                         trials widened the interval */
    /* measured share of the step saved */
    double measured;
};

/* malloc'ed array with *n trials, oldest first. NULL and *n = 0 if the file does not exist; NULL
 * with *e set on an error. */
struct past_trial *history_read(const char *path, size_t *n, struct err *e);
/* Appends a line in one write. Creates the file if it does not exist, with the mode of other output
 * files. -1 with *e set. */
int history_add(const char *path, const struct past_trial *t, struct err *e);

#endif
