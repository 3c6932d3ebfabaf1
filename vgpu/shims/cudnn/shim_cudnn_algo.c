/* Choosing a convolution algorithm: the library's guess (Get..._v7), the search that runs every
 * algorithm on the device (Find..., Find...Ex), and the size of their workspaces. The calls of the
 * three passes differ only in their names and in the order of their arguments. */
#include "shims/cudnn/shim_cudnn.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

struct search {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    enum vg_pass pass;
};

struct result {
    struct conv_plan plan;
    float time_ms;
};

static int rank(const struct result *r)
{
    return r->plan.status == CUDNN_STATUS_SUCCESS ? 0 : 1;
}

static int by_guess(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    if (rank(x) != rank(y))
        return rank(x) - rank(y);
    if (x->plan.heuristic != y->plan.heuristic)
        return x->plan.heuristic ? -1 : 1;
    return (x->plan.duration_ns > y->plan.duration_ns) -
           (x->plan.duration_ns < y->plan.duration_ns);
}

static int by_time(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    if (rank(x) != rank(y))
        return rank(x) - rank(y);
    return (x->time_ms > y->time_ms) - (x->time_ms < y->time_ms);
}

static cudnnStatus_t all_plans(const struct search *s, struct result out[CONV_MAX_ALGOS], int *n)
{
    struct conv_problem problem;
    cudnnStatus_t status = conv_problem_make(s->handle, s->x, s->w, s->conv, s->y, &problem);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    *n = conv_algo_count(s->pass);
    for (int i = 0; i < *n; i++) {
        conv_plan_make(cudnn_profile(s->handle), &problem, s->pass, i, &out[i].plan);
        out[i].time_ms = -1; /* the library's value for "not measured" */
    }
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t guess(const struct search *s, struct result out[CONV_MAX_ALGOS], int *n)
{
    cudnnStatus_t status = all_plans(s, out, n);
    if (status == CUDNN_STATUS_SUCCESS)
        qsort(out, (size_t)*n, sizeof out[0], by_guess);
    return status;
}

/* Runs each algorithm whose workspace fits and waits for it, as the library does. The library's
 * clock starts before it computes what to launch, so that host time counts as well: on a fast
 * device an algorithm with less to compute can win over one with a faster kernel (recorded on an
 * H200). */
static cudnnStatus_t try_all(const struct search *s, size_t limit,
                             struct result out[CONV_MAX_ALGOS], int *n)
{
    cudnnStatus_t status = all_plans(s, out, n);
    for (int i = 0; i < *n && status == CUDNN_STATUS_SUCCESS; i++) {
        struct conv_plan *plan = &out[i].plan;
        if (plan->status == CUDNN_STATUS_SUCCESS && plan->workspace > limit)
            plan->status = CUDNN_STATUS_ALLOC_FAILED;
        if (plan->status != CUDNN_STATUS_SUCCESS)
            continue;
        status = conv_plan_run(s->handle, plan);
        if (vg_library_sync((struct vg_stream *)s->handle->stream) != 0)
            status = CUDNN_STATUS_EXECUTION_FAILED_CUDART;
        double device = (double)(plan->duration_ns - plan->untried_ns);
        out[i].time_ms = (float)((plan->host_ns + device) * vg_noise() / 1e6);
    }
    if (status == CUDNN_STATUS_SUCCESS)
        qsort(out, (size_t)*n, sizeof out[0], by_time);
    return status;
}

/* If the caller gives no workspace, the library allocates one that is large enough for every
 * algorithm. */
static cudnnStatus_t try_with_own_workspace(const struct search *s,
                                            struct result out[CONV_MAX_ALGOS], int *n)
{
    size_t most = 0;
    void *workspace = NULL;
    cudnnStatus_t status = all_plans(s, out, n);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    for (int i = 0; i < *n; i++)
        if (out[i].plan.status == CUDNN_STATUS_SUCCESS && out[i].plan.workspace > most)
            most = out[i].plan.workspace;
    if (most > 0 && vg_library_malloc(&workspace, most) != 0)
        most = 0;
    status = try_all(s, most, out, n);
    if (workspace)
        vg_library_free(workspace);
    return status;
}

static cudnnStatus_t workspace_size(const struct search *s, int algo, size_t *size)
{
    struct conv_problem problem;
    struct conv_plan plan;
    cudnnStatus_t status = conv_problem_make(s->handle, s->x, s->w, s->conv, s->y, &problem);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    conv_plan_make(cudnn_profile(s->handle), &problem, s->pass, algo, &plan);
    if (plan.status == CUDNN_STATUS_SUCCESS)
        *size = plan.workspace;
    return plan.status;
}

/* The result structs of the three passes have the same layout, with different names of fields. */
typedef cudnnConvolutionFwdAlgoPerf_t perf_any;
static_assert(sizeof(perf_any) == sizeof(cudnnConvolutionBwdDataAlgoPerf_t) &&
                  sizeof(perf_any) == sizeof(cudnnConvolutionBwdFilterAlgoPerf_t) &&
                  offsetof(perf_any, mathType) ==
                      offsetof(cudnnConvolutionBwdDataAlgoPerf_t, mathType) &&
                  offsetof(perf_any, mathType) ==
                      offsetof(cudnnConvolutionBwdFilterAlgoPerf_t, mathType),
              "one layout for all three passes");

enum { OWN_WORKSPACE = 1, GUESS = 2 };

static cudnnStatus_t search(const struct search *s, int how, size_t limit, int wanted,
                            int *returned, void *perf)
{
    struct result r[CONV_MAX_ALGOS];
    perf_any *out = perf;
    int n = 0;
    NEED(s->handle && returned && perf && wanted > 0);
    cudnnStatus_t status = how == GUESS           ? guess(s, r, &n)
                           : how == OWN_WORKSPACE ? try_with_own_workspace(s, r, &n)
                                                  : try_all(s, limit, r, &n);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    *returned = n < wanted ? n : wanted;
    for (int i = 0; i < *returned; i++)
        out[i] = (perf_any){.algo = (cudnnConvolutionFwdAlgo_t)r[i].plan.algo,
                            .status = r[i].plan.status,
                            .time = r[i].time_ms,
                            .memory = r[i].plan.workspace,
                            .determinism = r[i].plan.deterministic ? CUDNN_DETERMINISTIC
                                                                   : CUDNN_NON_DETERMINISTIC,
                            .mathType = r[i].plan.math};
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t max_count(cudnnHandle_t handle, enum vg_pass pass, int *count)
{
    NEED(handle && count);
    *count = conv_algo_count(pass);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t handle, int *count)
{
    return max_count(handle, VG_FWD, count);
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y, const int wanted,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *perf)
{
    struct search s = {handle, x, y, w, conv, VG_FWD};
    return search(&s, GUESS, 0, wanted, returned, perf);
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y, const int wanted,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *perf)
{
    struct search s = {handle, x, y, w, conv, VG_FWD};
    return search(&s, OWN_WORKSPACE, 0, wanted, returned, perf);
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const void *data1,
    const cudnnFilterDescriptor_t w, const void *data2, const cudnnConvolutionDescriptor_t conv,
    const cudnnTensorDescriptor_t y, void *data3, const int wanted, int *returned,
    cudnnConvolutionFwdAlgoPerf_t *perf, void *workspace, size_t bytes)
{
    struct search s = {handle, x, y, w, conv, VG_FWD};
    NEED(data1 && data2 && data3);
    return search(&s, 0, workspace ? bytes : 0, wanted, returned, perf);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle,
                                                      const cudnnTensorDescriptor_t x,
                                                      const cudnnFilterDescriptor_t w,
                                                      const cudnnConvolutionDescriptor_t conv,
                                                      const cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algo, size_t *size)
{
    struct search s = {handle, x, y, w, conv, VG_FWD};
    NEED(handle && size);
    return workspace_size(&s, (int)algo, size);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithmMaxCount(cudnnHandle_t handle, int *count)
{
    return max_count(handle, VG_DGRAD, count);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t x, const int wanted,
    int *returned, cudnnConvolutionBwdDataAlgoPerf_t *perf)
{
    struct search s = {handle, x, y, w, conv, VG_DGRAD};
    return search(&s, GUESS, 0, wanted, returned, perf);
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t x, const int wanted,
    int *returned, cudnnConvolutionBwdDataAlgoPerf_t *perf)
{
    struct search s = {handle, x, y, w, conv, VG_DGRAD};
    return search(&s, OWN_WORKSPACE, 0, wanted, returned, perf);
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const void *data1,
    const cudnnTensorDescriptor_t y, const void *data2, const cudnnConvolutionDescriptor_t conv,
    const cudnnTensorDescriptor_t x, void *data3, const int wanted, int *returned,
    cudnnConvolutionBwdDataAlgoPerf_t *perf, void *workspace, size_t bytes)
{
    struct search s = {handle, x, y, w, conv, VG_DGRAD};
    NEED(data1 && data2 && data3);
    return search(&s, 0, workspace ? bytes : 0, wanted, returned, perf);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t x,
    cudnnConvolutionBwdDataAlgo_t algo, size_t *size)
{
    struct search s = {handle, x, y, w, conv, VG_DGRAD};
    NEED(handle && size);
    return workspace_size(&s, (int)algo, size);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(cudnnHandle_t handle, int *count)
{
    return max_count(handle, VG_WGRAD, count);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t w, const int wanted,
    int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *perf)
{
    struct search s = {handle, x, y, w, conv, VG_WGRAD};
    return search(&s, GUESS, 0, wanted, returned, perf);
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t w, const int wanted,
    int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *perf)
{
    struct search s = {handle, x, y, w, conv, VG_WGRAD};
    return search(&s, OWN_WORKSPACE, 0, wanted, returned, perf);
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const void *data1,
    const cudnnTensorDescriptor_t y, const void *data2, const cudnnConvolutionDescriptor_t conv,
    const cudnnFilterDescriptor_t w, void *data3, const int wanted, int *returned,
    cudnnConvolutionBwdFilterAlgoPerf_t *perf, void *workspace, size_t bytes)
{
    struct search s = {handle, x, y, w, conv, VG_WGRAD};
    NEED(data1 && data2 && data3);
    return search(&s, 0, workspace ? bytes : 0, wanted, returned, perf);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t w,
    cudnnConvolutionBwdFilterAlgo_t algo, size_t *size)
{
    struct search s = {handle, x, y, w, conv, VG_WGRAD};
    NEED(handle && size);
    return workspace_size(&s, (int)algo, size);
}
