/* gpuprof-mpi's use of MPI. Only this room includes mpi.h. If a call of MPI fails, all processes
 * end with one line. */
#ifndef GPUPROF_CLI_MPI_WORLD_H
#define GPUPROF_CLI_MPI_WORLD_H

#include "analyzer/reduce/job.h"

struct world {
    int process, processes; /* this one, from 0; number of all */
};

void world_open(struct world *w);
void world_close(void);

/* Gives every process the bytes of process 0. */
void world_share(const struct world *w, struct bytes *b);

/* Merges the jobs of all processes into that of process 0, in the order of the processes; the
 * others are empty afterwards. failed: this process has no job, and *e says why. Process 0 returns
 * -1 with *e set if any process failed; the others return 0.
 *
 * Why messages and not MPI_Reduce: its operation needs elements of one size, and summaries have
 * different sizes. Along a binomial tree a process receives at most log2(processes) times, and half
 * of all processes send at the same time. A message holds 1 file, so besides its job a process has
 * 1 packed file in memory. */
int world_merge(const struct world *w, struct job *j, bool failed, struct err *e);

#endif
