/* Trials that `try` stored in a profile: what was predicted and what was measured. Reads a
 * few rows, not the whole profile. A file that is no profile, or a profile of an older
 * version, has no trials. */
#ifndef GPUPROF_PROFILE_TRIALS_H
#define GPUPROF_PROFILE_TRIALS_H

#include <stddef.h>
#include <stdint.h>

enum { TRIALS_SHOWN = 16 };

struct kept_trial { /* a row of the table trial; texts are cut to fit */
    char rule[64], setting[256], verdict[32];
    /* predicted_mid_ns -1: not predicted */
    int64_t predicted_low_ns, predicted_mid_ns, predicted_high_ns;
    int64_t own_low_ns, own_high_ns; /* predicted, before past trials widened the interval */
    int64_t measured_low_ns, measured_mid_ns, measured_high_ns, step_ns;
    int64_t runs_without, runs_with, tried_realtime_ns;
};

/* Reads at most `max` trials, the newest first; returns their number. */
size_t trials_read(const char *profile, struct kept_trial *out, size_t max);

#endif
