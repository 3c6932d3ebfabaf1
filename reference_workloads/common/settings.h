/* How a reference trainer gets its settings: defaults, then a defect, then the command line, then
 * GPUPROF_APPLY. A defect is a few settings and the rule that must find it. */
#ifndef WORKLOAD_SETTINGS_H
#define WORKLOAD_SETTINGS_H

#include "reference_workloads/common/args.h"

struct defect {
    const char *name, *rule, *settings, *what;
};

/* `--defect NAME` plants one, `--defect NAME,NAME` several. `--defect list` (NAME, RULE and text,
 * tab between) and `--help` are answered here; whatever is wrong is one line on stderr and exit 2.
 */
void settings_read(const struct knobs *k, const struct defect *defects, size_t count, int argc,
                   char **argv, const char *usage);

/* One line: those of `always`, then the others that differ from the settings `before`. */
void settings_print(const struct knobs *now, void *before, const char *const *always, size_t count);

#endif
