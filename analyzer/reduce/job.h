/* A job of many ranks: each recording as its summary, packed. Jobs merge by putting the one's files
 * behind the other's, in any grouping; what the job is then poured into gets all rows of the one
 * rank that is analysed, and of the others their summaries. A summary has a few KB per step. The
 * summaries are unpacked one after another. job_spill moves the packed ones into a file: then the
 * memory of a job does not depend on the number of ranks, but for their names. */
#ifndef GPUPROF_REDUCE_JOB_H
#define GPUPROF_REDUCE_JOB_H

#include "analyzer/profile/packed.h"
#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdio.h>

struct job_file {
    char *path;
    char *wrong;       /* why it cannot be read; NULL: `rows` holds its summary */
    struct bytes rows; /* packed */
    int64_t epoch_ns;  /* that its rows count from: Unix time; 0 = not known */
    int64_t work_ns;   /* GPU time of the process that has most */
    size_t spilled;    /* bytes of `rows` that lie in the job's file instead; 0 = none */
    int64_t spilled_at;
};

struct job {
    struct VEC(struct job_file) files; /* in the order of their names, as they were listed */
    size_t looked_at;                  /* by job_spill: those behind are all in memory */
    size_t held;                       /* bytes of those that job_spill let stay */
    FILE *spill;                       /* has no name; NULL: all is in memory */
    bool redact; /* rows and names of files tell nothing of who recorded them, and where */
};

/* An empty entry for the file at `path`. NULL: out of memory. */
struct job_file *job_add(struct job *j, const char *path);
int job_file_fails(struct job_file *f, const char *why); /* -1: out of memory */
void job_release(struct job *j);

/* spill.c. Of the summaries in memory few MiB stay, the others go into a file in $TMPDIR, or /tmp;
 * where that cannot be written, they stay. */
void job_spill(struct job *j);
/* The rows of a file, from memory or read into *room, which the caller releases. NULL with *e set.
 */
const struct bytes *job_rows(const struct job *j, const struct job_file *f, struct bytes *room,
                             struct err *e);

/* Takes out the files that cannot be read, and those that are not of the run that most belong to;
 * *left_out in the arena names them with the reason, NULL: none.
 * *focus: the file whose rank the analysis is about: the first with marks of steps, as facts choose
 * it, else the one with most GPU time. -1 with *e set: nothing is left, or no two belong together.
 */
int job_sort_out(struct job *j, struct arena *arena, const char **left_out, size_t *focus,
                 struct err *e);
/* All rows of that file, summaries of the others, as several files are imported. */
int job_pour(const struct job *j, size_t focus, struct sink *out, struct err *e);

/* parts.c: one file of a job as bytes, behind those that are there. -1 with *e set. */
int job_put_file(const struct job *j, const struct job_file *f, struct bytes *b, struct err *e);
/* Adds the file that begins at *at. 1: done; 0: damaged; -1: out of memory. */
int job_get_file(struct job *j, const struct bytes *b, size_t *at);

/* Some files of a job as a file of its own. `made_of` says what the part was made of:
 * another part is not read. -1 with *e set. */
int job_write(const struct job *j, const char *made_of, const char *path, struct err *e);
/* Adds its files to the job. 1: done; 0: there is none that was made of this; -1 with *e set: no
 * memory. */
int job_read(struct job *j, const char *made_of, const char *path, struct err *e);

#endif
