/* From paths to an analysis: profiles and traces of every format that the importers know, several
 * of them as ranks of one run. Files that belong to no run of several are left out, which the
 * health of the result says; where no two belong together, loading fails. */
#ifndef GPUPROF_CLI_LOAD_LOAD_H
#define GPUPROF_CLI_LOAD_LOAD_H

#include "analyzer/advice/advice.h"
#include "analyzer/import/import.h"
#include "report/export.h"

struct loaded {
    bool redact; /* as it was loaded */
    struct timeline *timeline;
    struct advice *analysis;
    struct kept_trial trials[TRIALS_SHOWN]; /* of the first file */
    size_t trial_count;
};

/* How recordings are loaded, as the options of a command say. Each command has one, and names it in
 * its table of options: LOAD_REDACT(how). All zero: none of these options was given. */
struct load_how {
    bool redact; /* leave out what tells who recorded it and where, besides the secrets that always
                    are; of all that is written */
    /* Which steps the analysis takes, instead of marks and of those that it finds. */
    const char *step_kernel; /* part of the name of a kernel that runs once in each step */
    int step_count;          /* steps in the recording; 0 = not given */
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
#define LOAD_STEP_COUNT(how)                                                                       \
    {                                                                                              \
        "steps-per-run", 0, OPTION_INT, &(how).step_count, "N", "the recording holds N steps"      \
    }

/* Of several files those that are ranks of one run stay; *left_out, in the arena, names the others
 * (NULL: none). -1: no two belong together, or a file cannot be read. */
int load_sort_out(struct import_files *l, const struct load_how *how, struct arena *arena,
                  const char **left_out, struct err *e);
/* The same in the health of what is written. */
int load_note_left_out(const struct sink *sink, const char *left_out, struct err *e);
/* On failure *l is empty and *e says which file and why. */
int load_analysis(const char *const *paths, size_t n, const struct load_how *how, struct loaded *l,
                  struct err *e);
/* The same with savings predicted by replay, where that can be trusted. `history`: the file with
 * trials of other profiles, which intervals learn from; NULL: none. */
int load_predicted(const char *const *paths, size_t n, const struct load_how *how,
                   const char *history, struct loaded *l, struct err *e);
/* That file: what the option --history says, else $GPUPROF_HISTORY; NULL when neither does. */
const char *load_history(const char *option);
void load_release(struct loaded *l);

/* What exporters are told about it: title from the profile's command, else the file's name. */
struct export_options load_options(const struct loaded *l, const char *path);
/* Name of the virtual GPU that it ran on, NULL on a real one. */
const char *load_virtual(const struct loaded *l);

#endif
