/* bench_whatif: measures what predictions cost, on made-up training steps with many bottlenecks at
 * once.
 *
 * It measures one replay of about 100,000 tasks beside a plain pass that reads the same tasks and
 * writes as much (the cost of memory alone); the analysis with the edits and intervals of all
 * findings, for 10 steps of 10,000 events; and how its cost grows up to ten million events, by more
 * steps and by longer steps. Each analysis runs in a process of its own. The exit status is 1 if an
 * aim is missed. */
#include "analyzer/advice/advice.h"
#include "analyzer/timeline/timeline.h"
#include "analyzer/replay/replay.h"
#include "base/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    REPLAYS = 41,
    AIM_REPLAY_US = 5000,
    AIM_SECONDS = 3,
    AIM_MIB = 300,
    CALL_NS = 3000,
    PAUSE_NS = 2500,
    LAUNCH_NS = 5000
};
/* The allowed growth of the time per event from one row to the next; more data than the caches hold
 * makes each event more expensive. */
static const double aim_growth = 1.5;

/* ---- a made-up training program ---- */

static struct sink sink;
static struct err error;

struct program {
    int64_t host_ns, gpu_ns; /* how far the host and the GPU have got */
    int64_t id, events;
    uint64_t seed;
};

static void fail(const char *what)
{
    fprintf(stderr, "bench_whatif: %s\n", what);
    exit(1);
}

static uint32_t intern(const char *s)
{
    return sink.intern(sink.self, s, strlen(s));
}

static void put(struct program *p, enum row_kind kind, const void *row)
{
    if (sink.put(sink.self, kind, row, &error))
        fail(error.text);
    p->events++;
}

/* Returns `ns` plus a random part of up to a tenth. */
static int64_t about(struct program *p, int64_t ns)
{
    p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
    return ns + (int64_t)((p->seed >> 33) % (uint64_t)(ns / 10 + 1));
}

static int64_t call(struct program *p, const char *name, int64_t length_ns)
{
    p->host_ns += about(p, PAUSE_NS);
    put(p, ROW_API,
        &(struct row_api){++p->id, 1, 1, p->host_ns, p->host_ns + length_ns, intern(name), p->id, 0,
                          0});
    p->host_ns += length_ns;
    return p->id;
}

/* Queues work of `length_ns` that the last call issued. Returns when it starts. */
static int64_t queue(struct program *p, int64_t length_ns)
{
    int64_t ready = p->host_ns - CALL_NS + LAUNCH_NS,
            start = p->gpu_ns + 800 > ready ? p->gpu_ns + 800 : ready;
    p->gpu_ns = start + length_ns;
    return start;
}

static void kernel(struct program *p, const char *name, int64_t length_ns)
{
    int64_t by = call(p, "cudaLaunchKernel", about(p, CALL_NS)), length = about(p, length_ns);
    struct row_kernel k = {.id = by,
                           .process = 1,
                           .stream = 1,
                           .start_ns = queue(p, length),
                           .name = intern(name),
                           .correlation = by,
                           .grid_x = 512,
                           .grid_y = 1,
                           .grid_z = 1,
                           .block_x = 256,
                           .block_y = 1,
                           .block_z = 1};
    k.end_ns = k.start_ns + length;
    put(p, ROW_KERNEL, &k);
}

static void copy(struct program *p, bool to_gpu, int64_t bytes, int64_t length_ns)
{
    int64_t call_ns = p->host_ns + PAUSE_NS, length = about(p, length_ns);
    int64_t start = (p->gpu_ns > call_ns ? p->gpu_ns : call_ns) + LAUNCH_NS;
    int64_t by = call(p, "cudaMemcpyAsync", start + length + 3000 - call_ns);
    struct row_copy c = {.id = by,
                         .process = 1,
                         .stream = 1,
                         .start_ns = start,
                         .end_ns = start + length,
                         .correlation = by,
                         .kind = to_gpu ? COPY_H2D : COPY_D2H,
                         .src_kind = to_gpu ? MEMORY_PAGEABLE : MEMORY_DEVICE,
                         .dst_kind = to_gpu ? MEMORY_DEVICE : MEMORY_PAGEABLE,
                         .bytes = bytes,
                         .is_async = 1,
                         .peer_device = -1};
    put(p, ROW_COPY, &c);
    p->gpu_ns = start + length;
}

static void wait_for_all(struct program *p)
{
    int64_t start = p->host_ns + PAUSE_NS, end = p->gpu_ns > start ? p->gpu_ns : start;
    int64_t by = call(p, "cudaStreamSynchronize", end + 4000 - start);
    put(p, ROW_SYNC,
        &(struct row_sync){.id = by,
                           .process = 1,
                           .start_ns = start,
                           .end_ns = p->host_ns,
                           .type = SYNC_STREAM,
                           .stream = 1,
                           .event = -1,
                           .event_sync = -1,
                           .correlation = by});
}

