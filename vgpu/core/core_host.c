/* Host functions in a stream (cudaLaunchHostFunc): one thread calls them when the timeline reaches
 * them. The timeline is computed before the function runs, so it contains a nominal time. A
 * synchronisation also waits until the function has really returned. This file also lets the
 * virtual GPU's threads end if main has left by pthread_exit, so that they do not keep the process
 * alive. */
#include "core/core_graph.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { NOMINAL_NS = 10000 };

struct call {
    int64_t when_ns;
    struct vg_stream *stream;
    void (*fn)(void *);
    void *arg;
    struct call *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct call *queue; /* sorted by time */
static bool started;

/* ---- the virtual GPU's own threads ---- */

void vg_helper_begin(void)
{
    prctl(PR_SET_NAME, "vgpu");
}

/* True if main has ended by pthread_exit: then /proc no longer shows its program. Opens no file. */
static bool main_has_left(void)
{
    char path[64], target;
    snprintf(path, sizeof path, "/proc/self/task/%d/exe", (int)getpid());
    return readlink(path, &target, 1) < 0 && errno == ENOENT;
}

static bool is_helper(const char *thread)
{
    char path[64], name[16] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", thread);
    FILE *f = fopen(path, "re");
    bool there = f && fgets(name, sizeof name, f);
    if (f)
        fclose(f);
    return !there || strcmp(name, "vgpu\n") == 0 || strcmp(name, "gpuprof\n") == 0;
}

bool vg_helpers_alone(void)
{
    DIR *threads = main_has_left() ? opendir("/proc/self/task") : NULL;
    bool alone = threads;
    for (struct dirent *d; alone && (d = readdir(threads));)
        alone = d->d_name[0] == '.' || atoi(d->d_name) == getpid() || is_helper(d->d_name);
    if (threads)
        closedir(threads);
    return alone;
}

/* ---- host functions ---- */

static void *serve(void *unused)
{
    (void)unused;
    vg_helper_begin();
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!queue && !vg_helpers_alone()) {
            struct timespec t;
            clock_gettime(CLOCK_REALTIME, &t);
            t.tv_nsec += VG_HELPER_NS;
            t.tv_sec += t.tv_nsec / 1000000000;
            t.tv_nsec %= 1000000000;
            pthread_cond_timedwait(&changed, &lock, &t);
        }
        if (!queue)
            break;
        struct call *c = queue;
        queue = c->next;
        pthread_mutex_unlock(&lock);
        vg_wait_for(c->when_ns, true);
        c->fn(c->arg);
        pthread_mutex_lock(&lock);
        c->stream->host_done++;
        pthread_cond_broadcast(&changed);
        free(c);
    }
    started = false;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static int enqueue(struct call *c)
{
    pthread_mutex_lock(&lock);
    if (!started) {
        pthread_t thread;
        started = pthread_create(&thread, NULL, serve, NULL) == 0;
        if (started)
            pthread_detach(thread);
    }
    bool ok = started;
    if (ok) {
        struct call **at = &queue;
        while (*at && (*at)->when_ns <= c->when_ns)
            at = &(*at)->next;
        c->next = *at;
        *at = c;
        c->stream->host_queued++;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return ok ? VG_OK : VG_NO_MEMORY;
}

int vg_host_at(struct vg_stream *s, int64_t when_ns, void (*fn)(void *), void *arg)
{
    struct call *c = malloc(sizeof *c);
    if (!c)
        return VG_NO_MEMORY;
    *c = (struct call){when_ns, s, fn, arg, NULL};
    int bad = enqueue(c);
    if (bad)
        free(c);
    return bad;
}

int vg_host_function(struct vg_stream *s, void (*fn)(void *), void *arg)
{
    struct vg_device *d = &vg_core.device[s->device];
    if (!fn)
        return VG_INVALID_VALUE;
    if (s->capture) {
        struct vg_node *n = vg_capture_node(s, VG_NODE_HOST);
        if (!n)
            return VG_NO_MEMORY;
        n->host = fn;
        n->host_arg = arg;
        return VG_OK;
    }
    vg_settle(s);
    vg_settle_legacy(s);
    pthread_mutex_lock(&vg_core.lock);
    vg_queue_locked(s);
    struct vg_work w = {.earliest_ns = vg_now_ns() + (int64_t)d->profile.start_latency_ns,
                        .duration_ns = NOMINAL_NS};
    struct vg_span span = vg_place_locked(s, &w);
    pthread_mutex_unlock(&vg_core.lock);
    return vg_host_at(s, span.start_ns, fn, arg);
}

bool vg_host_done(struct vg_stream *s, uint64_t upto)
{
    if (!s || upto == 0)
        return true;
    pthread_mutex_lock(&lock);
    bool done = s->host_done >= upto;
    pthread_mutex_unlock(&lock);
    return done;
}

void vg_host_drain(struct vg_stream *s, uint64_t upto)
{
    if (!s || upto == 0)
        return;
    pthread_mutex_lock(&lock);
    while (s->host_done < upto)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}
