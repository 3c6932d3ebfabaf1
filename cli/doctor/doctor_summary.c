/* What all checks mean together: what a run on this machine will record, what it will not, and
 * why. */
#include "cli/doctor/doctor.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The worst state of a check; DOCTOR_MISSING: it was not made. */
static enum doctor_state state_of(const struct doctor *d, const char *id)
{
    bool found = false;
    enum doctor_state worst = DOCTOR_OK;
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->at[i].id, id) == 0) {
            found = true;
            worst = d->at[i].state > worst ? d->at[i].state : worst;
        }
    return found ? worst : DOCTOR_MISSING;
}

static void join(char *list, size_t size, const char *what)
{
    size_t n = strlen(list);
    snprintf(list + n, size - n, "%s%s", n ? ", " : "", what);
}

void doctor_summary(struct doctor *d)
{
    bool agent = state_of(d, "agent") == DOCTOR_OK, gpu = state_of(d, "gpu") == DOCTOR_OK,
         gauges = state_of(d, "nvml") == DOCTOR_OK, hook = state_of(d, "python-hook") == DOCTOR_OK;
    char yes[256] = "", no[256] = "";
    join(agent && gpu ? yes : no, sizeof yes, "kernels, copies and CUDA calls");
    join(agent && gpu ? yes : no, sizeof yes, "shapes of library calls");
    join(agent ? yes : no, sizeof yes, "NVTX ranges, samples of the host");
    join(agent && hook ? yes : no, sizeof yes, "PyTorch's data loading and waits");
    join(gauges ? yes : no, sizeof yes, "clocks, power and memory of the GPU");
    if (yes[0])
        doctor_add(d, DOCTOR_OK, "recorded", "", "a run here records: %.200s", yes);
    if (no[0])
        doctor_add(d, DOCTOR_NOTE, "not-recorded",
                   !agent ? "see agent above"
                   : !gpu ? "see driver and gpu above; on a virtual GPU gpuprof records all of it"
                          : "see nvml above",
                   "not recorded: %.200s", no);
}
