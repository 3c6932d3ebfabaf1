// What CUPTI itself costs and does on this machine, without our agent: host time per launch and
// device time per kernel with each set of activity kinds, the same per node of a graph, which
// runtime calls leave records, and whether long graph runs lose time stamps or device memory.
// Prints NAME<TAB>VALUE<TAB>UNIT. Nobody else may hold CUPTI meanwhile. Ends in about half a
// minute.
#include "vgpu/tests/calibrate/measure.h"

#include <algorithm>
#include <cupti.h>
#include <map>
#include <pthread.h>
#include <vector>

enum { BURST = 2000, TRIES = 11, NODES = 1000, BUFFER = 1 << 20 };

#define CHECK_CUPTI(call)                                                                          \
    do {                                                                                           \
        CUptiResult status_ = (call);                                                              \
        if (status_ != CUPTI_SUCCESS) {                                                            \
            fprintf(stderr, "%s:%d: CUPTI status %d\n", __FILE__, __LINE__, (int)status_);         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

__global__ void nothing()
{
}

// ---- what came back --------------------------------------------------------------------------

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; // CUPTI completes buffers on a thread of its own
static struct {
    size_t records, kernels, untimed, dropped;
    std::map<unsigned, size_t> runtime_ids;
} seen;

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
    *buffer = (uint8_t *)aligned_alloc(8, BUFFER);
    *size = *buffer ? BUFFER : 0;
    *most = 0;
}

static void look_at(const CUpti_Activity *record)
{
    seen.records++;
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        // start and end stand at the same place in every version of the record
        const CUpti_ActivityKernel9 *k = (const CUpti_ActivityKernel9 *)record;
        seen.kernels++;
        seen.untimed += k->start == 0 || k->end < k->start;
    } else if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
        seen.runtime_ids[((const CUpti_ActivityAPI *)record)->cbid]++;
    }
}

static void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
    CUpti_Activity *record = NULL;
    pthread_mutex_lock(&lock);
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        look_at(record);
    size_t lost = 0;
    if (cuptiActivityGetNumDroppedRecords(NULL, 0, &lost) == CUPTI_SUCCESS)
        seen.dropped += lost;
    pthread_mutex_unlock(&lock);
    free(buffer);
}

// ---- sets of kinds ---------------------------------------------------------------------------

struct tier {
    const char *name;
    std::vector<CUpti_ActivityKind> kinds;
};

static const struct tier tiers[] = {
    {"none", {}},
    {"kernels", {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}},
    {"calls", {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER}},
    {"kernels_calls",
     {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME,
      CUPTI_ACTIVITY_KIND_DRIVER}},
    {"all",
     {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME,
      CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
      CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_OVERHEAD}},
    {"all_and_events",
     {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME,
      CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
      CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_OVERHEAD,
      CUPTI_ACTIVITY_KIND_CUDA_EVENT}},
};
static const struct tier serial = {"serial_kernels", {CUPTI_ACTIVITY_KIND_KERNEL}};
static const struct tier off_again = {"none_again", {}};
static const struct tier graph_level = {"whole_graphs", {CUPTI_ACTIVITY_KIND_GRAPH_TRACE}};

static bool enable(const struct tier *t)
{
    for (CUpti_ActivityKind kind : t->kinds) {
        CUptiResult status = cuptiActivityEnable(kind);
        if (status != CUPTI_SUCCESS) {
            printf("%s\tnone\tkind %d refused, CUPTI status %d\n", t->name, (int)kind, (int)status);
            return false;
        }
    }
    return true;
}

static void disable(const struct tier *t)
{
    for (CUpti_ActivityKind kind : t->kinds)
        cuptiActivityDisable(kind);
    CHECK_CUPTI(cuptiActivityFlushAll(1));
}

static void print_of(const char *what, const struct tier *t, double value, const char *unit)
{
    char name[96];
    snprintf(name, sizeof name, "%s_%s", what, t->name);
    print_figure(name, value, unit);
}

static double middle(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

// ---- the measurements ------------------------------------------------------------------------

static void launches(const struct tier *t, cudaStream_t stream)
{
    if (!enable(t))
        return;
    std::vector<double> host, device;
    for (int i = 0; i < TRIES; i++) {
        double from = now_us();
        for (int j = 0; j < BURST / 4; j++) // within the launch queue: the host does not wait
            nothing<<<1, 32, 0, stream>>>();
        host.push_back((now_us() - from) / (BURST / 4));
        CHECK_CUDA(cudaStreamSynchronize(stream));
        from = now_us();
        for (int j = 0; j < BURST; j++)
            nothing<<<1, 32, 0, stream>>>();
        CHECK_CUDA(cudaStreamSynchronize(stream));
        device.push_back((now_us() - from) / BURST);
    }
    print_of("launch_host", t, middle(host), "us");
    print_of("kernel_period", t, middle(device), "us");
    disable(t);
}

static cudaGraphExec_t captured(cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < NODES; i++)
        nothing<<<1, 32, 0, stream>>>();
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph,
                                    0)); // after the kinds: they decide how its nodes are traced
    CHECK_CUDA(cudaGraphDestroy(graph));
    return exec;
}

