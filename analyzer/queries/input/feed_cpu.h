/* How much of the cores the training thread, its process and the loader's workers use, from samples of the
 * host. */
#ifndef GPUPROF_QUERIES_INPUT_FEED_CPU_H
#define GPUPROF_QUERIES_INPUT_FEED_CPU_H

#include "analyzer/facts/facts.h"

struct cpu_use {
    double lines;       /* threads waiting for a core, on average; -1 = not sampled */
    double all;         /* cores that the program's threads use, on average; -1 = not sampled */
    double trains;      /* cores that the training process computes on; -1 = not sampled */
    double main_cpu;    /* the training thread's share of time computing; -1 */
    double main_line;   /* its share of time ready but without a core; -1 */
    double worker_cpu;  /* mean share of a worker's time computing; -1 */
    double worker_line; /* mean share of its time ready but without a core; -1 */
};

struct cpu_use query_cpu_use(const struct facts *facts);

#endif
