/* NCCL over the virtual GPU, libnccl.so.2. Ranks are processes (or threads, or devices of one
 * process) that meet in shared memory. A collective's kernel ends when all ranks have arrived and
 * the modelled transfer is over, so the others wait for a late rank as on real devices.
 *   shim_nccl_meet.c   the shared memory: joining, arrivals, ranks that die
 *   shim_nccl_comm.c   communicators: making, splitting, questions, ending
 *   shim_nccl_launch.c turns operations and groups into kernels behind barriers
 *   shim_nccl_call.c   the library's calls that move data
 *   shim_nccl_data.c   moves and reduces the data of small operations
 *   shim_nccl_mark.c   NVTX ranges with payloads, as the real library has them
 *
 * The shim is kinder than the real library. When a rank dies, the communicator reports
 * ncclRemoteError, and the kernels of the other ranks end when the program aborts the communicator
 * or after two seconds. Ranks that call different operations get ncclInvalidUsage.
 * Not modelled: several nodes, windows, device-side communication; initialisation always blocks. */
#ifndef VGPU_SHIM_NCCL_H
#define VGPU_SHIM_NCCL_H

#include "core/core.h"

#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* nccl.h declares these with empty parentheses, which in C accept any arguments */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

enum { NCCL_RANKS = 16, NCCL_PLACES = 4, NCCL_MAIL = 65536 };

/* Which rank has arrived at which operation. A rank arrives at operation k only after its operation
 * k - 1 has ended, and by then all other ranks have arrived at k - 1. So an entry is no longer read
 * long before it is used again. */
struct arrival {
    _Atomic uint64_t sequence;
    int64_t start_ns;
    uint64_t what; /* hash of operation, bytes and root: all ranks must have the same */
};

struct region {
    uint64_t secret;
    _Atomic int ranks; /* 0 until the first rank has joined */
    _Atomic int joined;
    _Atomic uint32_t bell; /* futex: counted up whenever something changes */
    _Atomic int closed;    /* the maker's file descriptor is no longer needed */
    struct {
        _Atomic int pid; /* 0: not joined yet */
        _Atomic int left;
        /* Hash of the host's name: ranks on different hosts have different devices. */
        uint64_t host;
        int device;
    } rank[NCCL_RANKS];
    struct arrival all[NCCL_PLACES][NCCL_RANKS];
    /* [from][to]; 0 is the sender's entry, 1 the receiver's. */
    struct arrival pair[NCCL_RANKS][NCCL_RANKS][2][NCCL_PLACES];
    struct {
        _Atomic uint64_t asked, answered; /* number of the latest split */
        int color, key;
        ncclUniqueId id;
    } split[2][NCCL_RANKS];
    /* Data of small operations; the pages exist only once something is sent. pair_mail is indexed
     * [from][to]. */
    char mail[NCCL_PLACES][NCCL_RANKS][NCCL_MAIL];
    char pair_mail[NCCL_PLACES][NCCL_RANKS][NCCL_RANKS][NCCL_MAIL];
};

struct ncclComm {
    struct region *region;
    int rank, ranks, device;
    int maker_fd; /* descriptor of the region in the process that made it; otherwise -1 */
    uint64_t hash;
    _Atomic int refs;   /* one for the owner, one for each operation under way */
    _Atomic int lost;   /* an ncclResult_t: a rank has ended, so its operations cannot complete */
    _Atomic int failed; /* an ncclResult_t: nothing waits for the others any more */
    uint64_t launched;  /* number of operations launched */
    _Atomic uint64_t finished; /* number of operations finished; they finish in order */
    uint64_t pairs[NCCL_RANKS][2], splits;
    pthread_t watcher;
    bool watched;
    _Atomic bool stop;
    int pidfd[NCCL_RANKS]; /* -1: none */
    char error[160];
};

/* ---- shim_nccl_meet.c ---- */
ncclResult_t meet_new_id(ncclUniqueId *id);
/* Opens the region and takes a rank in it. meet_wait then waits for the other ranks. */
ncclResult_t meet_join(struct ncclComm *c, const ncclUniqueId *id);
ncclResult_t meet_wait(struct ncclComm *c);
void meet_leave(struct ncclComm *c); /* unmaps the region */
/* Waits until `met` returns true. Returns an error if a rank that is needed has ended. */
ncclResult_t meet_until(struct ncclComm *c, bool (*met)(const struct ncclComm *c, uint64_t arg),
                        uint64_t arg);
void meet_ring(struct region *r);
ncclResult_t meet_fail(struct ncclComm *c, ncclResult_t why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *meet_last_error(void); /* text of the thread's latest failure */

/* ---- shim_nccl_comm.c ---- */
void comm_unref(struct ncclComm *c);
ncclResult_t comm_check(const struct ncclComm *c);

/* ---- shim_nccl_launch.c ---- */
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
    size_t bytes; /* by the call's count: of one rank's part for some operations */
    ncclDataType_t type;
    ncclRedOp_t op;
    int peer; /* or the root */
};
size_t type_bytes(ncclDataType_t type); /* 0: no such type */
ncclResult_t launch(const struct operation *o);
bool group_open(void);
/* Waits for the other ranks of a new communicator; inside a group, at the group's end. */
ncclResult_t group_await(struct ncclComm *c);

/* What a kernel keeps from its launch to its end. */
struct flight {
    struct ncclComm *comm;
    uint64_t sequence, what;
    bool pairs;
    struct {
        int peer, way; /* 0: this rank sends; 1: it receives */
        uint64_t sequence;
        const void *in; /* set for small operations, whose data moves */
        void *out;
        size_t bytes; /* 0: too large, its data does not move */
    } pair[2 * NCCL_RANKS];
    int pair_n;
    struct operation *ops; /* the small collectives, whose data moves; NULL for pairs */
    int ops_n;
};

/* ---- shim_nccl_data.c ---- */
void data_keep_pair(struct flight *f, int i, const struct operation *o); /* of the i-th pair */
void data_keep(struct flight *f, const struct operation *const *ops, int n);
/* On arrival: puts this rank's part into the mail for the others. */
void data_put(const struct flight *f);
void data_take(const struct flight *f); /* when all have arrived: writes the result */

/* ---- shim_nccl_mark.c ---- */
void mark_push(const char *name, const struct operation *o);
void mark_pop(void);

#endif
