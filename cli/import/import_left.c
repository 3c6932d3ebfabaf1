/* Imports what a killed run left behind. */
#include "cli/import/import_left.h"

#include "cli/run/run.h"

#include "analyzer/collector/collect.h"
#include "analyzer/profile/place.h"
#include "analyzer/profile/store.h"
#include "wire/spool_format.h"
#include "base/plain.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* When the first process began to record into the folder. */
static int64_t first_ns(const char *folder)
{
    char path[PATH_MAX];
    int64_t first = INT64_MAX;
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));) {
        struct spool_header h;
        FILE *in = (size_t)snprintf(path, sizeof path, "%s/%s", folder, f->d_name) < sizeof path
                       ? plain_file(path)
                       : NULL;
        if (in && fread(&h, sizeof h, 1, in) == 1 && h.start_monotonic_ns > 0 &&
            h.start_monotonic_ns < first)
            first = h.start_monotonic_ns;
        if (in)
            fclose(in);
    }
    if (d)
        closedir(d);
    return first == INT64_MAX ? 0 : first;
}

/* States that the killed collector had stored; the new collector asks for them by name. */
struct states {
    struct store *left; /* the profile that grew; NULL: there is none */
    void *last;
};

static const void *get_state(void *self, const char *name, size_t *n)
{
    struct states *s = self;
    free(s->last);
    s->last = s->left ? store_state(s->left, name, n) : NULL;
    return s->last;
}

/* Reads the records of the agents that the killed gpuprof had not yet put into `left`. */
static int adopt(const char *folder, struct store *left, struct sink sink, struct err *e)
{
    struct states states = {.left = left};
    struct collector *c = collect_open(folder, first_ns(folder), sink, e);
    if (!c)
        return -1;
    int rc = collect_resume(c, &(struct collect_states){get_state, &states}, e);
    if (rc == 0 && !left) {
        collect_put_meta(c, "source", "run");
        collect_put_meta(c, "gpuprof_version", GPUPROF_VERSION);
    }
    rc = rc < 0 ? -1 : collect_finish(c, e);
    collect_close(c);
    free(states.last);
    return rc;
}

int import_left(const char *folder, struct sink sink, struct err *e)
{
    struct store *left = NULL;
    char *partial = place_left(folder);
    int rc = partial ? store_open_left(&left, partial, e) : 0;
    if (rc == 0 && left)
        rc = store_read(left, &sink, e);
    if (rc == 0 && !(left && store_is_whole(left)))
        rc = adopt(folder, left, sink, e);
    store_close(left);
    free(partial);
    return rc;
}
