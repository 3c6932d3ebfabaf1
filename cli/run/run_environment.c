/* Checks the variables by which a user sets gpuprof (gpuprof-run(1), ENVIRONMENT). The agent reads them where it can say
 * nothing, and takes a value that it does not know for none. */
#include "cli/run/run.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *values[3];
} variables[] = {
    {"GPUPROF_CUPTI_INTERFACE", {"1", "2"}},
    {"GPUPROF_CUPTI_PAUSES", {"0", "1"}},
    {"GPUPROF_HOOK", {"steps"}},
    {"GPUPROF_LINES", {"0", "1"}},
    {"GPUPROF_SAMPLES", {"0", "1"}},
    {"GPUPROF_STACKS", {"0", "1"}},
};

int run_environment_check(struct err *e)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i].name);
        const char *const *known = variables[i].values;
        bool found = !value || !*value;
        for (size_t k = 0; known[k]; k++)
            found = found || strcmp(value, known[k]) == 0;
        if (!found)
            return err_set(e, "%s is '%s' in the environment, but gpuprof knows only %s%s%s",
                           variables[i].name, value, known[0], known[1] ? " and " : "",
                           known[1] ? known[1] : "");
    }
    return 0;
}
