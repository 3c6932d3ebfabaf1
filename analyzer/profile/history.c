/* Reads and appends the file of past trials; see history.h. */
#include "analyzer/profile/history.h"

#include "base/mode.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char header[] =
    "# gpuprof trials: Unix ns, GPU, change, predicted low, high, measured "
    "(shares of the step saved)\n";

static bool share(double v)
{
    return isfinite(v) && fabs(v) < 1000;
}

static bool parse(const char *line, struct past_trial *t)
{
    char gpu[8];
    *t = (struct past_trial){0};
    if (sscanf(line, "%" SCNd64 "\t%7[a-z]\t%23[a-z-]\t%lf\t%lf\t%lf", &t->tried_ns, gpu, t->edit,
               &t->low, &t->high, &t->measured) != 6)
        return false;
    t->virtual_gpu = strcmp(gpu, "virtual") == 0;
    return share(t->low) && share(t->high) && share(t->measured);
}

struct past_trial *history_read(const char *path, size_t *n, struct err *e)
{
    char line[512];
    struct past_trial *all = NULL, one;
    *n = 0;
    FILE *f = fopen(path, "re");
    if (!f && errno != ENOENT)
        err_set(e, "cannot read the history %s: %s", path, strerror(errno));
    if (f && !(all = calloc(HISTORY_MAX, sizeof *all)))
        err_set(e, "out of memory");
    while (all && fgets(line, sizeof line, f)) {
        if (!parse(line, &one))
            continue;
        if (*n == HISTORY_MAX)
            memmove(all, all + 1, --*n * sizeof *all);
        all[(*n)++] = one;
    }
    if (f)
        fclose(f);
    return all;
}

int history_add(const char *path, const struct past_trial *t, struct err *e)
{
    char text[640];
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode_of_output());
    if (fd < 0)
        return err_set(e, "cannot write the history %s: %s", path, strerror(errno));
    bool empty = fstat(fd, &st) == 0 && st.st_size == 0;
    int size = snprintf(text, sizeof text, "%s%" PRId64 "\t%s\t%s\t%.6f\t%.6f\t%.6f\n",
                        empty ? header : "", t->tried_ns, t->virtual_gpu ? "virtual" : "real",
                        t->edit, t->low, t->high, t->measured);
    ssize_t done = write(fd, text, (size_t)size);
    int rc = done == size ? 0
                          : err_set(e, "cannot write the history %s: %s", path,
                                    done < 0 ? strerror(errno) : "no room");
    close(fd);
    return rc;
}
