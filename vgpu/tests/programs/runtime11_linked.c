/* The functions that runtime11.c calls, as the runtime that it has linked in: each fails unless it
 * is replaced. Two that it does not call say that this is a runtime, and CUDA 11's. */
enum { NOT_REPLACED = 999 };

#define OF_THE_RUNTIME(name)                                                                       \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return NOT_REPLACED;                                                                       \
    }
OF_THE_RUNTIME(cudaBindTexture)
OF_THE_RUNTIME(cudaGetExportTable)
OF_THE_RUNTIME(__cudaRegisterFatBinary)
OF_THE_RUNTIME(cudaRuntimeGetVersion)
OF_THE_RUNTIME(cudaGetDeviceProperties)
OF_THE_RUNTIME(cudaFuncGetAttributes)
OF_THE_RUNTIME(__cudaRegisterFunction)
OF_THE_RUNTIME(cudaMalloc)
OF_THE_RUNTIME(cudaMemset)
OF_THE_RUNTIME(cudaMemcpy)
OF_THE_RUNTIME(cudaGraphCreate)
OF_THE_RUNTIME(cudaGraphAddEmptyNode)
OF_THE_RUNTIME(cudaGraphInstantiate)
OF_THE_RUNTIME(cudaGraphExecUpdate)