static void zero(struct program *p)
{
    int64_t by = call(p, "cudaMemsetAsync", CALL_NS), start = queue(p, 1500);
    put(p, ROW_MEMSET,
        &(struct row_memset){.id = by,
                             .process = 1,
                             .stream = 1,
                             .start_ns = start,
                             .end_ns = start + 1500,
                             .correlation = by,
                             .bytes = 1 << 20});
}

static const char *const forward[] = {
    "volta_sgemm_128x64_nn",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(...)",
    "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, 0>(...)",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(...)",
    "implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1>",
    "void at::native::vectorized_elementwise_kernel<4, at::native::relu_kernel>(...)"};
static const int64_t forward_ns[] = {14000, 3000, 4000, 5000, 12000, 3000};

/* Makes a step of about `events` events: a batch that is made and copied in the training loop,
 * layers, waits, zeroing, an optimizer that launches kernels for each tensor, allocated memory. */
static void step(struct program *p, int64_t events)
{
    enum { FORWARDS = sizeof forward_ns / sizeof *forward_ns };
    int64_t start = p->host_ns, first = p->events;
    p->host_ns += about(p, 30000 + events * 300);
    put(p, ROW_RANGE,
        &(struct row_range){++p->id, 1, 1, start + 1000, p->host_ns, intern("data.decode"), 0, 1, 0,
                            0});
    copy(p, true, events * 400, events * 60);
    for (int64_t i = 0; p->events - first < events * 9 / 10; i++) {
        kernel(p, forward[i % FORWARDS], forward_ns[i % FORWARDS]);
        if (i % 400 == 399)
            copy(p, false, 4, 1500);
        if (i % 1000 == 999) {
            call(p, "cudaMalloc", 40000);
            call(p, "cudaFree", 60000);
        }
        if (i % 30 == 0)
            zero(p);
    }
    while (p->events - first < events - 4)
        kernel(p, "void multi_tensor_apply_kernel<adam_functor>(...)", 2500);
    wait_for_all(p);
    p->host_ns += about(p, events * 20);
    put(p, ROW_RANGE,
        &(struct row_range){++p->id, 1, 1, start, p->host_ns, intern("step"), 0, 0, 0, 0});
}

static struct timeline *make_timeline(int64_t steps, int64_t events, int64_t *all)
{
    struct timeline *t = timeline_new(&error);
    struct program p = {.host_ns = 1000000, .id = 100, .seed = 1};
    if (!t)
        fail(error.text);
    sink = timeline_sink(t);
    struct row_meta have = {.id = 1, .key = intern("have")};
    have.value = intern("kernels,api,ranges,sync,copies,memory_kinds,memsets,device");
    put(&p, ROW_META, &have);
    put(&p, ROW_PROCESS, &(struct row_process){.id = 1, .pid = 42, .rank = -1, .sealed = 1});
    put(&p, ROW_THREAD, &(struct row_thread){1, 1, 42, intern("train")});
    put(&p, ROW_DEVICE,
        &(struct row_device){.id = 1,
                             .process = 1,
                             .name = intern("bench GPU"),
                             .cc_major = 8,
                             .sm_count = 108,
                             .clock_khz = 1410000,
                             .memory_bytes = (int64_t)80 << 30,
                             .memory_bytes_per_s = 2039000000000,
                             .copy_engines = 3});
    put(&p, ROW_STREAM, &(struct row_stream){1, 1, 1, 1, 7, 0, 0});
    for (int64_t i = 0; i < steps; i++)
        step(&p, events);
    if (timeline_finish(t, &error))
        fail(error.text);
    *all = p.events;
    return t;
}

/* ---- the measurements ---- */

/* CPU time of the process in seconds; the process has one thread. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads every task and writes what a replay writes, in the same order, without computing
 * anything. */
static void plain_pass(struct replay *r, const struct graph *g, const struct plan *p)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        r->start[i] = at + t->wait_ns;
        at = r->start[i] + p->dur[i] + p->mark[i] + t->flags;
        r->end[i] = at;
        r->bind[i] = t->prev;
    }
}

