/* What `reduce` and gpuprof-mpi share, and the parts of `reduce`. A part is made from PART_FILES
 * recordings, one after another, so a worker holds one recording and a few summaries in memory.
 * Parts merge in the order of their files. */
#ifndef GPUPROF_CLI_REDUCE_REDUCE_H
#define GPUPROF_CLI_REDUCE_REDUCE_H

#include "analyzer/import/import.h"
#include "analyzer/reduce/job.h"
#include "cli/load/load.h"

enum { PART_FILES = 16 };

struct parts {
    const struct import_files *files;
    char *folder; /* where the parts lie until the profile is written */
    size_t n;
    int workers;
    bool redact;
};

/* reduce_write.c: lists the recordings that the operands name, without the output. -1 with *e set,
 * also if there are none, or if the output exists. */
int reduce_list(int argc, char **argv, const char *output, bool force, struct import_files *l,
                struct err *e);
/* Writes the job as a profile. *rows: its number of rows. -1 with *e set. */
int reduce_write(struct job *job, const char *output, bool force, int64_t *rows, struct err *e);
/* Stores the analysis in the profile, as every command does that makes one. */
void reduce_analyse(const char *output, const struct load_how *how);

/* reduce_parts.c. Makes the folder beside the profile. -1 with *e set. */
int parts_open(struct parts *p, const struct import_files *files, const char *output, int workers,
               bool redact, struct err *e);
/* Makes the missing parts, with all workers. -1 with *e set: one failed. */
int parts_make(const struct parts *p, struct err *e);
/* Merges all parts into one job. -1 with *e set. */
int parts_merge(const struct parts *p, struct job *j, struct err *e);
void parts_remove(const struct parts *p); /* the files and the folder */
void parts_close(struct parts *p);

#endif
