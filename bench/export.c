/* bench_export [EVENTS]: analysis and every exporter on a made-up run of that many events (default
 * a million: a launch, its kernel, and a range for every tenth). Prints seconds and the peak memory
 * of the whole process, everything read included. Each row runs in a process of its own. */
#include "analyzer/advice/advice.h"
#include "report/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LAUNCHES_A_STEP = 500, LAUNCH_NS = 8000 };

static const char *const kernels[] = {
    "ampere_sgemm_128x64_nn",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(...)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(...)",
    "implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1>",
};

static struct sink sink;
static struct err error;

static uint32_t intern(const char *s)
{
    return sink.intern(sink.self, s, strlen(s));
}

static void put(enum row_kind kind, const void *row)
{
    if (sink.put(sink.self, kind, row, &error)) {
        fprintf(stderr, "bench_export: %s\n", error.text);
        exit(1);
    }
}

static void put_places(void)
{
    struct row_meta have = {.id = 1, .key = intern("have")};
    have.value = intern("kernels,api,ranges,sync,copies,device");
    put(ROW_META, &have);
    put(ROW_PROCESS, &(struct row_process){.id = 1, .pid = 4242, .rank = -1, .sealed = 1});
    put(ROW_THREAD, &(struct row_thread){1, 1, 4242, intern("train")});
    put(ROW_DEVICE, &(struct row_device){.id = 1, .process = 1, .name = intern("bench GPU")});
    put(ROW_STREAM, &(struct row_stream){1, 1, 1, 1, 7, 0, 0});
}

/* One launch and its kernel; every tenth stands in a range. */
static void put_launch(int64_t i, int64_t at_ns)
{
    struct row_api api = {i, 1, 1, at_ns, at_ns + 4000, intern("cudaLaunchKernel"), i, 0, 0};
    struct row_kernel kernel = {.id = i,
                                .process = 1,
                                .stream = 1,
                                .start_ns = at_ns + 6000,
                                .end_ns = at_ns + 6000 + 3000 + i % 4 * 1000,
                                .name = intern(kernels[i % 4]),
                                .correlation = i,
                                .grid_x = 64,
                                .grid_y = 1,
                                .grid_z = 1,
                                .block_x = 256,
                                .block_y = 1,
                                .block_z = 1};
    put(ROW_API, &api);
    put(ROW_KERNEL, &kernel);
    if (i % 10 == 0)
        put(ROW_RANGE,
            &(struct row_range){i, 1, 1, at_ns - 500, at_ns + 70000, intern("layer"), 0, 1, 0, 0});
}

static struct timeline *make_timeline(int64_t events)
{
    struct timeline *t = timeline_new(&error);
    if (!t)
        exit(1);
    sink = timeline_sink(t);
    put_places();
    int64_t launches = events * 10 / 21, id = 1 << 30;
    for (int64_t i = 1; i <= launches; i++) {
        int64_t at_ns = i * LAUNCH_NS;
        put_launch(i, at_ns);
        if (i % LAUNCHES_A_STEP == 1)
            put(ROW_RANGE, &(struct row_range){id++, 1, 1, at_ns - 1000,
                                               at_ns - 1500 + (int64_t)LAUNCHES_A_STEP * LAUNCH_NS,
                                               intern("step"), 0, 0, 0, 0});
    }
    if (timeline_finish(t, &error)) {
        fprintf(stderr, "bench_export: %s\n", error.text);
        exit(1);
    }
    return t;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Analyses, and exports when x is given: prints its row. */
static int measure(int64_t events, const struct exporter *x)
{
    struct timeline *t = make_timeline(events);
    double start = now();
    struct advice *a = advise(t, &error);
    if (a && x) {
        struct export_options o = {.title = "bench", .source = "bench"};
        FILE *f = fopen("/dev/null", "w");
        start = now();
        if (!f || x->analysis(a, &o, f, &error))
            a = NULL;
    }
    double seconds = now() - start;
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    if (!a) {
        fprintf(stderr, "bench_export: %s\n", error.text);
        return 1;
    }
    printf("%-12s %8.2f s %8.1f M events/s %8ld MB\n", x ? x->name : "analysis", seconds,
           (double)events / seconds / 1e6, use.ru_maxrss / 1024);
    return 0;
}

static int in_own_process(int64_t events, const struct exporter *x)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int rc = measure(events, x);
        fflush(stdout);
        _exit(rc);
    }
    int status = 1;
    return pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0;
}

int main(int argc, char **argv)
{
    int64_t events = argc > 1 ? atoll(argv[1]) : 1000000;
    if (events < 1000) {
        fprintf(stderr, "usage: bench_export [EVENTS]   from 1000 up\n");
        return 2;
    }
    printf("%lld events\n", (long long)events);
    int rc = in_own_process(events, NULL);
    for (size_t i = 0; i < exporter_count; i++)
        if (exporters[i]->analysis)
            rc |= in_own_process(events, exporters[i]);
    return rc;
}
