/* Publishes memory and busy time of the virtual GPU to readers outside the program. Each process
 * writes its own slot of a shared page, a memfd made by `gpuprof run`, so no file is left.
 * GPUPROF_VGPU_GAUGES names the page; without it nothing is published. This file also models the
 * clock that the option `throttle` lowers. */
#include "core/core_state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 128 };

struct shared_device {
    _Atomic int64_t used, busy_ns, free_ns;
};
struct shared_slot {
    _Atomic int32_t pid; /* 0: free; so is the slot of a process that has ended */
    _Atomic int64_t started_ns;
    struct shared_device device[VG_MAX_DEVICES];
};
struct shared {
    _Atomic int32_t devices;
    struct shared_slot slot[SLOTS];
};

static struct shared *shared;
static struct shared_slot *own;
static int64_t started_ns;

/* True if this process made the page, whose name is /proc/PID/fd/N. */
static bool is_owner(const char *path)
{
    int pid;
    return path && sscanf(path, "/proc/%d/", &pid) == 1 && pid == getpid();
}

static struct shared *map(void)
{
    const char *path = getenv("GPUPROF_VGPU_GAUGES");
    struct stat st;
    int fd = path && *path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return NULL;
    void *p = fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof *shared
                  ? mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                  : MAP_FAILED;
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

static bool gone(int pid)
{
    return pid != 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

static void claim(void)
{
    for (int i = 0; i < SLOTS && !own; i++) {
        int32_t pid = atomic_load(&shared->slot[i].pid);
        if ((pid == 0 || gone(pid)) &&
            atomic_compare_exchange_strong(&shared->slot[i].pid, &pid, (int32_t)getpid()))
            own = &shared->slot[i];
    }
    if (!own)
        return;
    atomic_store(&own->started_ns, started_ns);
    for (int i = 0; i < VG_MAX_DEVICES; i++) {
        atomic_store(&own->device[i].used, 0);
        atomic_store(&own->device[i].busy_ns, 0);
        atomic_store(&own->device[i].free_ns, 0);
    }
}

bool vg_gauges_watch(void)
{
    return is_owner(getenv("GPUPROF_VGPU_GAUGES"));
}

int vg_gauges_devices(void)
{
    if (!shared)
        shared = map();
    return shared ? atomic_load(&shared->devices) : 0;
}

void vg_gauges_open(int devices)
{
    started_ns = vg_now_ns();
    if (vg_gauges_watch() || (!shared && !(shared = map())))
        return;
    claim();
    if (own && devices > atomic_load(&shared->devices))
        atomic_store(&shared->devices, devices);
}

void vg_gauges_forget(void)
{
    own = NULL; /* after fork: the slot is the parent's */
}

void vg_gauges_put(const struct vg_device *d)
{
    if (!own)
        return;
    struct shared_device *s = &own->device[d->index];
    atomic_store_explicit(&s->used, (int64_t)d->used, memory_order_relaxed);
    atomic_store_explicit(&s->busy_ns, d->busy_ns, memory_order_relaxed);
    atomic_store_explicit(&s->free_ns, d->engine_free_ns[VG_ENGINE_COMPUTE], memory_order_relaxed);
}

/* Busy time up to now: queued work counts only once its time has come. */
static int64_t busy_until(int64_t busy_ns, int64_t free_ns, int64_t now)
{
    return busy_ns - (free_ns > now ? free_ns - now : 0);
}

struct vg_gauges vg_gauges_read(const struct vg_device *d)
{
    int64_t now = vg_now_ns();
    struct vg_gauges g = {(int64_t)d->used,
                          busy_until(d->busy_ns, d->engine_free_ns[VG_ENGINE_COMPUTE], now),
                          started_ns};
    for (int i = 0; shared && i < SLOTS; i++) {
        struct shared_slot *s = &shared->slot[i];
        int32_t pid = atomic_load(&s->pid);
        if (pid == 0 || s == own || gone(pid))
            continue;
        struct shared_device *o = &s->device[d->index];
        g.used += atomic_load(&o->used);
        g.busy_ns += busy_until(atomic_load(&o->busy_ns), atomic_load(&o->free_ns), now);
        int64_t begun = atomic_load(&s->started_ns);
        g.started_ns = begun < g.started_ns ? begun : g.started_ns;
    }
    return g;
}

double vg_clock_share(int64_t when_ns, int64_t begun_ns)
{
    double seconds = (double)(when_ns - begun_ns) / 1e9, from = vg_core.throttle_from_s;
    bool held = seconds >= from && seconds < from + vg_core.throttle_for_s;
    return held ? vg_core.throttle : 1;
}

double vg_clock_now(void)
{
    return vg_core.throttle < 1 ? vg_clock_share(vg_now_ns(), started_ns) : 1;
}
