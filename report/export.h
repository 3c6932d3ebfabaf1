/* Exporters: one file, one output. Each writes a whole document to `f` and reports errors in *e;
 * the caller opens and closes the stream, and checks the close. The build makes the list from the
 * folder: export/export_NAME.c defines `const struct exporter export_NAME`. */
#ifndef GPUPROF_REPORT_EXPORT_H
#define GPUPROF_REPORT_EXPORT_H

#include "analyzer/compare/compare.h"
#include "analyzer/profile/trials.h"

#include <stdio.h>

/* How much the terminal shows: USUAL for `analyze` into a pipe, BRIEF for one screen, ALL. */
enum detail { DETAIL_USUAL, DETAIL_BRIEF, DETAIL_ALL };

struct export_options {
    const char *title;        /* the profiled command, or the file's name */
    const char *source;       /* path of the profile */
    const char *const *files; /* all files that were named, as shown; NULL: only source */
    size_t file_count;
    const char *base_source; /* diff, gate: path of the baseline, or NULL */
    const char *mend;        /* gate: the diff that mends what became slower, or NULL */
    const char *virtual_gpu; /* diff, gate: name of the virtual GPU of either recording, or NULL */
    int top;                 /* findings to show; 0: all */
    const char *rule;        /* only this rule; NULL: all */
    const char *rows_of;     /* json: the profile whose rows behind each evidence to show; NULL */
    int rows;                /* so many of them */
    enum detail detail;      /* for the terminal only, like colour and width */
    bool color;
    int width;                       /* terminal columns; 0: 80 */
    const struct kept_trial *trials; /* of the profile, newest first; NULL: none */
    size_t trial_count;
    bool running;      /* openmetrics: the program has not ended */
    bool merged_ranks; /* chrome: one file for all ranks, with shifted pids */
};

struct exporter {
    const char *name;   /* "html", "chrome", "term", "markdown", "junit", "json" */
    const char *suffix; /* ".html" */
    const char *help;
    /* NULL if it makes no sense for the format. */
    int (*analysis)(const struct advice *, const struct export_options *, FILE *, struct err *);
    int (*diff)(const struct diff *, const struct export_options *, FILE *, struct err *);
    int (*gate)(const struct gate *, const struct export_options *, FILE *, struct err *);
};

extern const struct exporter *const exporters[];
extern const size_t exporter_count;
const struct exporter *exporter_find(const char *name);

/* 0, or -1 with *e set if writing to f failed. */
int export_done(FILE *f, struct err *e);

#endif
