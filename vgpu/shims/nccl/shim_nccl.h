/* NCCL over the virtual GPU, libnccl.so.2. Ranks are processes (or threads, or devices of one
 * process) that meet in shared memory; a collective's kernel ends when all have arrived and the
 * modelled transfer is over, so a late rank is waited for as on real devices.
 *   shim_nccl_meet.c   the shared memory: joining, arrivals, ranks that die
 *   shim_nccl_comm.c   communicators: making, splitting, asking, ending
 *   shim_nccl_launch.c operations and groups become kernels behind barriers
 *   shim_nccl_call.c   the calls of the library that move data
 *   shim_nccl_data.c   small operations really move and reduce their data
 *   shim_nccl_mark.c   NVTX ranges with payloads, as the real library has them
 *
 * Kinder than the real library: when a rank dies, the communicator reports ncclRemoteError, and the
 * others' kernels end when the program aborts it, or after two seconds; ranks that call different
 * operations get ncclInvalidUsage.
 * Not modelled: several nodes, windows and device-side communication;
 * initialisation always blocks. */
#ifndef VGPU_SHIM_NCCL_H
#define VGPU_SHIM_NCCL_H

#include "core/core.h"

#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* nccl.h declares them without parameters, which C takes for "any" */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

enum { NCCL_RANKS = 16, NCCL_PLACES = 4, NCCL_MAIL = 65536 };

/* Who has arrived at which operation. A rank arrives at operation k after its operation k - 1 is
 * over, and by then all others have reached k - 1. So a place is free long before it is used
 * again. */
struct arrival {
    _Atomic uint64_t sequence;
    int64_t start_ns;
    uint64_t what; /* operation, bytes, root: all ranks must agree */
};

struct region {
    uint64_t secret;
    _Atomic int ranks; /* 0 until the first one has come */
    _Atomic int joined;
    _Atomic uint32_t bell; /* futex: something changed */
    _Atomic int closed;    /* the maker's descriptor is needed no more */
    struct {
        _Atomic int pid; /* 0 = not there */
        _Atomic int left;
        uint64_t host; /* a hash of its name: hosts have devices of their own */
        int device;
    } rank[NCCL_RANKS];
    struct arrival all[NCCL_PLACES][NCCL_RANKS];
    struct arrival pair[NCCL_RANKS][NCCL_RANKS][2][NCCL_PLACES]; /* from, to; 0 sends, 1 receives */
    struct {
        _Atomic uint64_t asked, answered; /* number of the split */
        int color, key;
        ncclUniqueId id;
    } split[2][NCCL_RANKS];
    /* no pages until something small is sent; between pairs: from, to */
    char mail[NCCL_PLACES][NCCL_RANKS][NCCL_MAIL];
    char pair_mail[NCCL_PLACES][NCCL_RANKS][NCCL_RANKS][NCCL_MAIL];
};

struct ncclComm {
    struct region *region;
    int rank, ranks, device;
    int maker_fd; /* of the region, where this process made it; -1 */
    uint64_t hash;
    _Atomic int refs;          /* its owner and its operations on the way */
    _Atomic int lost;          /* ncclResult_t: a rank has ended, its operations cannot */
    _Atomic int failed;        /* ncclResult_t: nothing is waited for any more */
    uint64_t launched;         /* operations so far */
    _Atomic uint64_t finished; /* of them, in order */
    uint64_t pairs[NCCL_RANKS][2], splits;
    pthread_t watcher;
    bool watched;
    _Atomic bool stop;
    int pidfd[NCCL_RANKS]; /* -1 = none */
    char error[160];
};

/* ---- meet ---- */
ncclResult_t meet_new_id(ncclUniqueId *id);
/* Opens the region and takes a rank there; meet_wait then waits for the others. */
ncclResult_t meet_join(struct ncclComm *c, const ncclUniqueId *id);
ncclResult_t meet_wait(struct ncclComm *c);
void meet_leave(struct ncclComm *c); /* gives the region back */
/* Waits until `true` says so, or somebody who is needed has gone. */
ncclResult_t meet_until(struct ncclComm *c, bool (*met)(const struct ncclComm *c, uint64_t arg),
                        uint64_t arg);
void meet_ring(struct region *r);
ncclResult_t meet_fail(struct ncclComm *c, ncclResult_t why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *meet_last_error(void); /* of the thread's latest failure */

/* ---- comm ---- */
void comm_unref(struct ncclComm *c);
ncclResult_t comm_check(const struct ncclComm *c);

/* ---- launch ---- */
enum nccl_kind {
    KIND_ALL_REDUCE,
    KIND_REDUCE_SCATTER,
    KIND_ALL_GATHER,
    KIND_BROADCAST,
    KIND_REDUCE,
    KIND_ALL_TO_ALL,
    KIND_SEND,
    KIND_RECV
};
struct operation {
    enum nccl_kind kind;
    struct ncclComm *comm;
    cudaStream_t stream;
    const void *in;
    void *out;
    size_t bytes; /* as the call counts them */
    ncclDataType_t type;
    ncclRedOp_t op;
    int peer; /* or root */
};
size_t type_bytes(ncclDataType_t type); /* 0 = no such type */
ncclResult_t launch(const struct operation *o);
bool group_open(void);
/* Inside a group the waiting of a new communicator is put off. */
ncclResult_t group_await(struct ncclComm *c);

/* What a kernel carries from its launch to its end. */
struct flight {
    struct ncclComm *comm;
    uint64_t sequence, what;
    bool pairs;
    struct {
        int peer, way; /* 0 sends */
        uint64_t sequence;
        const void *in; /* what is small: its data moves */
        void *out;
        size_t bytes; /* 0: it is not */
    } pair[2 * NCCL_RANKS];
    int pair_n;
    struct operation *ops; /* whose data moves: what is small, not between pairs */
    int ops_n;
};

/* ---- data ---- */
void data_keep_pair(struct flight *f, int i, const struct operation *o); /* the i-th pair */
void data_keep(struct flight *f, const struct operation *const *ops, int n);
void data_put(const struct flight *f);  /* on arrival: this rank's part, for the others */
void data_take(const struct flight *f); /* when all have arrived: the result */

/* ---- marks ---- */
void mark_push(const char *name, const struct operation *o);
void mark_pop(void);

#endif
