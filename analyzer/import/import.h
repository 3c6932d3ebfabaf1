/* Importers: each reads one format and pours rows into a sink. The build makes the list from the
 * folder: import_NAME.c defines `const struct importer import_NAME`. */
#ifndef GPUPROF_IMPORT_IMPORT_H
#define GPUPROF_IMPORT_IMPORT_H

#include "analyzer/profile/rows.h"

#include <stdbool.h>

struct importer {
    const char *name;     /* "profile", "kineto", "nsys" */
    const char *suffixes; /* for messages: ".json, .json.gz" */
    int priority;         /* the importer with the lowest value is asked first */
    /* True if the file seems to have this format, judged by its path and its first `n` bytes,
     * unpacked if it is gzip. */
    bool (*sniff)(const char *path, const void *head, size_t n);
    /* Reads the whole file. Row ids start at 1 in every file; import_paths shifts them if several
     * files go into one sink. 0, or -1 with *e set. */
    int (*read)(const char *path, struct sink *out, struct err *e);
};

/* The files to read: those named by the user, and those in named folders and their subfolders.
 * import_list_release frees it. */
struct import_files {
    char **at;
    size_t n, looked; /* looked: number of names seen in folders */
    bool endless;     /* a folder contains more files than a folder of recordings would: that is
                         why import_list failed */
    /* if a name in a folder has a format that must be converted first: how to do that */
    const char *other;
};
int import_list(const char *const *paths, size_t n, struct import_files *l, struct err *e);
void import_list_release(struct import_files *l);

/* A source of rows: a file, or a function that pours rows as an importer does. */
struct import_source {
    const char *path;
    /* NULL: choose the importer of the file */
    int (*read)(void *self, struct sink *out, struct err *e);
    void *self;
};
/* Reads all sources into one sink, as import_paths does with several files. -1 with *e set. */
int import_sources(const struct import_source *at, size_t n, struct sink *out, struct err *e);

/* Finds the importer of each path and runs it. A folder or several paths are several ranks in one
 * profile; each process gets a meta row IMPORT_FILE_KEY with the file it came from. -1 with *e set;
 * for an unknown format the message lists what gpuprof reads. */
int import_paths(const char *const *paths, size_t n, struct sink *out, struct err *e);

#endif
