// A program that launches kernels and then ends in the way it is told, to see what the profiler
// keeps of it:
//   launcher rate SECONDS PER_SECOND   launches at an even rate; prints how many
//   launcher abort|_exit|quick_exit|exit|kill|hang [N]   N launches (10,000), then that end; `hang`
//   leaves a kernel that
//                                      spins until the process is killed
// A step range marks every thousand launches.
#include "vgpu/tests/calibrate/measure.h"

#include <csignal>
#include <cstring>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

__global__ void nothing()
{
}

__global__ void spin(volatile int *stop)
{
    while (!*stop)
        ;
}

static void launch(long n, cudaStream_t stream, double gap_us)
{
    double next = now_us();
    for (long i = 0; i < n; i++) {
        if (i % 1000 == 0) {
            if (i)
                nvtxRangePop();
            nvtxRangePushA("step");
        }
        nothing<<<1, 32, 0, stream>>>();
        for (next += gap_us; gap_us > 0 && now_us() < next;)
            ;
    }
    if (n)
        nvtxRangePop();
    CHECK_CUDA(cudaStreamSynchronize(stream));
}

static void leave_spinning(cudaStream_t stream)
{
    int *stop;
    CHECK_CUDA(cudaMallocHost((void **)&stop, sizeof *stop)); // seen by the device as it stands
    *stop = 0;
    spin<<<1, 1, 0, stream>>>(stop);
    fflush(stdout);
    pause();
}

static int end(const char *how)
{
    fflush(stdout);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "_exit"))
        _exit(7);
    if (!strcmp(how, "quick_exit"))
        quick_exit(7);
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    return strcmp(how, "exit") ? 2 : 7;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: launcher rate SECONDS PER_SECOND | "
                        "abort|_exit|quick_exit|exit|kill|hang [N]\n");
        return 2;
    }
    measure_start();
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    bool rate = !strcmp(argv[1], "rate");
    if (rate && argc != 4)
        die("rate needs SECONDS and PER_SECOND");
    double per_second = rate ? strtod(argv[3], NULL) : 0;
    long n = rate       ? (long)(strtod(argv[2], NULL) * per_second)
             : argc > 2 ? strtol(argv[2], NULL, 10)
                        : 10000;
    double from = now_us();
    launch(n, stream, rate ? 1e6 / per_second : 0);
    printf("launches=%ld seconds=%.3f\n", n, (now_us() - from) / 1e6);
    if (rate)
        return 0;
    if (!strcmp(argv[1], "hang"))
        leave_spinning(stream);
    return end(argv[1]);
}
