/* The runtime that runtime11.c has linked in: the functions that it calls. Each fails unless it is
 * replaced. Two more functions mark this as a runtime, and as that of CUDA 11. */
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
