/* See blocks.h. */
#include "reference_workloads/common/blocks.h"

#include <cuda_profiler_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "reference_workloads/common/check.h"
#include "reference_workloads/common/clock.h"

/* A profiler is on for a while behind a block, for the work that is queued (gpuprof: 50 ms, or four
 * steps), and its own thread looks ten times a second. */
enum { SETTLE = 4, SETTLE_MS = 150, BLOCKS = 1024 };

static int64_t call_ns[BLOCKS]; /* of cudaProfilerStart and Stop */

struct block {
    double step_ns, switch_ns; /* its median step; what turning the profiler on or off has cost */
    bool known, recorded;
};

void blocks_step(int every, int step)
{
    if (every <= 0 || step % every != 0)
        return;
    int64_t start_ns = clock_now_ns();
    cudaCheck(step / every % 2 ? cudaProfilerStart() : cudaProfilerStop());
    if (step / every < BLOCKS)
        call_ns[step / every] = clock_now_ns() - start_ns;
}

static double median(double *v, size_t n)
{
    int64_t *ns = check_alloc((n + 1) * sizeof *ns);
    for (size_t i = 0; i < n; i++)
        ns[i] = (int64_t)v[i];
    double middle = n ? (double)median_ns(ns, n) : 0;
    free(ns);
    return middle;
}

/* The n steps of a block, the first `out` of which are not looked at. */
static struct block measure(const int64_t *step_ns, int n, int out, bool recorded, int64_t call)
{
    struct block b = {.recorded = recorded};
    int64_t *settled = check_alloc((size_t)n * sizeof *settled), passed_ns = 0;
    int first = out;
    for (int i = 0; i < n && (i < out || i < SETTLE || passed_ns < SETTLE_MS * 1000000ll); i++) {
        passed_ns += step_ns[i];
        first = i + 1;
    }
    for (int i = first; i < n; i++)
        settled[i - first] = step_ns[i];
    b.known = first < n;
    b.step_ns = b.known ? (double)median_ns(settled, (size_t)(n - first)) : 0;
    b.switch_ns = (double)call;
    for (int i = 0; i < first && i < SETTLE; i++)
        b.switch_ns += (double)step_ns[i] - b.step_ns;
    free(settled);
    return b;
}

static void print_steps(const struct block *b, int n, bool recorded)
{
    double steps[BLOCKS], switches[BLOCKS];
    size_t count = 0, switched = 0;
    for (int i = 0; i < n; i++) {
        if (!b[i].known || b[i].recorded != recorded)
            continue;
        steps[count++] = b[i].step_ns;
        if (i > 0) /* before the first one nothing was recorded */
            switches[switched++] = b[i].switch_ns;
    }
    printf("%s_step_ms=%.4f\n", recorded ? "recorded" : "unrecorded", median(steps, count) / 1e6);
    printf("switch_%s_ms=%.4f\n", recorded ? "on" : "off", median(switches, switched) / 1e6);
}

/* Each recorded block against its two neighbours: the host does not keep its speed. */
static void print_pairs(const struct block *b, int n)
{
    double pct[BLOCKS], least = 1e9, most = -1e9;
    size_t count = 0;
    for (int i = 1; i + 1 < n; i++) {
        if (!b[i].recorded || !b[i - 1].known || !b[i].known || !b[i + 1].known)
            continue;
        double beside = (b[i - 1].step_ns + b[i + 1].step_ns) / 2;
        double more = 100 * (b[i].step_ns / beside - 1);
        pct[count++] = more * 1e6;
        least = more < least ? more : least;
        most = more > most ? more : most;
    }
    if (count)
        printf("recorded_pct=%.3f\nrecorded_least_pct=%.3f\nrecorded_most_pct=%.3f\n",
               median(pct, count) / 1e6, least, most);
}

void blocks_print(int every, const int64_t *step_ns, int steps, int warmup)
{
    struct block b[BLOCKS] = {0};
    int n = 0;
    for (int from = 0; every > 0 && from + every <= steps && n < BLOCKS; from += every, n++) {
        int out = warmup - from < every ? warmup - from : every;
        b[n] = measure(step_ns + from, every, out > 0 ? out : 0, n % 2 == 1, call_ns[n]);
    }
    if (every <= 0)
        return;
    print_steps(b, n, false);
    print_steps(b, n, true);
    print_pairs(b, n);
}