static double graph_period(cudaGraphExec_t exec, cudaStream_t stream)
{
    std::vector<double> v;
    for (int i = 0; i < TRIES; i++) {
        double from = now_us();
        CHECK_CUDA(cudaGraphLaunch(exec, stream));
        CHECK_CUDA(cudaStreamSynchronize(stream));
        v.push_back((now_us() - from) / NODES);
    }
    return middle(v);
}

static void graphs(const struct tier *t, cudaStream_t stream)
{
    if (!enable(t))
        return;
    cudaGraphExec_t exec = captured(stream);
    print_of("graph_node_period", t, graph_period(exec, stream), "us");
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    disable(t);
}

// Millions of graph nodes: does CUPTI keep device memory, do stamps get lost?
static void long_graphs(const struct tier *t, cudaStream_t stream, size_t millions)
{
    size_t free_before, free_after, total;
    if (!enable(t))
        return;
    cudaGraphExec_t exec = captured(stream);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cudaMemGetInfo(&free_before, &total));
    pthread_mutex_lock(&lock);
    seen.kernels = seen.untimed = seen.dropped = 0;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < millions * 1000000 / NODES; i++) {
        CHECK_CUDA(cudaGraphLaunch(exec, stream));
        if (i % 100 == 99)
            CHECK_CUPTI(cuptiActivityFlushAll(0));
    }
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUPTI(cuptiActivityFlushAll(1));
    CHECK_CUDA(cudaMemGetInfo(&free_after, &total));
    print_of("long_graph_device_memory", t, ((double)free_before - (double)free_after) / (1 << 20),
             "MiB");
    print_of("long_graph_kernels", t, (double)seen.kernels, "records");
    print_of("long_graph_untimed", t, (double)seen.untimed, "records");
    print_of("long_graph_dropped", t, (double)seen.dropped, "records");
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    disable(t);
}

// Long grids: CUPTI times kernels by code that it adds to them, so that blocks may cost, too.
static void blocks(const struct tier *t, cudaStream_t stream)
{
    static const int counts[] = {1, 1024, 16384, 131072, 1048576};
    enum { LAUNCHES = 100 };
    cudaEvent_t begin, end;
    if (!enable(t))
        return;
    CHECK_CUDA(cudaEventCreate(&begin));
    CHECK_CUDA(cudaEventCreate(&end));
    for (int n : counts) {
        std::vector<double> us;
        for (int i = 0; i < TRIES; i++) {
            float ms;
            CHECK_CUDA(cudaEventRecord(begin, stream));
            for (int j = 0; j < LAUNCHES; j++)
                nothing<<<n, 256, 0, stream>>>();
            CHECK_CUDA(cudaEventRecord(end, stream));
            CHECK_CUDA(cudaEventSynchronize(end));
            CHECK_CUDA(cudaEventElapsedTime(&ms, begin, end));
            us.push_back(ms * 1e3 / LAUNCHES);
        }
        char what[64];
        snprintf(what, sizeof what, "period_of_%d_blocks", n);
        print_of(what, t, middle(us), "us");
    }
    CHECK_CUDA(cudaEventDestroy(begin));
    CHECK_CUDA(cudaEventDestroy(end));
    disable(t);
}

// A flush every so many launches: what does asking for what is complete cost?
static void flushes(cudaStream_t stream)
{
    static const int every[] = {0, 10000, 1000, 100};
    const struct tier *t = &tiers[4];
    if (!enable(t))
        return;
    for (int n : every) {
        double from = now_us();
        for (int i = 1; i <= 20000; i++) {
            nothing<<<1, 32, 0, stream>>>();
            if (n && i % n == 0)
                CHECK_CUPTI(cuptiActivityFlushAll(0));
        }
        CHECK_CUDA(cudaStreamSynchronize(stream));
        char name[64];
        snprintf(name, sizeof name, "kernel_period_flush_every_%d", n);
        print_figure(name, (now_us() - from) / 20000, "us");
    }
    disable(t);
}

int main(int argc, char **argv)
{
    size_t millions = argc > 1 ? strtoul(argv[1], NULL, 10) : 2;
    measure_start();
    CHECK_CUPTI(cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    nothing<<<1, 32, 0, stream>>>();
    CHECK_CUDA(cudaDeviceSynchronize());
    for (const struct tier &t : tiers)
        launches(&t, stream);
    for (const struct tier *t : {&tiers[0], &tiers[1], &tiers[4], &off_again, &serial})
        blocks(t, stream);
    for (const struct tier &t : tiers)
        graphs(&t, stream);
    graphs(&graph_level, stream);
    flushes(stream);
    for (auto &id : seen.runtime_ids) {
        const char *call = "";
        cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, id.first, &call);
        printf("runtime_id_%u_%s\t%zu\trecords\n", id.first, call, id.second);
    }
    long_graphs(&tiers[1], stream, millions);
    long_graphs(&tiers[4], stream, millions);
    CHECK_CUDA(cudaStreamDestroy(stream));
    return 0;
}
