/* What a run or an import ends with: the analysis, stored in the profile, and a summary. */
#ifndef GPUPROF_CLI_RESULTS_RESULTS_H
#define GPUPROF_CLI_RESULTS_RESULTS_H

#include "base/err.h"
#include "cli/load/load.h"

#include <stdbool.h>
#include <stdint.h>

struct results_options {
    struct load_how how;           /* the profile is loaded */
    bool quiet;                    /* no summary */
    bool strict;                   /* fail, at the end, where records are missing */
    bool report;                   /* write the page beside the profile */
    const char *place;             /* where the profile will be; NULL: where it is */
    const char *metrics;           /* also write them there; NULL */
    int64_t first_step, last_step; /* keep only these, counted from 1; 0, 0 = all */
};

/* Analyses the profile, stores steps, gaps, findings and the JSON in it, and prints the summary on
 * stderr, every line with our prefix. -1 with *e set; strict: also where all of that was done. */
int results_make(const char *profile, const struct results_options *o, struct err *e);
/* Before the program starts: may the page be written beside the profile? */
int results_check_page(const char *profile, bool force, struct err *e);

#endif