static int one_replay(void)
{
    int64_t events;
    struct timeline *t = make_timeline(10, 7000, &events);
    struct advice *a = advise(t, &error);
    struct graph *g = a ? graph_build(a->facts, &error) : NULL;
    struct plan plan;
    struct replay r;
    struct plan *const plans[REPLAY_WIDE] = {&plan, &plan, &plan, &plan};
    struct replay_wide w;
    double replay[REPLAYS], wide[REPLAYS], plain[REPLAYS];
    if (!g || plan_init(&plan, g) < 0 || replay_init(&r, g) < 0 || replay_wide_init(&w, g) < 0)
        fail(error.text);
    for (int i = 0; i < REPLAYS; i++) {
        double start = now();
        replay_run(&r, g, &plan);
        replay[i] = now() - start;
        start = now();
        replay_wide_run(&w, g, plans, REPLAY_WIDE);
        wide[i] = now() - start;
        start = now();
        plain_pass(&r, g, &plan);
        plain[i] = now() - start;
    }
    qsort(replay, REPLAYS, sizeof *replay, order_double);
    qsort(wide, REPLAYS, sizeof *wide, order_double);
    qsort(plain, REPLAYS, sizeof *plain, order_double);
    double ms = replay[REPLAYS / 2] * 1e3, each = ms * 1e6 / (double)g->count;
    bool ok = each * 100000 <= AIM_REPLAY_US * 1e3;
    printf("one replay of %zu tasks: %.2f ms, %.0f ns a task, %.1f times a plain pass over them; "
           "aim: 100,000 in %.0f ms: %s\n",
           g->count, ms, each, replay[REPLAYS / 2] / plain[REPLAYS / 2], AIM_REPLAY_US / 1e3,
           ok ? "ok" : "MISSED");
    printf("%d replays side by side: %.1f ns a task and replay, %.2f of one alone\n", REPLAY_WIDE,
           wide[REPLAYS / 2] * 1e9 / (double)g->count / REPLAY_WIDE,
           wide[REPLAYS / 2] / REPLAY_WIDE / replay[REPLAYS / 2]);
    return !ok;
}

struct cost {
    double analyze_s, predict_s;
    int64_t events;
    size_t tasks, findings;
    long peak_kib;
};

static struct cost measure(int64_t steps, int64_t events)
{
    struct cost c = {0};
    struct timeline *t = make_timeline(steps, events, &c.events);
    double start = now();
    advice_free(advise(t, &error));
    c.analyze_s = now() - start;
    struct advice *a = advise_predicted(t, NULL, &error);
    if (!a)
        fail(error.text);
    c.predict_s = now() - start - 2 * c.analyze_s; /* the total contains two analyses */
    if (!a->whatif.trusted)
        fail(a->whatif.why_not);
    c.tasks = a->whatif.tasks;
    c.findings = a->ranked_count;
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    c.peak_kib = use.ru_maxrss;
    return c;
}

/* Measures one analysis in a process of its own. -1: it failed. */
static int analyse(int64_t steps, int64_t events, struct cost *c)
{
    int fd[2], status = 1;
    fflush(stdout);
    if (pipe(fd) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        *c = measure(steps, events);
        _exit(write(fd[1], c, sizeof *c) != (ssize_t)sizeof *c);
    }
    close(fd[1]);
    bool got = pid > 0 && read(fd[0], c, sizeof *c) == (ssize_t)sizeof *c;
    close(fd[0]);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0 || !got)
        return -1;
    printf("%6lld %10lld %9zu %9zu %8.2f %8.2f %9.0f %6ld", (long long)steps, (long long)c->events,
           c->tasks, c->findings, c->analyze_s, c->predict_s,
           (c->analyze_s + c->predict_s) * 1e9 / (double)c->events, c->peak_kib / 1024);
    return 0;
}

/* Measures from 100,000 events up to `most`, by more steps or by longer ones. Returns 1 if an aim is
 * missed or a measurement fails, otherwise 0. */
static int grow(bool longer, int64_t most)
{
    double before = 0;
    int missed = 0;
    for (int64_t n = 1; n * 100000 <= most; n *= 10) {
        struct cost c;
        if (analyse(longer ? 10 : 10 * n, longer ? 10000 * n : 10000, &c) < 0)
            return 1;
        double seconds = c.analyze_s + c.predict_s, each = seconds / (double)c.events;
        bool ok = n == 1 ? seconds <= AIM_SECONDS && c.peak_kib / 1024 <= AIM_MIB
                         : each <= before * aim_growth;
        if (n == 1)
            printf("   %s\n", ok ? "ok" : "MISSED");
        else
            printf("   %.2f times the time per event: %s\n", each / before, ok ? "ok" : "MISSED");
        missed |= !ok;
        before = each;
    }
    return missed;
}

int main(int argc, char **argv)
{
    int64_t most = argc > 1 ? atoll(argv[1]) : 10000000;
    if (most < 100000) {
        fprintf(stderr, "usage: bench_whatif [EVENTS]   up to so many, from 100000\n");
        return 2;
    }
    int missed = one_replay();
    printf(
        "analysis with all edits and intervals; aims: 100,000 events in %d s and %d MiB, then at "
        "most %.1f times the time per event of the row before\n",
        AIM_SECONDS, AIM_MIB, aim_growth);
    printf("%6s %10s %9s %9s %8s %8s %9s %6s\n", "steps", "events", "tasks", "findings",
           "analyze s", "predict s", "ns/event", "MiB");
    missed |= grow(false, most);
    printf("longer steps\n");
    missed |= grow(true, most);
    return missed;
}
