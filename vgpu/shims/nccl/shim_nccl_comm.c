/* Communicators: all ranks make one together; it can be split, asked and ended. */
#include "shims/nccl/shim_nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TWIN(name) extern __typeof__(name) p##name __attribute__((alias(#name)));

ncclResult_t comm_check(const struct ncclComm *c)
{
    if (!c || !c->region)
        return meet_fail(NULL, ncclInvalidArgument, "the communicator is NULL or ended");
    return (ncclResult_t)c->failed;
}

void comm_unref(struct ncclComm *c)
{
    if (atomic_fetch_sub(&c->refs, 1) != 1)
        return;
    meet_leave(c);
    free(c);
}

static ncclResult_t comm_new(struct ncclComm **out, int ranks, const ncclUniqueId *id, int rank)
{
    if (!out || ranks < 1 || rank < 0 || rank >= ranks)
        return meet_fail(NULL, ncclInvalidArgument, "rank %d of %d does not exist", rank, ranks);
    *out = NULL;
    if (ranks > NCCL_RANKS)
        return meet_fail(NULL, ncclInvalidUsage, "the virtual GPU has room for %d ranks",
                         NCCL_RANKS);
    if (vg_start() != 0)
        return meet_fail(NULL, ncclUnhandledCudaError, "no device");
    struct ncclComm *c = calloc(1, sizeof *c);
    if (!c)
        return meet_fail(NULL, ncclSystemError, "out of memory");
    c->rank = rank;
    c->ranks = ranks;
    c->device = vg_current_device();
    c->refs = 1;
    c->maker_fd = -1;
    memset(c->pidfd, -1, sizeof c->pidfd);
    ncclResult_t bad = meet_join(c, id);
    if (bad) {
        comm_unref(c);
        return bad;
    }
    *out = c;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    return id ? meet_new_id(id) : meet_fail(NULL, ncclInvalidArgument, "id is NULL");
}
TWIN(ncclGetUniqueId)

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    mark_push("ncclCommInitRank", NULL);
    ncclResult_t rc = comm_new(comm, ranks, &id, rank);
    if (!rc)
        rc = group_await(*comm);
    mark_pop();
    return rc;
}
TWIN(ncclCommInitRank)

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    (void)config;
    return ncclCommInitRank(comm, ranks, id, rank);
}
TWIN(ncclCommInitRankConfig)

ncclResult_t ncclCommInitAll(ncclComm_t *comm, int count, const int *devices)
{
    ncclUniqueId id;
    int before = vg_current_device();
    if (!comm || count < 1 || vg_start() != 0 || count > vg_device_count())
        return meet_fail(NULL, ncclInvalidArgument, "%d devices asked for, %d are here", count,
                         vg_device_count());
    ncclResult_t rc = meet_new_id(&id);
    if (!rc)
        rc = ncclGroupStart();
    for (int i = 0; i < count && !rc; i++) {
        vg_set_current_device(devices ? devices[i] : i);
        rc = ncclCommInitRank(&comm[i], count, id, i);
    }
    vg_set_current_device(before);
    ncclResult_t end = ncclGroupEnd();
    return rc ? rc : end;
}
TWIN(ncclCommInitAll)

/* ---- splitting ---- */

static bool all_asked(const struct ncclComm *c, uint64_t number)
{
    for (int i = 0; i < c->ranks; i++)
        if (c->region->split[number % 2][i].asked < number)
            return false;
    return true;
}

static bool leader_answered(const struct ncclComm *c, uint64_t number_and_leader)
{
    uint64_t number = number_and_leader / NCCL_RANKS, leader = number_and_leader % NCCL_RANKS;
    return c->region->split[number % 2][leader].answered >= number;
}

/* Orders the ranks of this rank's color by key, then by rank. Returns this rank's place in that
 * order; sets *count to their number and *leader to the first of them. */
static int place_among(const struct ncclComm *c, uint64_t number, int *count, int *leader)
{
    const struct region *r = c->region;
    int color = r->split[number % 2][c->rank].color, key = r->split[number % 2][c->rank].key;
    int place = 0, first_key = key;
    *count = 0;
    *leader = c->rank;
    for (int i = 0; i < c->ranks; i++) {
        if (r->split[number % 2][i].color != color)
            continue;
        int its = r->split[number % 2][i].key;
        ++*count;
        place += its < key || (its == key && i < c->rank);
        if (its < first_key || (its == first_key && i < *leader)) {
            *leader = i;
            first_key = its;
        }
    }
    return place;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *made,
                           ncclConfig_t *config)
{
    (void)config;
    ncclResult_t bad = comm_check(comm);
    if (bad || !made)
        return bad ? bad : meet_fail(comm, ncclInvalidArgument, "newcomm is NULL");
    uint64_t number = ++comm->splits;
    struct region *r = comm->region;
    r->split[number % 2][comm->rank].color = color;
    r->split[number % 2][comm->rank].key = key;
    r->split[number % 2][comm->rank].asked = number;
    meet_ring(r);
    *made = NULL;
    bad = meet_until(comm, all_asked, number);
    if (bad || color == NCCL_SPLIT_NOCOLOR)
        return bad;
    int count, leader, place = place_among(comm, number, &count, &leader);
    if (leader == comm->rank) {
        bad = meet_new_id(&r->split[number % 2][leader].id);
        if (bad)
            return bad;
        r->split[number % 2][leader].answered = number;
        meet_ring(r);
    }
    bad = meet_until(comm, leader_answered, number * NCCL_RANKS + (uint64_t)leader);
    if (bad)
        return bad;
    int before = vg_current_device();
    vg_set_current_device(comm->device);
    bad = ncclCommInitRank(made, count, r->split[number % 2][leader].id, place);
    vg_set_current_device(before);
    return bad;
}
TWIN(ncclCommSplit)

