/* agent_cost AGENT: measures what the agent costs the program's own threads for each event. The
 * program runs itself four times: without the agent; with the agent loaded but idle; with the agent
 * between windows (as with run --armed before the first window); and recording. It prints the four
 * costs and what recording adds. It empties the rings between bursts, as the collector does. Each
 * figure is the best of many bursts, because noise of the machine is not the agent's cost. */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "agent/gpuprof.h"
#include "bench/agent_cost_library.h"
#include "wire/spool_format.h"

enum { BURST = 1500, BURSTS = 200, EVENTS = 4 };

static struct spool_header *spool;

/* Maps the spool that this process has made, if there is one yet. */
static void find_spool(const char *dir)
{
    DIR *d = dir ? opendir(dir) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[4096];
        struct stat s;
        if (!strstr(e->d_name, SPOOL_SUFFIX))
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        int fd = open(path, O_RDWR);
        if (fd >= 0 && fstat(fd, &s) == 0) {
            void *map = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            spool = map == MAP_FAILED ? NULL : map;
        }
        if (fd >= 0)
            close(fd);
    }
    if (d)
        closedir(d);
}

static void drain(void)
{
    struct spool_ring *r = spool ? (void *)((char *)spool + spool->rings_off) : NULL;
    for (uint32_t i = 0; spool && i < spool->ring_count; i++)
        if (atomic_load(&r[i].tail) != atomic_load(&r[i].head))
            atomic_store(&r[i].tail, atomic_load(&r[i].head));
}

static void nvtx_range(void)
{
    nvtxRangePushA("forward");
    nvtxRangePop();
}

static void header_range(void)
{
    gpuprof_range_begin("forward");
    gpuprof_range_end();
}

static void gemm(void)
{
    float one = 1, zero = 0;
    cublasSgemm_v2(NULL, 0, 0, 128, 128, 128, &one, NULL, 128, NULL, 128, &zero, NULL, 128);
}

static void convolution(void)
{
    float one = 1, zero = 0;
    cudnnConvolutionForward(NULL, &one, &one, NULL, &one, NULL, &one, 1, NULL, 0, &zero, &one,
                            NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} events[EVENTS] = {
    {"NVTX push + pop", nvtx_range},
    {"gpuprof.h range", header_range},
    {"cublasSgemm", gemm},
    {"cudnnConvolutionForward", convolution},
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measure(void (*run)(void))
{
    double best = 1e18;
    for (int b = 0; b < BURSTS; b++) {
        double start = now_ns();
        for (int i = 0; i < BURST; i++)
            run();
        double ns = (now_ns() - start) / BURST;
        best = ns < best ? ns : best;
        drain();
    }
    return best;
}

/* The least work that any recorder must do for a range: read the clock twice and write the record's
 * bytes. */
static void floor_range(void)
{
    static char ring[1 << 16];
    static size_t at;
    struct timespec t[2];
    struct spool_rec_range r = {.head = {.kind = SPOOL_REC_RANGE, .size = sizeof r}};
    clock_gettime(CLOCK_MONOTONIC, &t[0]);
    clock_gettime(CLOCK_MONOTONIC, &t[1]);
    r.head.start_ns = t[0].tv_sec * 1000000000 + t[0].tv_nsec;
    r.head.end_ns = t[1].tv_sec * 1000000000 + t[1].tv_nsec;
    memcpy(ring + at, &r, sizeof r);
    __asm__ volatile("" ::"r"(ring) : "memory");
    at = (at + sizeof r) % (sizeof ring - sizeof r);
}

static int child(void)
{
    for (int i = 0; i < EVENTS; i++)
        events[i].run();
    find_spool(getenv("GPUPROF_DIR"));
    for (int i = 0; i < EVENTS; i++)
        printf("%.2f\n", measure(events[i].run));
    if (spool && atomic_load(&spool->counter[SPOOL_RING_FULL]))
        printf("records were dropped: the numbers are too good\n");
    return 0;
}

/* Runs this program once in the given environment and reads its figures into `ns`. */
static int run(const char *self, const char *agent, const char *dir, const char *window,
               double ns[EVENTS])
{
    int out[2];
    if (pipe(out) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        unsetenv("GPUPROF_DIR");
        unsetenv("LD_PRELOAD");
        if (agent)
            setenv("LD_PRELOAD", agent, 1);
        if (dir)
            setenv("GPUPROF_DIR", dir, 1);
        if (window)
            setenv("GPUPROF_WINDOW", window, 1);
        dup2(out[1], 1);
        close(out[0]);
        close(out[1]);
        execl(self, self, "--child", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    FILE *f = fdopen(out[0], "r");
    int got = 0;
    while (f && got < EVENTS && fscanf(f, "%lf", &ns[got]) == 1)
        got++;
    bool rest = f && fgetc(f) == '\n' && fgetc(f) != EOF;
    if (f)
        fclose(f);
    int status;
    waitpid(pid, &status, 0);
    return pid > 0 && status == 0 && got == EVENTS && !rest ? 0 : -1;
}

static void clean(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    double without[EVENTS], idle[EVENTS], closed[EVENTS], with[EVENTS];
    char dir[] = "/tmp/gpuprof-bench-XXXXXX";
    if (argc == 2 && strcmp(argv[1], "--child") == 0)
        return child();
    if (argc != 2) {
        fprintf(stderr, "usage: agent_cost LIBGPUPROF_AGENT.SO\n");
        return 2;
    }
    if (!mkdtemp(dir))
        return 1;
    int failed = run("/proc/self/exe", NULL, NULL, NULL, without) ||
                 run("/proc/self/exe", argv[1], NULL, NULL, idle) ||
                 run("/proc/self/exe", argv[1], dir, "closed", closed) ||
                 run("/proc/self/exe", argv[1], dir, NULL, with);
    clean(dir);
    if (failed) {
        fprintf(stderr, "agent_cost: a run failed\n");
        return 1;
    }
    double least = measure(floor_range);
    printf("%-26s %10s %10s %10s %10s %12s %13s\n", "ns per event", "no agent", "idle", "between",
           "recording", "agent adds", "of the floor");
    for (int i = 0; i < EVENTS; i++)
        printf("%-26s %10.1f %10.1f %10.1f %10.1f %12.1f %13.2f\n", events[i].name, without[i],
               idle[i], closed[i], with[i], with[i] - without[i], (with[i] - without[i]) / least);
    printf("floor: two readings of the clock and a copy of a record, %.1f ns\n", least);
    return 0;
}
