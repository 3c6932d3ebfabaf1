/* Registration of a program's kernels and variables, which the code that nvcc generates calls
 * before main, and their launch. Binaries made by nvcc 13 call __cudaGetKernel and
 * __cudaLaunchKernel, older ones cudaLaunchKernel. */
#include "shims/cudart/shim_cudart.h"
#include "code/image.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIGS = 16 };

struct variable {
    const void *host;
    size_t size;
    void *device; /* NULL until the first use allocates it */
    struct variable *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Hash table with open addressing; the key is the host address. */
static struct vg_function **table;
static size_t table_cap, table_count;
static struct variable *variables;

static size_t slot_of(const void *host)
{
    size_t at = ((uintptr_t)host >> 4) * 0x9e3779b97f4a7c15u & (table_cap - 1);
    while (table[at] && table[at]->host != host)
        at = (at + 1) & (table_cap - 1);
    return at;
}

static void table_grow(void)
{
    struct vg_function **old = table;
    size_t old_cap = table_cap;
    table_cap = old_cap ? old_cap * 2 : 256;
    table = calloc(table_cap, sizeof(struct vg_function *));
    if (!table)
        abort(); /* before main, out of memory for a few KB: the program cannot run */
    for (size_t i = 0; i < old_cap; i++)
        if (old[i])
            table[slot_of(old[i]->host)] = old[i];
    free(old);
}

struct vg_function *function_find(const void *host_or_kernel)
{
    struct vg_function *f = NULL;
    pthread_mutex_lock(&lock);
    if (table)
        f = table[slot_of(host_or_kernel)];
    pthread_mutex_unlock(&lock);
    return f ? f : vg_function_of(host_or_kernel);
}

void **__cudaRegisterFatBinary(void *fat);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
char __cudaInitModule(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                            int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                       size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
                              size_t size, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem,
                                     struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *smem, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *host);

/* The handle of a registered binary points to the binary's code. */
void **__cudaRegisterFatBinary(void *fat)
{
    void **handle = malloc(sizeof *handle);
    if (!handle)
        abort(); /* before main, as in table_grow */
    *handle = fat && vg_image_is_fat(fat) ? fat : NULL;
    return handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    free(handle);
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                            int *warp)
{
    (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    pthread_mutex_lock(&lock);
    if (table_count * 2 >= table_cap)
        table_grow();
    size_t at = slot_of(host);
    struct vg_function *f = table[at] ? NULL : vg_function_new(host, name);
    if (f) {
        f->image = *handle;
        table[at] = f;
        table_count++;
    }
    pthread_mutex_unlock(&lock);
}

/* `device` is NULL if the variable is to be allocated at its first use. */
static void variable_add(const void *host, size_t size, void *device)
{
    struct variable *v = calloc(1, sizeof *v);
    if (!v)
        return;
    pthread_mutex_lock(&lock);
    *v = (struct variable){host, size, device, variables};
    variables = v;
    pthread_mutex_unlock(&lock);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                       size_t size, int constant, int global)
{
    (void)handle, (void)device, (void)name, (void)ext, (void)constant, (void)global;
    variable_add(host, size, NULL);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
                              size_t size, int constant, int global)
{
    (void)handle, (void)device, (void)name, (void)ext, (void)constant, (void)global;
    if (vg_malloc_managed(host, size) == VG_OK)
        variable_add(*host, size, *host); /* the program's code reads the variable through *host */
}

/* The device address of a registered variable. It is allocated once, on the device that is current
 * at the first use: the model keeps no copy for each device. */
cudaError_t cudaGetSymbolAddress(void **out, const void *symbol)
{
    OPEN(api, cudaGetSymbolAddress_v3020);
    pthread_mutex_lock(&lock);
    struct variable *v = variables;
    while (v && v->host != symbol)
        v = v->next;
    int result = v ? VG_OK : (int)cudaErrorInvalidSymbol;
    if (v && !v->device)
        result = vg_malloc(vg_current_device(), &v->device, v->size);
    if (result == VG_OK)
        *out = v->device;
    pthread_mutex_unlock(&lock);
    CLOSE(api, result);
}

cudaError_t cudaGetSymbolSize(size_t *out, const void *symbol)
{
    OPEN(api, cudaGetSymbolSize_v3020);
    pthread_mutex_lock(&lock);
    struct variable *v = variables;
    while (v && v->host != symbol)
        v = v->next;
    if (v)
        *out = v->size;
    pthread_mutex_unlock(&lock);
    CLOSE(api, v ? cudaSuccess : cudaErrorInvalidSymbol);
}

struct config {
    dim3 grid, block;
    size_t smem;
    cudaStream_t stream;
};
static _Thread_local struct config configs[CONFIGS];
static _Thread_local unsigned config_count;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem, struct CUstream_st *stream)
{
    if (config_count == CONFIGS)
        return 1;
    configs[config_count++] = (struct config){grid, block, smem, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *smem, void *stream)
{
    if (config_count == 0)
        return cudaErrorMissingConfiguration;
    const struct config *c = &configs[--config_count];
    *grid = c->grid;
    *block = c->block;
    *smem = c->smem;
    *(cudaStream_t *)stream = c->stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *host)
{
    struct vg_function *f = function_find(host);
    *out = (cudaKernel_t)f;
    return f ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t cudaGetKernel(cudaKernel_t *out, const void *host)
{
    return __cudaGetKernel(out, host);
}

ROW(cudaGetFuncBySymbol, v11000, (cudaFunction_t * out, const void *symbol),
    (*out = (cudaFunction_t)function_find(symbol),
     *out ? cudaSuccess : cudaErrorInvalidDeviceFunction))

static cudaError_t launch(struct place at, const void *fun, dim3 grid, dim3 block,
                          void *const *args, size_t smem, cudaStream_t handle)
{
    struct vg_api api;
    struct vg_stream *s;
    struct vg_kernel k;
    int bad = open_on(&api, at, handle, &s);
    if (bad)
        return (cudaError_t)bad;
    struct vg_shape shape = {.grid = {grid.x, grid.y, grid.z},
                             .block = {block.x, block.y, block.z},
                             .smem = smem,
                             .args = args};
    bad = vg_function_kernel(function_find(fun), vg_profile(s->device), &shape, &k);
    if (!bad)
        bad = vg_launch(s, &k, here()->launch_host_ns);
    CLOSE(api, bad);
}

#define LAUNCH_PARAMS                                                                              \
    (const void *fun, dim3 grid, dim3 block, void **args, size_t smem, cudaStream_t stream)

TWIN(cudaLaunchKernel, v7000, _ptsz, v7000, LAUNCH_PARAMS,
     launch(at, fun, grid, block, args, smem, stream))

TWIN(cudaLaunchCooperativeKernel, v9000, _ptsz, v9000, LAUNCH_PARAMS,
     launch(at, fun, grid, block, args, smem, stream))

TWIN(cudaLaunchKernelExC, v11060, _ptsz, v11060,
     (const cudaLaunchConfig_t *c, const void *fun, void **args),
     launch(at, fun, c->gridDim, c->blockDim, args, c->dynamicSmemBytes, c->stream))

cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 grid, dim3 block, void **args, size_t smem,
                               cudaStream_t stream);
TWIN(__cudaLaunchKernel, v13000, _ptsz, v13000,
     (cudaKernel_t k, dim3 grid, dim3 block, void **args, size_t smem, cudaStream_t stream),
     launch(at, k, grid, block, args, smem, stream))

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *fun)
{
    OPEN(api, cudaFuncGetAttributes_v3020);
    struct vg_function *f = function_find(fun);
    if (!f)
        CLOSE(api, cudaErrorInvalidDeviceFunction);
    vg_function_look(f);
    int cc = here()->cc_major * 10 + here()->cc_minor;
    *out = (struct cudaFuncAttributes){.sharedSizeBytes = f->smem_static,
                                       .maxThreadsPerBlock = (int)f->max_threads,
                                       .numRegs = (int)f->registers,
                                       .ptxVersion = f->ptx_arch ? (int)f->ptx_arch : cc,
                                       .binaryVersion = f->binary_arch ? (int)f->binary_arch : cc,
                                       .maxDynamicSharedSizeBytes = (int)f->max_dynamic_smem};
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void *fun, enum cudaFuncAttribute attr, int value)
{
    OPEN(api, cudaFuncSetAttribute_v9000);
    struct vg_function *f = function_find(fun);
    if (!f)
        CLOSE(api, cudaErrorInvalidDeviceFunction);
    if (attr == cudaFuncAttributeMaxDynamicSharedMemorySize)
        f->max_dynamic_smem = (unsigned)value;
    CLOSE(api, cudaSuccess);
}

ROW(cudaFuncSetCacheConfig, v3020, (const void *fun, enum cudaFuncCache config UNUSED),
    function_find(fun) ? cudaSuccess : cudaErrorInvalidDeviceFunction)

cudaError_t cudaFuncGetName(const char **name, const void *fun)
{
    struct vg_function *f = function_find(fun);
    if (f)
        *name = f->name;
    return f ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
