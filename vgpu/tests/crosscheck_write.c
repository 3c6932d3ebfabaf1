/* crosscheck_write FILE: runs a little of everything on the virtual GPU and writes the buffers that
 * its CUPTI delivers to FILE, each after its length. Prints the number of records of each kind. */
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void **__cudaRegisterFatBinary(void *fat);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);

enum { BYTES = 1 << 16, WAITS = 5000 };

static const char kernel;
static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* CUPTI's thread and a flush give buffers back */
static FILE *out;              /* NULL: what comes now is too late */
static int count[64], lent;    /* records by kind; buffers that CUPTI has */

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
    pthread_mutex_lock(&lock);
    lent++;
    pthread_mutex_unlock(&lock);
    *buffer = aligned_alloc(64, BYTES);
    *size = BYTES;
    *max = 0;
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *r = NULL;
    uint64_t length = valid;
    (void)context, (void)stream, (void)size;
    pthread_mutex_lock(&lock);
    lent--;
    if (out) {
        fwrite(&length, sizeof length, 1, out);
        fwrite(buffer, 1, valid, out);
        while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS)
            count[r->kind]++;
    }
    pthread_mutex_unlock(&lock);
    free(buffer);
}

static void run(void)
{
    static void *fat;
    char *device, *peer, host[256];
    cudaStream_t s;
    cudaEvent_t e;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    __cudaRegisterFunction(__cudaRegisterFatBinary(&fat), &kernel, NULL, "_Z4workPf", -1, NULL,
                           NULL, NULL, NULL, NULL);
    cudaMalloc((void **)&device, 4096);
    cudaStreamCreate(&s);
    cudaEventCreate(&e);
    cudaMemset(device, 1, 4096);
    cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, s);
    for (int i = 0; i < 1000; i++)
        cudaLaunchKernel(&kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, s);
    cudaEventRecord(e, s);
    cudaEventSynchronize(e);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaLaunchKernel(&kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, s);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, s);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    cudaGraphLaunch(exec, s);
    cudaSetDevice(1);
    cudaMalloc((void **)&peer, 4096);
    cudaMemcpyPeer(peer, 1, device, 0, 4096);
    cudaDeviceSynchronize();
    cudaSetDevice(0);
    cudaDeviceSynchronize();
    cudaFree(device);
}

int main(int argc, char **argv)
{
    static const CUpti_ActivityKind kinds[] = {
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
        CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER,
        CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,   CUPTI_ACTIVITY_KIND_CUDA_EVENT,
        CUPTI_ACTIVITY_KIND_MEMORY2,           CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
        CUPTI_ACTIVITY_KIND_OVERHEAD,          CUPTI_ACTIVITY_KIND_DEVICE,
        CUPTI_ACTIVITY_KIND_CONTEXT,           CUPTI_ACTIVITY_KIND_STREAM};
    if (argc != 2 || !(out = fopen(argv[1], "wb")))
        return 2;
    setenv("GPUPROF_VGPU", "h200,cupti=13.0,devices=2,driver_records=1", 0);
    cuptiActivityRegisterCallbacks(request, complete);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (cuptiActivityEnableAndDump(kinds[i]) != CUPTI_SUCCESS)
            return 3;
    cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 42);
    run();
    cuptiActivityFlushAll(0);
    pthread_mutex_lock(&lock);
    for (int i = 0; lent && i < WAITS; i++) { /* CUPTI's thread may be about to give one back */
        pthread_mutex_unlock(&lock);
        usleep(1000);
        pthread_mutex_lock(&lock);
    }
    for (int k = 0; k < 64; k++)
        if (count[k])
            printf("%d %d\n", k, count[k]);
    int bad = fclose(out);
    out = NULL;
    pthread_mutex_unlock(&lock);
    return bad ? 4 : 0;
}
