/* What doctor checks. Each check adds lines to a list. Nothing on the machine is changed. */
#ifndef GPUPROF_CLI_DOCTOR_DOCTOR_H
#define GPUPROF_CLI_DOCTOR_DOCTOR_H

#include "base/vec.h"

enum doctor_state { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_MISSING };

struct doctor_line {
    enum doctor_state state;
    const char *id; /* a word that never changes, for --json */
    char found[256];
    char cure[256]; /* what to do about it; empty: nothing */
};

struct doctor VEC(struct doctor_line);

void doctor_add(struct doctor *d, enum doctor_state state, const char *id, const char *cure,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));

void doctor_gpu(struct doctor *d);     /* driver, devices, libcupti */
void doctor_access(struct doctor *d);  /* NVML, counters, container, memory */
void doctor_self(struct doctor *d);    /* gpuprof's own agent and virtual GPU */
void doctor_python(struct doctor *d);  /* the hook, PyTorch */
void doctor_host(struct doctor *d);    /* cores, disk */
void doctor_others(struct doctor *d);  /* other tools, settings that are in the way */
void doctor_summary(struct doctor *d); /* last: what the other checks mean together */

#endif
