/* Stores summaries in a temporary file: written one after the other, read one at a time. The file
 * has no name, so it disappears with the process. */
#include "analyzer/reduce/job.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { HELD = 4 << 20 }; /* bytes that stay in memory */

static FILE *open_nameless(void)
{
    const char *set = getenv("TMPDIR");
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/gpuprof-XXXXXX", set && *set ? set : "/tmp");
    int fd = n > 0 && (size_t)n < sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
    if (fd < 0)
        return NULL;
    unlink(path);
    FILE *f = fdopen(fd, "w+b");
    if (!f)
        close(fd);
    return f;
}

static int spill_one(struct job *j, struct job_file *f)
{
    if (fseeko(j->spill, 0, SEEK_END) < 0)
        return -1;
    off_t at = ftello(j->spill);
    if (at < 0 || fwrite(f->rows.at, 1, f->rows.n, j->spill) != f->rows.n || fflush(j->spill) != 0)
        return -1;
    f->spilled_at = at;
    f->spilled = f->rows.n;
    bytes_release(&f->rows);
    return 0;
}

void job_spill(struct job *j)
{
    for (; j->looked_at < j->files.n; j->looked_at++) {
        struct job_file *f = &j->files.at[j->looked_at];
        if (j->held + f->rows.cap <= HELD) {
            j->held += f->rows.cap;
            continue;
        }
        if (!j->spill && !(j->spill = open_nameless()))
            return;
        if (spill_one(j, f) < 0)
            return;
    }
}

const struct bytes *job_rows(const struct job *j, const struct job_file *f, struct bytes *room,
                             struct err *e)
{
    if (!f->spilled)
        return &f->rows;
    room->at = malloc(f->spilled);
    if (!room->at) {
        err_no_memory(e);
        return NULL;
    }
    room->n = room->cap = f->spilled;
    if (fseeko(j->spill, f->spilled_at, SEEK_SET) == 0 &&
        fread(room->at, 1, room->n, j->spill) == room->n)
        return room;
    err_set(e, "the temporary file of summaries cannot be read");
    return NULL;
}
