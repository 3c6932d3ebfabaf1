// What it costs to learn of a launch, way by way: records of kernels, records of calls (all, or of
// the launch alone, in the runtime or the driver), and CUPTI's callbacks around the launch. The
// ways take turns in many rounds, so that a host that does not keep its speed disturbs all of them
// alike. An argument changes how CUPTI keeps its buffers: threads (one for each thread), pinned,
// device. Prints NAME<TAB>VALUE<TAB>UNIT. Ends in about ten seconds.
#include "vgpu/tests/calibrate/cupti_pool.h"
#include "vgpu/tests/calibrate/measure.h"

#include <algorithm>
#include <cupti.h>
#include <functional>
#include <string.h>
#include <vector>

enum { ROUNDS = 25, LAUNCHES = 500, WARM = 50 };

__global__ void nothing()
{
}

__global__ void wait_cycles(long long cycles)
{
    for (long long from = clock64(); clock64() - from < cycles;)
        ;
}

// ---- CUPTI ---------------------------------------------------------------------------------

// As a recorder would: the time, and the number that the kernel's record will carry
static volatile uint64_t noted;
static void CUPTIAPI on_call(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *data)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    noted = ((const CUpti_CallbackData *)data)->correlationId + (uint64_t)t.tv_nsec;
}

static CUpti_SubscriberHandle subscriber;

static bool kinds(std::vector<CUpti_ActivityKind> which, bool on)
{
    bool good = true;
    for (CUpti_ActivityKind k : which)
        good &= (on ? cuptiActivityEnable(k) : cuptiActivityDisable(k)) == CUPTI_SUCCESS;
    return good;
}

static bool callbacks(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on)
{
    return subscriber && cuptiEnableCallback(on, subscriber, domain, id) == CUPTI_SUCCESS;
}

static bool kernels(bool on)
{
    return kinds({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}, on);
}

static bool runtime_launch(bool on)
{
    return cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, on) ==
           CUPTI_SUCCESS;
}

static bool driver_launch(bool on)
{
    return cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, on) ==
               CUPTI_SUCCESS &&
           cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, on) ==
               CUPTI_SUCCESS;
}

static bool runtime_callback(bool on)
{
    return callbacks(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
                     on);
}

static bool driver_callback(bool on)
{
    return callbacks(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, on) &&
           callbacks(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, on);
}

struct way {
    const char *name;
    std::function<bool(bool)> turn;
    std::vector<double> host_us, period_us;
    bool refused;
};

static std::vector<struct way> ways()
{
    const CUpti_ActivityKind R = CUPTI_ACTIVITY_KIND_RUNTIME, D = CUPTI_ACTIVITY_KIND_DRIVER,
                             K = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    return {
        {"nothing", [](bool) { return true; }},
        {"kernels", kernels},
        {"kernels_stamped",
         [](bool on) {
             return cuptiActivityEnableLatencyTimestamps(on) == CUPTI_SUCCESS && kernels(on);
         }},
        {"runtime", [=](bool on) { return kinds({R}, on); }},
        {"driver", [=](bool on) { return kinds({D}, on); }},
        {"kernels_runtime",
         [=](bool on) {
             return kinds({K, R}, on);
         }},
        {"kernels_driver",
         [=](bool on) {
             return kinds({K, D}, on);
         }},
        {"kernels_runtime_driver",
         [=](bool on) {
             return kinds({K, R, D}, on);
         }},
        {"kernels_runtime_launch", [](bool on) { return kernels(on) & runtime_launch(on); }},
        {"kernels_driver_launch", [](bool on) { return kernels(on) & driver_launch(on); }},
        {"runtime_callback", runtime_callback},
        {"driver_callback", driver_callback},
        {"kernels_runtime_callback", [](bool on) { return kernels(on) & runtime_callback(on); }},
        {"kernels_driver_callback", [](bool on) { return kernels(on) & driver_callback(on); }},
        {"copies_and_waits",
         [](bool on) {
             return kinds({CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
                           CUPTI_ACTIVITY_KIND_SYNCHRONIZATION},
                          on);
         }},
        {"overhead_internal",
         [](bool on) {
             return kinds({CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API},
                          on);
         }},
    };
}

// ---- the load ------------------------------------------------------------------------------

static void measure(struct way *w, cudaStream_t stream, long long cycles)
{
    if (w->refused || !w->turn(true)) {
        w->refused = true;
        w->turn(false);
        return;
    }
    for (int i = 0; i < WARM; i++)
        nothing<<<1, 32, 0, stream>>>();
    CHECK_CUDA(cudaStreamSynchronize(stream));
    double from = now_us();
    for (int i = 0; i < LAUNCHES; i++) // within the launch queue: the host does not wait
        nothing<<<1, 32, 0, stream>>>();
    w->host_us.push_back((now_us() - from) / LAUNCHES);
    CHECK_CUDA(cudaStreamSynchronize(stream));
    from = now_us();
    for (int i = 0; i < LAUNCHES; i++) // longer than its launch: the GPU sets the pace
        wait_cycles<<<1, 32, 0, stream>>>(cycles);
    CHECK_CUDA(cudaStreamSynchronize(stream));
    w->period_us.push_back((now_us() - from) / LAUNCHES);
    w->turn(false);
    CHECK_CUDA(cudaDeviceSynchronize());
    cuptiActivityFlushAll(0);
}

static double middle(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

static void show(const struct way *w, const struct way *without)
{
    char name[96];
    if (w->refused || w->host_us.empty()) {
        printf("%s\tnone\trefused\n", w->name);
        return;
    }
    std::vector<double> host, period; // against the same round's launches without CUPTI
    for (size_t i = 0; i < w->host_us.size(); i++) {
        host.push_back(w->host_us[i] - without->host_us[i]);
        period.push_back(w->period_us[i] - without->period_us[i]);
    }
    snprintf(name, sizeof name, "%s_host_more", w->name);
    print_figure(name, middle(host), "us per launch");
    snprintf(name, sizeof name, "%s_device_more", w->name);
    print_figure(name, middle(period), "us per kernel of 10 us");
}

static void set_up(const char *how)
{
    uint8_t yes = 1, no = 0;
    size_t one = sizeof yes;
    CUptiResult rc = CUPTI_SUCCESS;
    if (strcmp(how, "threads") == 0)
        rc = cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &one, &yes);
    else if (strcmp(how, "pinned") == 0)
        rc = cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, &one,
                                       &yes);
    else if (strcmp(how, "device") == 0)
        rc = cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, &one,
                                       &no);
    printf("attribute_%s\t%d\tCUPTI status\n", how, (int)rc);
    cuptiActivityRegisterCallbacks(pool_give, pool_take);
    if (cuptiSubscribe(&subscriber, on_call, NULL) != CUPTI_SUCCESS)
        subscriber = NULL;
}

int main(int argc, char **argv)
{
    set_up(argc > 1 ? argv[1] : "none");
    measure_start();
    cudaStream_t stream;
    int khz = 0;
    CHECK_CUDA(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    std::vector<struct way> all = ways();
    for (int round = -1; round < ROUNDS; round++) {
        for (struct way &w : all)
            measure(&w, stream, khz / 100); // 10 us
        for (struct way &w : all)
            if (round < 0)
                w.host_us.clear(), w.period_us.clear(); // the first round makes what is made once
    }
    print_figure("nothing_host", middle(all[0].host_us), "us per launch");
    print_figure("nothing_period", middle(all[0].period_us), "us per kernel of 10 us");
    for (size_t i = 1; i < all.size(); i++)
        show(&all[i], &all[0]);
    CHECK_CUDA(cudaStreamDestroy(stream));
    return 0;
}
