/* How a reference trainer gets its settings: defaults, then a defect, then the command line, then
 * GPUPROF_APPLY. A defect is a few settings, the rule that must find it, and what takes it out
 * again. */
#ifndef WORKLOAD_SETTINGS_H
#define WORKLOAD_SETTINGS_H

#include "reference_workloads/common/args.h"

struct defect {
    const char *name, *rule, *settings;
    const char *undo; /* settings that take it out; NULL: those that the rule advises do */
    const char *what;
};

/* `--defect NAME` plants one, `--defect NAME,NAME` several. `--defect list` (NAME, RULE, UNDO,
 * which may be empty, and text, tabs between) and `--help` are answered here; whatever is wrong is
 * one line on stderr and exit 2.
 */
void settings_read(const struct settings *k, const struct defect *defects, size_t count, int argc,
                   char **argv, const char *usage);

/* One line: those of `always`, then the others that differ from the settings `before`. */
void settings_print(const struct settings *now, void *before, const char *const *always,
                    size_t count);

#endif
