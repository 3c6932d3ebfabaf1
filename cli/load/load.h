/* From paths to an analysis. Paths are profiles and traces of every format that the importers know;
 * several are ranks of one run. Files that do not belong to that run are left out, and the health
 * of the result names them. If no two files belong together, loading fails. */
#ifndef GPUPROF_CLI_LOAD_LOAD_H
#define GPUPROF_CLI_LOAD_LOAD_H

#include "analyzer/advice/advice.h"
#include "analyzer/import/import.h"
#include "report/export.h"

struct loaded {
    bool redact; /* as in struct load_how */
    struct timeline *timeline;
    struct advice *analysis;
    struct kept_trial trials[TRIALS_SHOWN]; /* of the first file */
    size_t trial_count;
};

/* How recordings are loaded, by the options of a command. Each command has one, and names it in its
 * table of options: LOAD_REDACT(how). All zero: none of these options was given. */
struct load_how {
    /* Also leave out who recorded and where, from all that is written; secrets always are. */
    bool redact;
    /* How the analysis finds steps, in place of marks and of its own search: */
    const char *step_kernel; /* part of the name of a kernel that runs once in each step */
    int step_count;          /* number of steps in the recording; 0: not given */
    const char *rank;        /* number of the rank to analyse; NULL: not given */
};
#define LOAD_REDACT(how)                                                                           \
    {                                                                                              \
        "redact", 0, OPTION_FLAG, &(how).redact, NULL,                                             \
            "also leave out arguments, folders, user, host"                                        \
    }
#define LOAD_STEP_KERNEL(how)                                                                      \
    {                                                                                              \
        "step-kernel", 0, OPTION_STRING, &(how).step_kernel, "NAME",                               \
            "a step begins where a kernel of this name does"                                       \
    }
#define LOAD_RANK(how)                                                                             \
    {                                                                                              \
        "rank", 0, OPTION_STRING, &(how).rank, "N", "of several ranks: analyse rank N"             \
    }
#define LOAD_STEP_COUNT(how)                                                                       \
    {                                                                                              \
        "steps-per-run", 0, OPTION_INT, &(how).step_count, "N", "the recording holds N steps"      \
    }

/* Keeps those of several files that are ranks of one run; *left_out, in the arena, names the others
 * (NULL: none). -1: no two belong together, or a file cannot be read. */
int load_sort_out(struct import_files *l, const struct load_how *how, struct arena *arena,
                  const char **left_out, struct err *e);
/* Writes left_out into the health of the result. */
int load_note_left_out(const struct sink *sink, const char *left_out, struct err *e);
/* Stores an entry of the result's meta; each call takes another place before the last row's id. */
int load_put_meta(const struct sink *sink, const char *key, const char *value, int before_last,
                  struct err *e);
/* -1: *l is empty, and *e says which file failed and why. */
int load_analysis(const char *const *paths, size_t n, const struct load_how *how, struct loaded *l,
                  struct err *e);
/* The same, with savings predicted by replay if that can be trusted. history: a file with trials of
 * other profiles, from which intervals learn; NULL: none. */
int load_predicted(const char *const *paths, size_t n, const struct load_how *how,
                   const char *history, struct loaded *l, struct err *e);
/* That file: the option --history, else $GPUPROF_HISTORY, else NULL. */
const char *load_history(const char *option);
void load_release(struct loaded *l);

/* Options for exporters: the title is the profile's command, else the file's name. */
struct export_options load_options(const struct loaded *l, const char *path);
/* Name of the virtual GPU on which the program ran; NULL: a real one. */
const char *load_virtual(const struct loaded *l);

#endif
