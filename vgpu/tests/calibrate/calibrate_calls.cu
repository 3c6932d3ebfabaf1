// What CUDA's calls cost on this machine: launches, gaps, graphs, copies, allocations,
// synchronisation. Prints NAME<TAB>VALUE<TAB>UNIT, one line a figure; each is the median of several
// tries, so that one interruption does not decide. Ends in about ten seconds; 77 without a GPU. It
// asks for no privilege and changes no setting.
#include "vgpu/tests/calibrate/measure.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <vector>

enum { BURST = 500, TRIES = 21 };

__global__ void nothing()
{
}

// The median of TRIES calls of `once`, which returns one figure.
template <typename F> static double median(F once)
{
    std::vector<double> v;
    for (int i = 0; i < TRIES; i++)
        v.push_back(once());
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

// Host time of one of BURST calls, in us. `after` waits for what they started.
template <typename F> static double each_us(F call)
{
    return median([&] {
        double from = now_us();
        for (int i = 0; i < BURST; i++)
            call();
        double took = (now_us() - from) / BURST;
        CHECK_CUDA(cudaDeviceSynchronize());
        return took;
    });
}

static void launches(cudaStream_t stream)
{
    cudaEvent_t begin, end;
    CHECK_CUDA(cudaEventCreate(&begin));
    CHECK_CUDA(cudaEventCreate(&end));
    print_figure("launch_host", each_us([&] { nothing<<<1, 32, 0, stream>>>(); }), "us");
    print_figure("event_record_host", each_us([&] { cudaEventRecord(begin, stream); }), "us");
    print_figure("stream_wait_host", each_us([&] { cudaStreamWaitEvent(stream, begin, 0); }), "us");
    print_figure("sync_min", each_us([&] { cudaStreamSynchronize(stream); }), "us");
    print_figure("launch_and_sync", each_us([&] {
                     nothing<<<1, 32, 0, stream>>>();
                     cudaStreamSynchronize(stream);
                 }),
                 "us");
    // A long queue behind one event pair: the device goes from kernel to kernel at its own pace.
    print_figure("kernel_period_queued", median([&] {
                     CHECK_CUDA(cudaEventRecord(begin, stream));
                     for (int i = 0; i < BURST; i++)
                         nothing<<<1, 32, 0, stream>>>();
                     CHECK_CUDA(cudaEventRecord(end, stream));
                     CHECK_CUDA(cudaEventSynchronize(end));
                     float ms;
                     CHECK_CUDA(cudaEventElapsedTime(&ms, begin, end));
                     return ms * 1e3 / BURST;
                 }),
                 "us");
    CHECK_CUDA(cudaEventDestroy(begin));
    CHECK_CUDA(cudaEventDestroy(end));
}

static cudaGraphExec_t captured(cudaStream_t stream, int nodes)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < nodes; i++)
        nothing<<<1, 32, 0, stream>>>();
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
    return exec;
}

static void graphs(cudaStream_t stream)
{
    static const int sizes[] = {10, 1000};
    double host[2], all[2];
    for (int s = 0; s < 2; s++) {
        cudaGraphExec_t exec = captured(stream, sizes[s]);
        CHECK_CUDA(cudaGraphLaunch(exec, stream));
        CHECK_CUDA(cudaStreamSynchronize(stream));
        std::vector<double> in_call(TRIES), to_end(TRIES);
        for (int i = 0; i < TRIES; i++) {
            double from = now_us();
            CHECK_CUDA(cudaGraphLaunch(exec, stream));
            in_call[i] = now_us() - from;
            CHECK_CUDA(cudaStreamSynchronize(stream));
            to_end[i] = now_us() - from;
        }
        std::sort(in_call.begin(), in_call.end());
        std::sort(to_end.begin(), to_end.end());
        host[s] = in_call[TRIES / 2];
        all[s] = to_end[TRIES / 2];
        CHECK_CUDA(cudaGraphExecDestroy(exec));
    }
    double nodes = sizes[1] - sizes[0];
    print_figure("graph_launch_host", host[0], "us");
    print_figure("graph_launch_node_host", (host[1] - host[0]) / nodes * 1e3, "ns");
    print_figure("graph_node_period", (all[1] - all[0]) / nodes, "us");
}

struct memory {
    const char *name;
    char *at;
};

static void copies(cudaStream_t stream)
{
    static const size_t sizes[] = {4096, 65536, 1 << 20, 16 << 20, 256 << 20};
    size_t most = sizes[4];
    char *device, *pinned;
    CHECK_CUDA(cudaMalloc((void **)&device, most));
    CHECK_CUDA(cudaMallocHost((void **)&pinned, most));
    char *pageable =
        (char *)mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pageable == MAP_FAILED)
        die("no memory for the copies");
    memset(pageable, 1, most);
    memset(pinned, 1, most);
    struct memory kinds[] = {{"pinned", pinned}, {"pageable", pageable}};
    for (struct memory m : kinds) {
        for (int out = 0; out < 2; out++) {
            for (size_t bytes : sizes) {
                int times = bytes > (1 << 20) ? 1 : 20;
                double us = median([&] {
                    double from = now_us();
                    for (int i = 0; i < times; i++)
                        CHECK_CUDA(cudaMemcpyAsync(
                            out ? m.at : device, out ? device : m.at, bytes,
                            out ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, stream));
                    CHECK_CUDA(cudaStreamSynchronize(stream));
                    return (now_us() - from) / times;
                });
                char name[64];
                snprintf(name, sizeof name, "%s_%s_%zuKiB", m.name, out ? "d2h" : "h2d",
                         bytes >> 10);
                print_figure(name, (double)bytes / us / 1e3, "GB/s");
            }
        }
    }
    munmap(pageable, most);
    CHECK_CUDA(cudaFreeHost(pinned));
    CHECK_CUDA(cudaFree(device));
}

static void allocations(void)
{
    static const size_t sizes[] = {1 << 20, 256 << 20};
    for (size_t bytes : sizes) {
        std::vector<double> take, give;
        for (int i = 0; i < TRIES; i++) {
            void *p;
            double from = now_us();
            CHECK_CUDA(cudaMalloc(&p, bytes));
            double got = now_us();
            CHECK_CUDA(cudaFree(p));
            take.push_back(got - from);
            give.push_back(now_us() - got);
        }
        std::sort(take.begin(), take.end());
        std::sort(give.begin(), give.end());
        char name[64];
        snprintf(name, sizeof name, "malloc_%zuMiB", bytes >> 20);
        print_figure(name, take[TRIES / 2], "us");
        snprintf(name, sizeof name, "free_%zuMiB", bytes >> 20);
        print_figure(name, give[TRIES / 2], "us");
    }
}

int main()
{
    measure_start();
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    nothing<<<1, 32, 0, stream>>>(); // loads the module
    CHECK_CUDA(cudaDeviceSynchronize());
    launches(stream);
    graphs(stream);
    copies(stream);
    allocations();
    CHECK_CUDA(cudaStreamDestroy(stream));
    return 0;
}
