/* Which windows of the run are recorded in full. Turns options into what the agent is told
 * ($GPUPROF_WINDOW) and what the collector does by time. */
#ifndef GPUPROF_CLI_RUN_RUN_PLAN_H
#define GPUPROF_CLI_RUN_RUN_PLAN_H

#include "analyzer/collector/collect.h"

struct run_wish { /* the options as given; 0 and NULL: not given */
    double delay_s, duration_s;
    const char *steps, *every, *window, *range;
    bool armed, light, full;
    bool all; /* another option needs all steps: no going light by itself */
};

enum run_way { WAY_ASKED, WAY_FULL, WAY_LIGHT, WAY_STEADY };

struct run_plan {
    struct collect_times times;
    enum run_way way;              /* WAY_ASKED: as the options say */
    char window[96];               /* "": all is recorded */
    int64_t first_step, last_step; /* of --steps, from 1; 0, 0: all */
};

/* -1 with *e set: an option makes no sense, or not together with another one. */
int plan_make(struct run_plan *p, const struct run_wish *w, struct err *e);

#endif
