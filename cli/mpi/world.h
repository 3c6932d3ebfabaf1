/* What gpuprof-mpi asks of MPI. Only this room includes mpi.h. A call of MPI that fails ends all
 * processes with one line. */
#ifndef GPUPROF_CLI_MPI_WORLD_H
#define GPUPROF_CLI_MPI_WORLD_H

#include "analyzer/reduce/job.h"

struct world {
    int process, processes; /* this one, counted from 0, of all */
};

void world_open(struct world *w);
void world_close(void);

/* Every process gets the bytes of process 0. */
void world_share(const struct world *w, struct bytes *b);

/* Merges the jobs of all processes into that of process 0, in the order of the processes; the
 * others' are empty afterwards. `failed`: this process has no job, and *e says why. Process 0: -1
 * with *e set where one failed. The others: 0.
 *
 * Why point to point: the operation of MPI_Reduce works on elements of one size, and summaries have
 * any. Along a binomial tree a process receives at most log2(processes) times, and half of all send
 * at once. A message holds 1 file, so that besides its job a process has 1 packed file in memory.
 */
int world_merge(const struct world *w, struct job *j, bool failed, struct err *e);

#endif
