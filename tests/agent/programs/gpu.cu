// A GPU program of known size for tests/agent/cupti.sh: gpu [STEPS [ENDING [PAUSE_MS [AHEAD]]]].
// Each step is one copy, 20 kernels, one memset, one synchronisation, inside an NVTX range. The
// middle third of them runs under another CUPTI client if GPUPROF_TEST_PEER names one (peer.c);
// AHEAD kernels are in flight when it begins.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

template <int N> __global__ void fill(float *p)
{
    p[blockIdx.x * blockDim.x + threadIdx.x] = N;
}

static void step(float *device, float *host, cudaStream_t stream)
{
    nvtxRangePushA("step");
    cudaMemcpyAsync(device, host, 1 << 20, cudaMemcpyHostToDevice, stream);
    for (int i = 0; i < 10; i++) {
        fill<1><<<64, 256, 0, stream>>>(device);
        fill<2><<<64, 128, 0, stream>>>(device);
    }
    cudaMemsetAsync(device, 0, 1 << 20, stream);
    cudaStreamSynchronize(stream);
    nvtxRangePop();
}

static void peer(const char *what)
{
    const char *path = getenv("GPUPROF_TEST_PEER");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    void (*call)() = lib ? (void (*)())dlsym(lib, what) : nullptr;
    if (call)
        call();
}

// The last kernel's name is new, and gone a moment later. Each way out ends up with `echo replaced`.
static int become(const char *how, float *device)
{
    char name[] = "echo", word[] = "replaced", path[] = "/bin/echo";
    char *const words[] = {name, word, nullptr};
    fill<4><<<1, 1>>>(device);
    cudaDeviceSynchronize();
    execl("/no/such/program", name, nullptr); // and goes on
    if (!strcmp(how, "execl"))
        return execl(path, name, word, nullptr);
    if (!strcmp(how, "execle"))
        return execle(path, name, word, nullptr, environ);
    if (!strcmp(how, "execlp"))
        return execlp(name, name, word, nullptr);
    if (!strcmp(how, "execv"))
        return execv(path, words);
    if (!strcmp(how, "execvp"))
        return execvp(name, words);
    if (!strcmp(how, "execvpe"))
        return execvpe(name, words, environ);
    if (!strcmp(how, "fexecve"))
        return fexecve(open(path, O_RDONLY | O_CLOEXEC), words, environ);
    return execve(path, words, environ);
}

static void *launch(void *device)
{
    fill<1><<<1, 32>>>((float *)device);
    return nullptr;
}

// One after the other, each with a launch.
static void churn(int threads, float *device)
{
    for (int i = 0; i < threads; i++) {
        pthread_t t;
        if (pthread_create(&t, nullptr, launch, device) == 0)
            pthread_join(t, nullptr);
    }
    cudaDeviceSynchronize();
}

static void *launch_on(void *device)
{
    for (int i = 0; i < 1000; i++) {
        launch(device);
        usleep(1000);
    }
    return nullptr;
}

// At the same time, each with a launch a millisecond for a second or more.
static void stay(int threads, float *device)
{
    pthread_t t[16];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&t[i], nullptr, launch_on, device) != 0)
            exit(2);
    for (int i = 0; i < threads; i++)
        pthread_join(t[i], nullptr);
    cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 10;
    const char *ending = argc > 2 ? argv[2] : "return";
    int pause_ms = argc > 3 ? atoi(argv[3]) : 0, ahead = argc > 4 ? atoi(argv[4]) : 0;
    float *device = nullptr, *host = nullptr;
    cudaStream_t stream;
    if (cudaMalloc(&device, 1 << 20) || cudaMallocHost(&host, 1 << 20) ||
        cudaStreamCreate(&stream)) {
        fprintf(stderr, "no device\n");
        return 3;
    }
    for (int i = 0; i < steps; i++) {
        if (i == steps / 3) {
            for (int k = 0; k < ahead; k++) // of some ms each, still running then
                fill<3><<<1 << 24, 256, 0, stream>>>(device);
            peer("peer_begin");
        }
        if (i == steps * 2 / 3)
            peer("peer_end");
        step(device, host, stream);
        usleep(1000 * pause_ms);
    }
    peer("peer_report");
    printf("%d steps\n", steps);
    fflush(stdout);
    if (!strcmp(ending, "fork")) {
        if (fork() == 0) {
            nvtxRangePushA("child");
            nvtxRangePop();
            exit(4);
        }
        int status;
        wait(&status);
        printf("child %d\n", WEXITSTATUS(status));
    }
    if (!strcmp(ending, "churn"))
        churn(3000, device);
    if (!strcmp(ending, "stay"))
        stay(8, device);
    if (!strcmp(ending, "_exit"))
        _exit(0);
    if (!strncmp(ending, "exec", 4) || !strcmp(ending, "fexecve"))
        return become(ending, device);
    if (!strcmp(ending, "kill"))
        raise(SIGKILL);
    return 0;
}
