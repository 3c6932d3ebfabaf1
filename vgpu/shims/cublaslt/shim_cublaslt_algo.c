/* cuBLASLt's calls by which a program chooses an algorithm itself. There are three: the first needs
 * a workspace, the later ones are slower. The first word of a cublasLtMatmulAlgo_t is the
 * algorithm's rank; the words behind it store what the program configured, which does not change
 * the model. */
#include "shims/cublaslt/shim_cublaslt.h"

#include <string.h>

enum { SETTINGS = 14 };

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t h, cublasComputeType_t compute,
                                        cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                        cudaDataType_t c, cudaDataType_t d, int wanted, int ids[],
                                        int *returned)
{
    (void)compute, (void)scale, (void)a, (void)b, (void)c, (void)d;
    if (!h || wanted <= 0 || !ids || !returned)
        return h ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;
    for (*returned = 0; *returned < ALGORITHMS && *returned < wanted; ++*returned)
        ids[*returned] = *returned;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t h, cublasComputeType_t compute,
                                      cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                      cudaDataType_t c, cudaDataType_t d, int id,
                                      cublasLtMatmulAlgo_t *algo)
{
    (void)compute, (void)scale, (void)a, (void)b, (void)c, (void)d;
    if (!h || !algo || id < 0 || id >= ALGORITHMS)
        return h ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;
    *algo = (cublasLtMatmulAlgo_t){.data = {(uint64_t)id}};
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t give(void *to, size_t room, const void *value, size_t size, size_t *written)
{
    if (written)
        *written = size;
    if (room == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!to || room < size)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

/* Each algorithm offers one tile size, one number of stages and no other choice. */
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                 cublasLtMatmulAlgoCapAttributes_t key, void *to,
                                                 size_t room, size_t *written)
{
    uint32_t value = key == CUBLASLT_ALGO_CAP_TILE_IDS     ? CUBLASLT_MATMUL_TILE_128x128
                     : key == CUBLASLT_ALGO_CAP_STAGES_IDS ? CUBLASLT_MATMUL_STAGES_32x5
                                                           : 0;
    return algo ? give(to, room, &value, sizeof value, written) : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t key,
                                                    const void *value, size_t size)
{
    if (!algo || !value || size == 0 || size > 4 || (unsigned)key >= SETTINGS)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (key == CUBLASLT_ALGO_CONFIG_ID)
        return CUBLAS_STATUS_NOT_SUPPORTED; /* the id may only be read */
    memcpy((char *)&algo->data[1] + 4 * key, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t key,
                                                    void *to, size_t room, size_t *written)
{
    if (!algo || (unsigned)key >= SETTINGS)
        return CUBLAS_STATUS_INVALID_VALUE;
    uint32_t id = (uint32_t)algo->data[0];
    size_t size = key >= CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID ? 2 : 4;
    return give(to, room,
                key == CUBLASLT_ALGO_CONFIG_ID ? (const void *)&id
                                               : (const char *)&algo->data[1] + 4 * key,
                size, written);
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t h, cublasLtMatmulDesc_t desc,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *algo,
                                       cublasLtMatmulHeuristicResult_t *result)
{
    cublasLtMatmulHeuristicResult_t first;
    int n = 0;
    if (!algo || !result || algo->data[0] >= ALGORITHMS)
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(h, desc, a, b, c, d, NULL, 1, &first, &n);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    *result = (cublasLtMatmulHeuristicResult_t){.algo = *algo,
                                                .workspaceSize = algo->data[0] == 0 ? WORKSPACE : 0,
                                                .state = CUBLAS_STATUS_SUCCESS,
                                                .wavesCount = 1};
    return CUBLAS_STATUS_SUCCESS;
}
