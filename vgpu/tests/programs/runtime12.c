/* A program of CUDA 12 with calls and structs that only its runtime has: 3 copies, 2 memsets. The
 * declarations are those of its headers; calls must not change the memory behind a struct. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { PROPERTIES = 1032, POINTER = 24, MANAGED = 3, BEHIND = 0x5a };
enum { AT_SMS = 388, AT_L2 = 616, AT_COOPERATIVE = 688, AT_CLUSTERS = 772 };

int cudaRuntimeGetVersion(int *version);
int cudaGetDeviceProperties_v2(void *out, int device);
int cudaPointerGetAttributes(void *out, const void *ptr);
int cudaMalloc(void **out, size_t bytes);
int cudaMallocManaged(void **out, size_t bytes, unsigned flags);
int cudaMemPrefetchAsync(const void *ptr, size_t bytes, int device, void *stream);
int cudaMemAdvise(const void *ptr, size_t bytes, int advice, int device);
int cudaMemset(void *ptr, int value, size_t bytes);
int cudaMemcpy(void *dst, const void *src, size_t bytes, int kind);
int cudaGraphCreate(void **out, unsigned flags);
int cudaGraphAddEmptyNode(void **out, void *graph, void *const *deps, size_t n);
int cudaGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t n);
int cudaGraphGetEdges(void *graph, void **from, void **to, size_t *n);
int cudaThreadSynchronize(void);

static int failed(int result, const char *what)
{
    if (result != 0)
        fprintf(stderr, "runtime12: %s: %d\n", what, result);
    return result != 0;
}

static int at(const char *bytes, size_t offset)
{
    int value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

static int structures(void *device)
{
    char p[PROPERTIES + 8], where[POINTER + 8];
    memset(p, BEHIND, sizeof p);
    memset(where, BEHIND, sizeof where);
    int bad = failed(cudaGetDeviceProperties_v2(p, 0), "properties") ||
              failed(cudaPointerGetAttributes(where, device), "pointer");
    return bad || failed(at(p, AT_SMS) != 132, "multiprocessors") ||
           failed(at(p, AT_L2) != 50 << 20, "L2 cache") ||
           failed(at(p, AT_COOPERATIVE) != 1, "cooperative launch") ||
           failed(at(p, AT_CLUSTERS) != 1, "clusters") ||
           failed(p[PROPERTIES] != BEHIND, "behind properties") ||
           failed(where[POINTER] != BEHIND, "behind a pointer's attributes");
}

static int edges(void)
{
    void *graph, *a, *b, *from, *to;
    size_t n = 1;
    return failed(cudaGraphCreate(&graph, 0), "graph") ||
           failed(cudaGraphAddEmptyNode(&a, graph, NULL, 0), "node") ||
           failed(cudaGraphAddEmptyNode(&b, graph, NULL, 0), "node") ||
           failed(cudaGraphAddDependencies(graph, &a, &b, 1), "dependency") ||
           failed(cudaGraphGetEdges(graph, &from, &to, &n), "edges") ||
           failed(n != 1 || from != a || to != b, "the edge");
}

int main(void)
{
    int version = 0;
    char host[256] = {0};
    void *device, *managed;
    if (failed(cudaRuntimeGetVersion(&version), "version") ||
        failed(version / 1000 != 12, "not 12") ||
        failed(cudaMalloc(&device, sizeof host), "cudaMalloc") ||
        failed(cudaMallocManaged(&managed, sizeof host, 1), "cudaMallocManaged") ||
        failed(cudaMemPrefetchAsync(managed, sizeof host, 0, NULL), "prefetch") ||
        failed(cudaMemAdvise(managed, sizeof host, MANAGED, -1), "advise") || structures(device) ||
        edges())
        return 1;
    for (int i = 0; i < 2; i++)
        if (failed(cudaMemset(device, 7, sizeof host), "cudaMemset") ||
            failed(cudaMemcpy(device, host, sizeof host, 1), "cudaMemcpy"))
            return 1;
    return failed(cudaMemcpy(host, device, sizeof host, 2), "cudaMemcpy") ||
           failed(cudaThreadSynchronize(), "cudaThreadSynchronize");
}