/* ---- ending ---- */

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    ncclResult_t bad = comm_check(comm);
    while (!bad && comm->finished < comm->launched && !comm->failed) {
        vg_barriers_changed();
        usleep(200);
    }
    return bad ? bad : (ncclResult_t)comm->failed;
}
TWIN(ncclCommFinalize)

static void end(struct ncclComm *c)
{
    c->stop = true;
    c->region->rank[c->rank].left = 1;
    meet_ring(c->region);
    if (c->watched)
        pthread_join(c->watcher, NULL);
    comm_unref(c);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (!comm)
        return ncclSuccess;
    mark_push("ncclCommDestroy", NULL);
    ncclResult_t bad = ncclCommFinalize(comm);
    end(comm);
    mark_pop();
    return bad;
}
TWIN(ncclCommDestroy)

/* Ends the communicator at once: its unfinished kernels end, and the other ranks see this one as
 * gone. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (!comm)
        return ncclSuccess;
    comm->failed = ncclInvalidUsage;
    vg_barriers_changed();
    end(comm);
    return ncclSuccess;
}
TWIN(ncclCommAbort)

/* ---- questions ---- */

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    if (!comm || !error)
        return meet_fail(NULL, ncclInvalidArgument, "the communicator or the result is NULL");
    *error = (ncclResult_t)(comm->failed ? comm->failed : comm->lost);
    return ncclSuccess;
}
TWIN(ncclCommGetAsyncError)

#define ASK(name, field)                                                                           \
    ncclResult_t name(const ncclComm_t comm, int *answer)                                          \
    {                                                                                              \
        if (!comm || !answer)                                                                      \
            return meet_fail(NULL, ncclInvalidArgument, "the communicator or the answer is NULL"); \
        *answer = comm->field;                                                                     \
        return ncclSuccess;                                                                        \
    }                                                                                              \
    TWIN(name)

ASK(ncclCommCount, ranks)
ASK(ncclCommUserRank, rank)
ASK(ncclCommCuDevice, device)

/* The answer of ncclCommQueryProperties in NCCL 2.29 and later; the caller says how large its
 * struct is. Devices cannot communicate directly here. */
struct properties {
    size_t size;
    unsigned magic, version;
    int rank, ranks, device, nvml_device;
    bool by_device, by_multicast;
};
ncclResult_t vg_comm_properties(ncclComm_t comm,
                                struct properties *out) __asm__("ncclCommQueryProperties");
ncclResult_t vg_comm_properties(ncclComm_t comm, struct properties *out)
{
    if (!comm || !out || out->size < sizeof *out)
        return meet_fail(NULL, ncclInvalidArgument, "the communicator or the answer is NULL");
    memset(&out->rank, 0, out->size - offsetof(struct properties, rank));
    out->rank = comm->rank;
    out->ranks = comm->ranks;
    out->device = out->nvml_device = comm->device;
    return ncclSuccess;
}

ncclResult_t ncclGetVersion(int *version)
{
    if (!version)
        return ncclInvalidArgument;
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
TWIN(ncclGetVersion)

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[] = {
        [ncclSuccess] = "no error",
        [ncclUnhandledCudaError] = "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        [ncclSystemError] = "unhandled system error (run with NCCL_DEBUG=INFO for details)",
        [ncclInternalError] = "internal error - please report this issue to the NCCL developers",
        [ncclInvalidArgument] = "invalid argument (run with NCCL_DEBUG=WARN for details)",
        [ncclInvalidUsage] = "invalid usage (run with NCCL_DEBUG=WARN for details)",
        [ncclRemoteError] = "remote process exited or there was a network error",
        [ncclInProgress] = "NCCL operation in progress",
    };
    return (unsigned)result < sizeof texts / sizeof *texts ? texts[result] : "unknown result code";
}
TWIN(ncclGetErrorString)

const char *ncclGetLastError(ncclComm_t comm)
{
    return comm && comm->error[0] ? comm->error : meet_last_error();
}
TWIN(ncclGetLastError)
