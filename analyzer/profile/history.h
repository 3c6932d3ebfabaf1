/* What trials of many programs said: a text file that the user names ($GPUPROF_HISTORY, --history),
 * one trial a line, tab-separated. Nothing else is ever remembered across profiles. A line tells
 * the kind of change and shares of a step; no program, path, host or setting. Lines that are not
 * understood are passed over: a newer gpuprof may have written them. */
#ifndef GPUPROF_PROFILE_HISTORY_H
#define GPUPROF_PROFILE_HISTORY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTORY_MAX = 4096 }; /* the newest count */

struct past_trial {
    int64_t tried_ns; /* Unix time */
    bool virtual_gpu;
    char edit[24];    /* kind of change: name of its edit_kind */
    double low, high; /* predicted, share of the step saved, before past trials widened it */
    double measured;
};

/* malloc'ed, *n of them; NULL and *n = 0 when there is no file, NULL with *e set on an error. */
struct past_trial *history_read(const char *path, size_t *n, struct err *e);
/* Appends a line in one write; the file is made, for its owner alone, if there is none. */
int history_add(const char *path, const struct past_trial *t, struct err *e);

#endif
