// storm THREADS LAUNCHES: so many threads, each with a stream of its own, launch so many kernels
// each. Prints what a launch took on its thread, in us of that thread's processor time: the least
// of the threads' means.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

__global__ void drop(float *p)
{
    p[threadIdx.x] = 1;
}

static double own_us()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void launch(int launches, float *device, double *us)
{
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    double before = own_us();
    for (int i = 0; i < launches; i++)
        drop<<<1, 32, 0, stream>>>(device);
    *us = (own_us() - before) / launches;
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1, launches = argc > 2 ? atoi(argv[2]) : 1000;
    float *device;
    if (count < 1 || launches < 1 || cudaMalloc(&device, 128) != cudaSuccess)
        return 1;
    std::vector<std::thread> threads;
    std::vector<double> us(count);
    for (int i = 0; i < count; i++)
        threads.emplace_back(launch, launches, device, &us[i]);
    for (auto &t : threads)
        t.join();
    printf("us_per_launch=%.3f\n", *std::min_element(us.begin(), us.end()));
    return cudaDeviceSynchronize() != cudaSuccess;
}
