/* run --armed: windows on request, each with a profile of its own. */
#ifndef GPUPROF_CLI_RUN_RUN_ARMED_H
#define GPUPROF_CLI_RUN_RUN_ARMED_H

#include "cli/run/run.h"
#include "cli/run/run_asked.h"

struct armed;

/* The collector's rows go into armed_sink. */
struct armed *armed_open(const struct record_options *o, const struct run_folders *folders,
                         struct err *e);
struct sink armed_sink(struct armed *a);
int64_t armed_bytes(void *armed); /* bytes of the window's rows, for collect_limit */
int64_t armed_most_bytes(const struct armed *a);
/* Call it after each drain: begins windows, and writes the profile of one that is over. */
void armed_tick(struct armed *a, struct collector *c, struct wishes *w);
/* Call armed_stop before the last drain and armed_finish after it: for a window in which the
 * program ended. */
void armed_stop(struct armed *a, struct collector *c);
int armed_finish(struct armed *a, struct collector *c, struct wishes *w, struct err *e);
void armed_close(struct armed *a);

#endif
