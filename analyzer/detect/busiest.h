/* The device whose operations show the steps of a process with several. */
#ifndef GPUPROF_DETECT_BUSIEST_H
#define GPUPROF_DETECT_BUSIEST_H

#include "analyzer/timeline/timeline.h"

struct busiest {
    uint32_t device; /* TL_NONE: the process uses one device or none */
    bool even;       /* another device works at least half as long */
};

/* Finds the device that works longest if there are several: threads that launch at the same time
 * mix their operations in any order, so one device's sequence is clearer. Returns -1 without
 * memory. */
int busiest_of_several(struct busiest *b, const struct timeline *t, uint32_t process);

#endif
