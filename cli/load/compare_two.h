/* Two profiles for diff and gate, loaded one after the other. */
#ifndef GPUPROF_CLI_LOAD_COMPARE_TWO_H
#define GPUPROF_CLI_LOAD_COMPARE_TWO_H

#include "cli/load/load.h"

struct two {
    struct loaded base, now;
};

int two_load(struct two *t, const char *base, const char *now, const struct load_how *how,
             struct err *e);
void two_release(struct two *t);
struct export_options two_options(const struct two *t, const char *base, const char *now);

#endif
