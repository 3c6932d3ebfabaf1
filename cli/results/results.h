/* The end of a run or an import: the analysis, stored in the profile, and a summary. */
#ifndef GPUPROF_CLI_RESULTS_RESULTS_H
#define GPUPROF_CLI_RESULTS_RESULTS_H

#include "base/err.h"
#include "cli/load/load.h"

#include <stdbool.h>
#include <stdint.h>

struct results_options {
    struct load_how how;           /* how to load the profile */
    bool quiet;                    /* no summary */
    bool strict;                   /* fail at the end if records are missing */
    bool report;                   /* write the page beside the profile */
    const char *place;             /* where the profile will be; NULL: it is there */
    const char *metrics;           /* also write metrics there; NULL: do not */
    int64_t first_step, last_step; /* keep only these, counted from 1; 0, 0: all */
};

/* Analyses the profile, stores steps, gaps, findings and the JSON in it, and prints the summary on
 * stderr with the prefix. -1 with *e set; with strict also if records are missing, after all of
 * that was done. */
int results_make(const char *profile, const struct results_options *o, struct err *e);
/* Checks before the program starts whether the page can be written beside the profile. */
int results_check_page(const char *profile, bool force, struct err *e);

#endif
