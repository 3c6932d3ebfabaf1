/* Which rank this process is, and how ranks come to be and find each other.
 *
 * Under torchrun (or any launcher that sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT)
 * a process takes what it is told. Otherwise the program starts itself once for each rank, with
 * these variables set, and waits: it ends with the first status that is not 0 and takes the other
 * ranks with it. */
#ifndef DDP_RANKS_H
#define DDP_RANKS_H

#include <stddef.h>

struct ranks {
    int rank, world, local;
};

/* Does not return in the process that starts the others: it exits when they have ended. */
void ranks_start(struct ranks *r, int wanted, char **argv);
/* Rank 0 hands `bytes` to all others over TCP. */
void ranks_share(const struct ranks *r, void *data, size_t bytes);

#endif
