// Waits for the GPU in C++: in a method, in what a header of CUDA inlines, in a lambda, in a
// library's function, on the stack of a coroutine, of which the kernel knows nothing. Each line is
// marked with its name; waits.py looks them up.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <ucontext.h>

#define BEHIND asm volatile("") // what is left by a jump is on no stack

static const size_t big = 1 << 30, batch = 32 << 20;
static char *device, *host;
static ucontext_t outside, inside;
__device__ char table[batch];

extern "C" void library_wait(void);

static void work()
{
    for (int i = 0; i < 4; i++)
        cudaMemsetAsync(device, i, big);
}

namespace net
{
struct trainer {
    __attribute__((noinline)) void step()
    {
        work();
        cudaStreamSynchronize(0); // wait: method
        BEHIND;
    }
};
} // namespace net

__attribute__((noinline)) static void read_table()
{
    cudaMemcpyFromSymbol(host, table, batch); // wait: header
    BEHIND;
}

template <class F> __attribute__((noinline)) static void call(F f)
{
    work();
    f();
    BEHIND;
}

static void coroutine()
{
    for (;;) {
        work();
        cudaDeviceSynchronize(); // wait: coroutine
        swapcontext(&inside, &outside);
    }
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 20;
    static char stack[64 << 10];
    host = (char *)malloc(batch);
    if (!host || cudaMalloc(&device, big) != cudaSuccess)
        return 1;
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    makecontext(&inside, coroutine, 0);
    for (int i = 0; i < steps; i++) {
        net::trainer().step();
        read_table();
        call([] {
            cudaStreamSynchronize(0); // wait: lambda
        });
        work();
        library_wait();
        swapcontext(&outside, &inside);
    }
    printf("%d steps\n", steps);
    return 7;
}
