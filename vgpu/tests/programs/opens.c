/* opens LIBRARY: calls the library's work function if it has one (work.cu); otherwise uses it as
 * CUDA's runtime: 3 copies, 2 memsets. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>

static void *function(void *library, const char *name)
{
    void *f = dlsym(library, name);
    if (!f)
        fprintf(stderr, "opens: %s\n", dlerror());
    return f;
}

static int use_runtime(void *library)
{
    float host[256] = {0};
    void *device;
    cudaError_t (*alloc)(void **, size_t), (*release)(void *), (*set)(void *, int, size_t);
    cudaError_t (*copy)(void *, const void *, size_t, enum cudaMemcpyKind);
    *(void **)&alloc = function(library, "cudaMalloc");
    *(void **)&release = function(library, "cudaFree");
    *(void **)&set = function(library, "cudaMemset");
    *(void **)&copy = function(library, "cudaMemcpy");
    if (!alloc || !release || !set || !copy || alloc(&device, sizeof host) != cudaSuccess)
        return 1;
    for (int i = 0; i < 2; i++)
        set(device, 0, sizeof host);
    for (int i = 0; i < 2; i++)
        copy(device, host, sizeof host, cudaMemcpyHostToDevice);
    cudaError_t bad = copy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    release(device);
    return bad != cudaSuccess;
}

int main(int argc, char **argv)
{
    void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "opens: %s\n", dlerror());
        return 2;
    }
    int (*work)(void);
    *(void **)&work = dlsym(library, "work");
    return work ? work() : use_runtime(library);
}
