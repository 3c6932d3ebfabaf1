/* Importers: each reads one format and pours rows into a sink. One file = one format; the list is
 * made from the folder (import_NAME.c defines `const struct importer import_NAME`). */
#ifndef GPUPROF_IMPORT_IMPORT_H
#define GPUPROF_IMPORT_IMPORT_H

#include "analyzer/profile/rows.h"

#include <stdbool.h>

struct importer {
    const char *name;     /* "profile", "kineto", "nsys" */
    const char *suffixes; /* for messages: ".json, .json.gz" */
    int priority;         /* lower is asked first */
    /* Looks at the path and the first `n` bytes (gunzipped if it was gzip). */
    bool (*sniff)(const char *path, const void *head, size_t n);
    /* Reads the whole file. Row ids start at 1 in every file; import_paths shifts them when several
     * files go into one sink. */
    int (*read)(const char *path, struct sink *out, struct err *e);
};

/* Files that were named, folders as the files in them and in their folders. release frees it. */
struct import_files {
    char **at;
    size_t n, looked;  /* names in folders */
    bool endless;      /* more than a folder of recordings has: that is the error */
    const char *other; /* of names in folders: how to get what is read of one of another format */
};
int import_list(const char *const *paths, size_t n, struct import_files *l, struct err *e);
void import_list_release(struct import_files *l);

/* One of several sources of rows: a file, or what pours rows as an importer does. */
struct import_source {
    const char *path;
    int (*read)(void *self, struct sink *out, struct err *e); /* NULL: the importer of the file */
    void *self;
};
/* As import_paths does with several files. */
int import_sources(const struct import_source *at, size_t n, struct sink *out, struct err *e);

/* Finds the importer of `path` and runs it; a folder or several paths = several ranks in one
 * profile; each process of them says which file it came from (meta IMPORT_FILE_KEY).
 * Unknown format: one line that names what can be read. */
int import_paths(const char *const *paths, size_t n, struct sink *out, struct err *e);

#endif
