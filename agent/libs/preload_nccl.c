/* Hooks on NCCL's calls. NCCL's own NVTX ranges (instrument_nccl.c) tell communicator and bytes,
 * whoever makes the call. A hook adds what they leave out: type, rank, number of ranks, root, and
 * the order of calls on a communicator if this process holds several of its ranks. Without ranges
 * (NCCL_NVTX_DISABLE, or a release before payloads) a hook writes the record itself; the
 * communicator's number is then made from its unique id.
 *
 * The functions are declared here as in nccl.h, which the build need not have: handles are
 * pointers, enums are int. */
#include "agent/libs/nccl.h"

#include <string.h>

#include "agent/core/clock.h"
#include "agent/libs/preload.h"

enum { NCCL_SUCCESS = 0, NCCL_INTERNAL_ERROR = 3, NCCL_IN_PROGRESS = 7, COMMS = 256 };

typedef void *comm_t;
typedef struct {
    char bytes[128];
} unique_id;

/* ---- communicators that this process has made ---- */

static struct {
    _Atomic(void *) comm;
    _Atomic uint64_t number;
} made[COMMS];

static uint64_t number_of_id(const unique_id *id)
{
    uint64_t h = 1469598103934665603u; /* FNV-1a's offset; the number below is its prime */
    for (size_t i = 0; i < sizeof id->bytes; i++)
        h = (h ^ (unsigned char)id->bytes[i]) * 1099511628211u;
    return h | 1;
}

static void keep(void *comm, uint64_t number)
{
    for (size_t i = 0; comm && i < COMMS; i++) {
        void *there = NULL;
        if (atomic_load(&made[i].comm) != comm &&
            !atomic_compare_exchange_strong(&made[i].comm, &there, comm))
            continue;
        atomic_store(&made[i].number, number);
        return;
    }
}

static uint64_t number_of(void *comm)
{
    for (size_t i = 0; i < COMMS && atomic_load(&made[i].comm); i++)
        if (atomic_load(&made[i].comm) == comm)
            return atomic_load(&made[i].number);
    return 0;
}

/* ---- hooks ---- */

static const struct {
    uint8_t bytes, type;
} types[] = {{1, SPOOL_DT_I8},    {1, SPOOL_DT_OTHER}, {4, SPOOL_DT_I32},    {4, SPOOL_DT_OTHER},
             {8, SPOOL_DT_OTHER}, {8, SPOOL_DT_OTHER}, {2, SPOOL_DT_F16},    {4, SPOOL_DT_F32},
             {8, SPOOL_DT_F64},   {2, SPOOL_DT_BF16},  {1, SPOOL_DT_F8E4M3}, {1, SPOOL_DT_F8E5M2}};

static int ask(struct hook *h, void *comm)
{
    int (*get)(void *, int *) = (int (*)(void *, int *))hook_real(h);
    int v = -1;
    return get && comm && get(comm, &v) == 0 ? v : -1;
}

static void describe(struct nccl_call *c, size_t count, int type, int root, void *comm)
{
    static struct hook rank = {.name = "ncclCommUserRank", .library = HOOK_NCCL};
    static struct hook ranks = {.name = "ncclCommCount", .library = HOOK_NCCL};
    bool known = (unsigned)type < AGENT_ARRAY_LEN(types);
    *c = (struct nccl_call){.type = known ? types[type].type : SPOOL_DT_OTHER,
                            .bytes = known ? (int64_t)(count * types[type].bytes) : 0,
                            .rank = ask(&rank, comm),
                            .ranks = ask(&ranks, comm),
                            .root = root,
                            .comm = number_of(comm)};
}

