/* A job of many ranks: a packed summary of each recording. Jobs merge by appending one's files to
 * the other's, in any grouping. A job is then poured into a sink, with all rows of the one rank
 * that is analysed, and the summaries of the others. A summary takes a few KB per step. Summaries
 * are unpacked one after another. job_spill moves packed summaries into a file; then a job's memory
 * does not grow with the number of ranks, except for their names. */
#ifndef GPUPROF_REDUCE_JOB_H
#define GPUPROF_REDUCE_JOB_H

#include "analyzer/profile/packed.h"
#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdio.h>

struct job_file {
    char *path;
    char *wrong;       /* why it cannot be read; NULL: `rows` contains its summary */
    struct bytes rows; /* the packed summary */
    int64_t epoch_ns;  /* Unix time that its rows count from; 0 = not known */
    int64_t work_ns;   /* GPU time of its process with the most */
    size_t spilled;    /* number of bytes of `rows` in the job's file; 0 = they are in memory */
    int64_t spilled_at;
};

struct job {
    struct VEC(struct job_file) files; /* sorted as they were listed */
    size_t looked_at;                  /* job_spill has handled the files before this index */
    size_t held;                       /* bytes that job_spill left in memory */
    const char *rank; /* number of the rank to analyse; NULL: job_sort_out chooses it, and sets this
                       * where the number is known */
    FILE *spill;      /* a file without a name; NULL: everything is in memory */
    bool redact;      /* rows and file names must not show who recorded them, or where */
};

/* Adds an empty entry for the file at `path`. NULL: out of memory. */
struct job_file *job_add(struct job *j, const char *path);
/* marks it as unreadable; -1: out of memory */
int job_file_fails(struct job_file *f, const char *why);
void job_release(struct job *j);

/* spill.c. Keeps a few MiB of summaries in memory and moves the others into a file in $TMPDIR or
 * /tmp. If that file cannot be written, they stay in memory. */
void job_spill(struct job *j);
/* The rows of a file: those in memory, or read into *room, which the caller
 * releases. NULL with *e set. */
const struct bytes *job_rows(const struct job *j, const struct job_file *f, struct bytes *room,
                             struct err *e);

/* Removes files that cannot be read, and files that do not belong to the run that most files belong
 * to. *left_out: names them with reasons, from the arena; NULL: none. *focus: index of the file
 * whose rank is analysed: j->rank if it is here, otherwise the first with step marks, chosen as the
 * facts do, otherwise the one with most GPU time. -1 with *e set: no file is left, or no two belong
 * together. */
int job_sort_out(struct job *j, struct arena *arena, const char **left_out, size_t *focus,
                 struct err *e);
/* Pours all rows of the file `focus`, read from its path, and the summaries of the others, as an
 * import of several files does. -1 with *e set. */
int job_pour(const struct job *j, size_t focus, struct sink *out, struct err *e);

/* parts.c: appends one file of a job to the bytes. -1 with *e set. */
int job_put_file(const struct job *j, const struct job_file *f, struct bytes *b, struct err *e);
/* Adds the file that begins at *at to the job, and advances *at. 1: done; 0:
 * damaged; -1: out of memory. */
int job_get_file(struct job *j, const struct bytes *b, size_t *at);

/* Writes a job to a file, a "part". `made_of` identifies what the part was made of; job_read
 * accepts only the same text. -1 with *e set. */
int job_write(const struct job *j, const char *made_of, const char *path, struct err *e);
/* Adds the files of a part to the job. 1: done; 0: there is no intact part with this `made_of`; -1
 * with *e set: out of memory. */
int job_read(struct job *j, const char *made_of, const char *path, struct err *e);

#endif
