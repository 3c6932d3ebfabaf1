/* The shared memory in which ranks meet: a memfd of the process that made the unique id. The others
 * open it through /proc. A memfd has no name in the file system, so nothing is left behind however
 * a process ends. */
#include "core/core_record.h"
#include "shims/nccl/shim_nccl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { QUERY_NS = 200000000 }; /* how often a waiting rank checks that the others are alive */
/* On a real card the kernel spins until the program aborts the communicator, as PyTorch's watchdog
 * does within 0.1 s. If a program never aborts, the kernel ends after this time. */
static const int64_t grace_ns = 2000000000;

struct meeting { /* what ncclUniqueId contains */
    char magic[8];
    int pid, fd;
    uint64_t secret;
};
_Static_assert(sizeof(struct meeting) <= sizeof(ncclUniqueId), "fits");

static const char magic[8] = "vgpuNCC";
static _Thread_local char last_error[160];

const char *meet_last_error(void)
{
    return last_error;
}

ncclResult_t meet_fail(struct ncclComm *c, ncclResult_t why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    if (c)
        memcpy(c->error, last_error, sizeof last_error);
    return why;
}

/* ---- waiting ---- */

void meet_ring(struct region *r)
{
    atomic_fetch_add(&r->bell, 1);
    syscall(SYS_futex, &r->bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void await_bell(struct region *r, uint32_t seen)
{
    struct timespec t = {0, QUERY_NS};
    syscall(SYS_futex, &r->bell, FUTEX_WAIT, seen, &t, NULL, 0);
}

static bool is_alive(const struct ncclComm *c, int rank)
{
    int pid = c->region->rank[rank].pid;
    if (c->pidfd[rank] >= 0) {
        struct pollfd p = {.fd = c->pidfd[rank], .events = POLLIN};
        return poll(&p, 1, 0) == 0;
    }
    return pid == 0 || kill(pid, 0) == 0 || errno != ESRCH;
}

/* The first rank that has ended or left; -1: none. A rank that has not joined yet does not
 * count. */
static int gone(const struct ncclComm *c)
{
    for (int i = 0; i < c->ranks; i++)
        if (i != c->rank && (c->region->rank[i].left || !is_alive(c, i)))
            return i;
    return -1;
}

ncclResult_t meet_until(struct ncclComm *c, bool (*met)(const struct ncclComm *c, uint64_t arg),
                        uint64_t arg)
{
    for (;;) {
        uint32_t seen = c->region->bell;
        if (met(c, arg))
            return ncclSuccess;
        if (c->failed)
            return (ncclResult_t)c->failed;
        int who = gone(c);
        if (who >= 0 && !met(c, arg))
            return meet_fail(c, ncclRemoteError, "rank %d has ended", who);
        await_bell(c->region, seen);
    }
}

/* ---- joining ---- */

ncclResult_t meet_new_id(ncclUniqueId *id)
{
    struct meeting m = {.pid = getpid()};
    memcpy(m.magic, magic, sizeof magic);
    m.fd = memfd_create("gpuprof-vgpu-nccl", MFD_CLOEXEC);
    if (m.fd < 0 || ftruncate(m.fd, sizeof(struct region)) < 0 ||
        getrandom(&m.secret, sizeof m.secret, 0) != sizeof m.secret) {
        if (m.fd >= 0)
            close(m.fd);
        return meet_fail(NULL, ncclSystemError, "no shared memory: %s", strerror(errno));
    }
    if (pwrite(m.fd, &m.secret, sizeof m.secret, offsetof(struct region, secret)) !=
        sizeof m.secret)
        return meet_fail(NULL, ncclSystemError, "no shared memory: %s", strerror(errno));
    memset(id, 0, sizeof *id);
    memcpy(id, &m, sizeof m);
    return ncclSuccess;
}

static ncclResult_t map_region(struct ncclComm *c, const struct meeting *m)
{
    char path[64];
    if (memcmp(m->magic, magic, sizeof magic) != 0)
        return meet_fail(c, ncclInvalidArgument, "this unique id was not made by ncclGetUniqueId");
    snprintf(path, sizeof path, "/proc/%d/fd/%d", m->pid, m->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return meet_fail(c, ncclRemoteError, "the process that made the unique id has ended");
    void *p = mmap(NULL, sizeof(struct region), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return meet_fail(c, ncclSystemError, "no shared memory: %s", strerror(errno));
    c->region = p;
    if (c->region->secret == m->secret)
        return ncclSuccess;
    munmap(p, sizeof(struct region));
    c->region = NULL;
    return meet_fail(c, ncclRemoteError, "the process that made the unique id has ended");
}

/* The device's number among those of the machine; CUDA_VISIBLE_DEVICES may have renumbered it. */
static int physical(int device)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    for (int i = 0; list && i < device; i++) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return list && *list ? atoi(list) : device;
}

/* FNV-1a hash of this host's name. */
static uint64_t own_host(void)
{
    char name[256] = "";
    uint64_t hash = 0xcbf29ce484222325;
    gethostname(name, sizeof name - 1);
    for (const char *p = name; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 0x100000001b3;
    return hash;
}

static bool same_device(const struct region *r, int a, int b)
{
    return r->rank[a].host == r->rank[b].host && r->rank[a].device == r->rank[b].device;
}

ncclResult_t meet_join(struct ncclComm *c, const ncclUniqueId *id)
{
    struct meeting m;
    memcpy(&m, id, sizeof m);
    ncclResult_t bad = map_region(c, &m);
    if (bad)
        return bad;
    c->hash = m.secret | 1;
    int expected = 0;
    if (!atomic_compare_exchange_strong(&c->region->ranks, &expected, c->ranks) &&
        expected != c->ranks)
        return meet_fail(c, ncclInvalidArgument, "rank %d says %d ranks, another one %d", c->rank,
                         c->ranks, expected);
    c->region->rank[c->rank].device = physical(c->device);
    c->region->rank[c->rank].host = own_host();
    int none = 0;
    if (!atomic_compare_exchange_strong(&c->region->rank[c->rank].pid, &none, getpid()))
        return meet_fail(c, ncclInvalidUsage, "rank %d is there twice", c->rank);
    c->maker_fd = m.pid == getpid() ? m.fd : -1;
    if (atomic_fetch_add(&c->region->joined, 1) + 1 == c->ranks)
        meet_ring(c->region);
    return ncclSuccess;
}

static bool all_joined(const struct ncclComm *c, uint64_t unused)
{
    (void)unused;
    return c->region->joined >= c->ranks;
}

static void *watch(void *arg)
{
    struct ncclComm *c = arg;
    int64_t lost_ns = 0;
    vg_helper_begin();
    while (!c->stop && !vg_helpers_alone()) {
        uint32_t seen = c->region->bell;
        int who = c->finished < c->launched && !c->failed && !c->lost ? gone(c) : -1;
        vg_barriers_changed();
        if (who >= 0 && c->finished < c->launched) {
            snprintf(c->error, sizeof c->error, "rank %d has ended", who);
            lost_ns = vg_now_ns();
            c->lost = ncclRemoteError;
        }
        if (c->lost && !c->failed && vg_now_ns() - lost_ns >= grace_ns) {
            c->failed = c->lost;
            vg_barriers_changed();
        }
        if (!c->stop)
            await_bell(c->region, seen);
    }
    return NULL;
}

ncclResult_t meet_wait(struct ncclComm *c)
{
    ncclResult_t bad = meet_until(c, all_joined, 0);
    if (bad)
        return bad;
    int open = 0;
    if (c->maker_fd >= 0 && atomic_compare_exchange_strong(&c->region->closed, &open, 1))
        close(c->maker_fd);
    for (int i = 0; i < c->ranks; i++) {
        if (i != c->rank && same_device(c->region, i, c->rank))
            return meet_fail(c, ncclInvalidUsage,
                             "Duplicate GPU detected : rank %d and rank %d both on CUDA device %d",
                             c->rank, i, c->region->rank[i].device);
        int pid = c->region->rank[i].pid;
        if (pid != getpid())
            c->pidfd[i] = (int)syscall(SYS_pidfd_open, pid, 0);
        if (c->pidfd[i] >= 0)
            fcntl(c->pidfd[i], F_SETFD, FD_CLOEXEC);
    }
    c->watched = pthread_create(&c->watcher, NULL, watch, c) == 0;
    return c->watched ? ncclSuccess : meet_fail(c, ncclSystemError, "no thread");
}

void meet_leave(struct ncclComm *c)
{
    if (!c->region)
        return;
    munmap(c->region, sizeof *c->region);
    c->region = NULL;
    for (int i = 0; i < NCCL_RANKS; i++)
        if (c->pidfd[i] >= 0)
            close(c->pidfd[i]);
}
