/* A program with the runtime of CUDA 11 linked in, which its calls and structs show: 3 copies, 2
 * memsets. runtime11_linked.c stands for that runtime. The declarations are those of its headers;
 * calls must not change the memory behind a struct. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { PROPERTIES = 728, FUNCTION = 56, BEHIND = 0x5a, AT_SMS = 388, AT_L2 = 616 };
enum { UPDATED = 0, UNCHANGED = 7 };

int cudaRuntimeGetVersion(int *version);
int cudaGetDeviceProperties(void *out, int device);
int cudaFuncGetAttributes(void *out, const void *function);
int __cudaRegisterFunction(void **code, const void *host, char *device, const char *name, int limit,
                           void *tid, void *bid, void *block, void *grid, int *warp);
int cudaMalloc(void **out, size_t bytes);
int cudaMemset(void *ptr, int value, size_t bytes);
int cudaMemcpy(void *dst, const void *src, size_t bytes, int kind);
int cudaGraphCreate(void **out, unsigned flags);
int cudaGraphAddEmptyNode(void **out, void *graph, void *const *deps, size_t n);
int cudaGraphInstantiate(void **exec, void *graph, void **failed, char *log, size_t n);
int cudaGraphExecUpdate(void *exec, void *graph, void **failed, int *how);
void **__cudaRegisterFatBinary(void *code);

static int failed(int error, const char *what)
{
    if (error != 0)
        fprintf(stderr, "runtime11: %s: %d\n", what, error);
    return error != 0;
}

static int at(const char *bytes, size_t offset)
{
    int value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

static int structures(void)
{
    static const unsigned long long nothing[8];
    static struct {
        int magic, version;
        const void *data, *more;
    } wrapper = {0x466243b1, 1, nothing, NULL};
    char p[PROPERTIES + 8], f[FUNCTION + 8];
    memset(p, BEHIND, sizeof p);
    memset(f, BEHIND, sizeof f);
    char name[] = "function";
    __cudaRegisterFunction(__cudaRegisterFatBinary(&wrapper), name, name, name, -1, NULL, NULL,
                           NULL, NULL, NULL);
    return failed(cudaFuncGetAttributes(f, name), "a function's attributes") ||
           failed(cudaGetDeviceProperties(p, 0), "properties") ||
           failed(at(p, AT_SMS) != 132, "multiprocessors") ||
           failed(at(p, AT_L2) != 50 << 20, "L2 cache") ||
           failed(p[PROPERTIES] != BEHIND, "behind properties") ||
           failed(f[FUNCTION] != BEHIND, "behind a function's attributes");
}

static int graphs(void)
{
    void *graph, *node, *exec, *bad = &graph;
    char log[8] = "unread";
    int how = UNCHANGED;
    return failed(cudaGraphCreate(&graph, 0), "graph") ||
           failed(cudaGraphAddEmptyNode(&node, graph, NULL, 0), "node") ||
           failed(cudaGraphInstantiate(&exec, graph, &bad, log, sizeof log), "instantiation") ||
           failed(bad || *log, "the instantiation's errors") ||
           failed(cudaGraphExecUpdate(exec, graph, &bad, &how), "update") ||
           failed(bad || how != UPDATED, "the update's errors");
}

int main(void)
{
    int version = 0;
    char host[256] = {0};
    void *device = NULL;
    if (failed(cudaRuntimeGetVersion(&version), "version") ||
        failed(version / 1000 != 11, "not 11") ||
        failed(cudaMalloc(&device, sizeof host), "cudaMalloc") || structures() || graphs())
        return 1;
    for (int i = 0; i < 2; i++)
        if (failed(cudaMemset(device, 7, sizeof host), "cudaMemset") ||
            failed(cudaMemcpy(device, host, sizeof host, 1), "cudaMemcpy"))
            return 1;
    return failed(cudaMemcpy(host, device, sizeof host, 2), "cudaMemcpy");
}
