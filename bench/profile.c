/* bench_profile GPUPROF [EVENTS]: writes a profile of that many events (a million) through the
 * store, then times the commands that read it, each in a process of its own as a user runs it:
 * seconds and peak memory, everything included. */
#include "analyzer/profile/store.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

static uint32_t text(const char *s)
{
    return sink.intern(sink.self, s, strlen(s));
}

static void put(enum row_kind kind, const void *row)
{
    if (sink.put(sink.self, kind, row, &error) < 0) {
        fprintf(stderr, "bench_profile: %s\n", error.text);
        exit(1);
    }
}

static void put_places(void)
{
    struct row_meta have = {.id = 1, .key = text("have")};
    have.value = text("kernels,api,ranges,sync,copies,device");
    put(ROW_META, &have);
    put(ROW_PROCESS, &(struct row_process){.id = 1, .pid = 4242, .rank = -1, .sealed = 1});
    put(ROW_THREAD, &(struct row_thread){1, 1, 4242, text("train")});
    put(ROW_DEVICE, &(struct row_device){.id = 1, .process = 1, .name = text("bench GPU")});
    put(ROW_STREAM, &(struct row_stream){1, 1, 1, 1, 7, 0, 0});
}

/* One launch and its kernel; every tenth stands in a range, every 500th begins a step. */
static void put_launch(int64_t i)
{
    int64_t at = i * LAUNCH_NS;
    put(ROW_API, &(struct row_api){i, 1, 1, at, at + 4000, text("cudaLaunchKernel"), i, 0, 0});
    put(ROW_KERNEL, &(struct row_kernel){.id = i,
                                         .process = 1,
                                         .stream = 1,
                                         .start_ns = at + 6000,
                                         .end_ns = at + 9000 + i % 4 * 1000,
                                         .name = text(kernels[i % 4]),
                                         .correlation = i,
                                         .grid_x = 64,
                                         .grid_y = 1,
                                         .grid_z = 1,
                                         .block_x = 256,
                                         .block_y = 1,
                                         .block_z = 1});
    if (i % 10 == 0)
        put(ROW_RANGE,
            &(struct row_range){i, 1, 1, at - 500, at + 70000, text("layer"), 0, 1, 0, 0});
    if (i % LAUNCHES_A_STEP == 1)
        put(ROW_RANGE, &(struct row_range){((int64_t)1 << 30) + i, 1, 1, at - 1000,
                                           at - 1500 + (int64_t)LAUNCHES_A_STEP * LAUNCH_NS,
                                           text("step"), 0, 0, 0, 0});
}

static int write_profile(const char *path, int64_t events)
{
    struct store *s = store_create(path, 0, &error);
    if (!s)
        return -1;
    sink = store_sink(s);
    put_places();
    for (int64_t i = 1; i <= events * 10 / 21; i++)
        put_launch(i);
    int rc = store_finish(s, &error);
    store_close(s);
    return rc;
}

static double seconds_since(const struct timespec *a)
{
    struct timespec b;
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (double)(b.tv_sec - a->tv_sec) + (double)(b.tv_nsec - a->tv_nsec) / 1e9;
}

/* Writes as many bytes as `like` has into a file beside it: what the disk alone needs. */
static int measure_write(const char *like, double exported)
{
    static char block[64 << 10];
    char path[80];
    struct stat st;
    struct timespec a;
    snprintf(path, sizeof path, "%s.plain", like);
    FILE *f = stat(like, &st) == 0 ? fopen(path, "wb") : NULL;
    memset(block, 'x', sizeof block);
    clock_gettime(CLOCK_MONOTONIC, &a);
    bool failed = !f;
    for (off_t left = st.st_size; !failed && left > 0; left -= (off_t)sizeof block)
        failed = fwrite(block, 1, sizeof block, f) != sizeof block;
    failed |= f && fclose(f) != 0;
    double seconds = seconds_since(&a);
    unlink(path);
    if (failed)
        fprintf(stderr, "bench_profile: %s cannot be written\n", path);
    else
        printf(
            "plain write  %8.2f s  of the %.0f MB of the trace; reading, analysing and writing it "
            "take %.1f times as long\n",
            seconds, (double)st.st_size / 1e6, exported / seconds);
    return failed;
}

/* Runs a command of gpuprof with its output thrown away; prints its row. */
static int measure(const char *label, char *const *argv, double *took)
{
    struct timespec a;
    fflush(stdout);
    clock_gettime(CLOCK_MONOTONIC, &a);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        dup2(null, 2);
        execv(argv[0], argv);
        _exit(127);
    }
    int status = 1;
    struct rusage use = {0};
    if (pid < 0 || wait4(pid, &status, 0, &use) < 0 || status != 0) {
        fprintf(stderr, "bench_profile: %s %s failed\n", argv[0], argv[1]);
        return 1;
    }
    *took = seconds_since(&a);
    printf("%-12s %8.2f s %8ld MB\n", label, *took, use.ru_maxrss / 1024);
    return 0;
}

/* Formats beside the Chrome trace and the page. */
static char *const others[] = {"speedscope", "folded", "json", "markdown", "openmetrics", NULL};

int main(int argc, char **argv)
{
    int64_t events = argc > 2 ? atoll(argv[2]) : 1000000;
    if (argc < 2 || events < 1000) {
        fprintf(stderr, "usage: bench_profile GPUPROF [EVENTS]   from 1000 up\n");
        return 2;
    }
    char folder[] = "/tmp/gpuprof-bench-XXXXXX", profile[64], trace[64], page[64];
    if (!mkdtemp(folder)) {
        fprintf(stderr, "bench_profile: no folder can be made in /tmp\n");
        return 1;
    }
    snprintf(profile, sizeof profile, "%s/x.gpuprof", folder);
    snprintf(trace, sizeof trace, "%s/x.json", folder);
    snprintf(page, sizeof page, "%s/x.html", folder);
    int rc = write_profile(profile, events) < 0;
    if (rc)
        fprintf(stderr, "bench_profile: %s\n", error.text);
    else
        printf("profile of %lld events\n", (long long)events);
    double took;
    rc = rc || measure("analyze", (char *[]){argv[1], "analyze", profile, NULL}, &took) ||
         measure("export", (char *[]){argv[1], "export", profile, "-o", trace, NULL}, &took) ||
         measure_write(trace, took) ||
         measure("report", (char *[]){argv[1], "report", profile, "-o", page, NULL}, &took);
    for (char *const *format = others; rc == 0 && *format; format++)
        rc = measure(*format,
                     (char *[]){argv[1], "export", "--format", *format, profile, "-o", "-", NULL},
                     &took);
    unlink(profile);
    unlink(trace);
    unlink(page);
    rmdir(folder);
    return rc;
}