/* The wrapper of FN, a call that moves COUNT elements of TYPE on COMM. */
#define NCCL(FN, PARAMS, ARGS, COUNT, TYPE, ROOT, COMM)                                            \
    AGENT_EXPORT int FN PARAMS;                                                                    \
    int FN PARAMS                                                                                  \
    {                                                                                              \
        static struct hook hook = {.name = #FN, .library = HOOK_NCCL};                             \
        int(*real) PARAMS = (int(*) PARAMS)hook_real(&hook);                                       \
        struct hook_call call;                                                                     \
        struct nccl_call about;                                                                    \
        if (!real)                                                                                 \
            return NCCL_INTERNAL_ERROR;                                                            \
        if (!hook_begin(&call, &hook))                                                             \
            return real ARGS;                                                                      \
        describe(&about, COUNT, TYPE, ROOT, COMM);                                                 \
        nccl_call_begin(&about);                                                                   \
        int status = real ARGS;                                                                    \
        if (nccl_call_end()) {                                                                     \
            hook_cancel();                                                                         \
            return status;                                                                         \
        }                                                                                          \
        struct spool_rec_call *rec = hook_end(&call, &hook);                                       \
        if (rec) {                                                                                 \
            nccl_call_fill(rec, &about, about.comm, about.bytes);                                  \
            hook_commit(&call);                                                                    \
        } else {                                                                                   \
            struct spool_rec_call none; /* between windows it counts all the same */               \
            nccl_call_fill(&none, &about, about.comm, 0);                                          \
        }                                                                                          \
        return status;                                                                             \
    }

NCCL(ncclAllReduce,
     (const void *in, void *out, size_t count, int type, int op, comm_t comm, void *stream),
     (in, out, count, type, op, comm, stream), count, type, -1, comm)
NCCL(ncclReduceScatter,
     (const void *in, void *out, size_t count, int type, int op, comm_t comm, void *stream),
     (in, out, count, type, op, comm, stream), count, type, -1, comm)
NCCL(ncclAllGather, (const void *in, void *out, size_t count, int type, comm_t comm, void *stream),
     (in, out, count, type, comm, stream), count, type, -1, comm)
NCCL(ncclBroadcast,
     (const void *in, void *out, size_t count, int type, int root, comm_t comm, void *stream),
     (in, out, count, type, root, comm, stream), count, type, root, comm)
NCCL(ncclBcast, (void *buffer, size_t count, int type, int root, comm_t comm, void *stream),
     (buffer, count, type, root, comm, stream), count, type, root, comm)
NCCL(ncclReduce,
     (const void *in, void *out, size_t count, int type, int op, int root, comm_t comm,
      void *stream),
     (in, out, count, type, op, root, comm, stream), count, type, root, comm)
NCCL(ncclAlltoAll, (const void *in, void *out, size_t count, int type, comm_t comm, void *stream),
     (in, out, count, type, comm, stream), count, type, -1, comm)
NCCL(ncclGather,
     (const void *in, void *out, size_t count, int type, int root, comm_t comm, void *stream),
     (in, out, count, type, root, comm, stream), count, type, root, comm)
NCCL(ncclScatter,
     (const void *in, void *out, size_t count, int type, int root, comm_t comm, void *stream),
     (in, out, count, type, root, comm, stream), count, type, root, comm)
NCCL(ncclSend, (const void *in, size_t count, int type, int peer, comm_t comm, void *stream),
     (in, count, type, peer, comm, stream), count, type, peer, comm)
NCCL(ncclRecv, (void *out, size_t count, int type, int peer, comm_t comm, void *stream),
     (out, count, type, peer, comm, stream), count, type, peer, comm)

/* ---- where communicators come from ---- */

#define NCCL_INIT(FN, PARAMS, ARGS)                                                                \
    AGENT_EXPORT int FN PARAMS;                                                                    \
    int FN PARAMS                                                                                  \
    {                                                                                              \
        static struct hook hook = {.name = #FN, .library = HOOK_NCCL};                             \
        int(*real) PARAMS = (int(*) PARAMS)hook_real(&hook);                                       \
        if (!real)                                                                                 \
            return NCCL_INTERNAL_ERROR;                                                            \
        int status = real ARGS;                                                                    \
        if ((status == NCCL_SUCCESS || status == NCCL_IN_PROGRESS) && comm && *comm)               \
            keep(*comm, number_of_id(&id));                                                        \
        return status;                                                                             \
    }

NCCL_INIT(ncclCommInitRank, (comm_t * comm, int ranks, unique_id id, int rank),
          (comm, ranks, id, rank))
NCCL_INIT(ncclCommInitRankConfig, (comm_t * comm, int ranks, unique_id id, int rank, void *config),
          (comm, ranks, id, rank, config))
