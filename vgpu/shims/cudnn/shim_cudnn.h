/* Shared inside the cuDNN shim: what its descriptors hold, and helpers that all its files use. The
 * shim offers the legacy API that a trainer of convolutional networks needs. Each call checks its
 * arguments as the library does and launches the kernels that the library would launch; it computes
 * nothing. Only 2-d convolutions work: descriptors with three spatial dimensions get NOT_SUPPORTED
 * when they are used. */
#ifndef VGPU_SHIM_CUDNN_H
#define VGPU_SHIM_CUDNN_H

#include "cost/names.h"

#include <cudnn.h>

struct cudnnContext {
    cudaStream_t stream;
    int device;
};

struct cudnnTensorStruct {
    bool set;
    cudnnDataType_t type;
    int nd, dim[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX];
};

struct cudnnFilterStruct {
    bool set;
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int nd, dim[CUDNN_DIM_MAX];
};

struct cudnnConvolutionStruct {
    bool set;
    int nd; /* number of spatial dimensions */
    int pad[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX], dilation[CUDNN_DIM_MAX];
    cudnnConvolutionMode_t mode;
    cudnnDataType_t compute;
    cudnnMathType_t math;
    cudnnReorderType_t reorder;
    int groups;
};

struct cudnnActivationStruct {
    bool set;
    cudnnActivationMode_t mode;
    cudnnNanPropagation_t nan;
    double coef, swish_beta;
};

struct cudnnPoolingStruct {
    bool set;
    cudnnPoolingMode_t mode;
    cudnnNanPropagation_t nan;
    int nd, window[CUDNN_DIM_MAX], pad[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX];
};

struct cudnnOpTensorStruct {
    bool set;
    cudnnOpTensorOp_t op;
    cudnnDataType_t compute;
    cudnnNanPropagation_t nan;
};

struct cudnnDropoutStruct {
    bool set;
    float rate;
    void *states;
    unsigned long long seed;
};

/* The argument check in the first line of most functions: returns BAD_PARAM for a NULL or unset
 * argument. */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return CUDNN_STATUS_BAD_PARAM;                                                         \
    } while (0)

const struct vg_profile *cudnn_profile(cudnnHandle_t h);
enum vg_dtype cudnn_dtype(cudnnDataType_t t); /* the type of the stored data: FLOAT is VG_F32 */
size_t cudnn_type_bytes(cudnnDataType_t t);
int64_t tensor_elements(cudnnTensorDescriptor_t t);
double tensor_bytes(cudnnTensorDescriptor_t t);
enum vg_layout tensor_layout(cudnnTensorDescriptor_t t);
bool tensor_same_shape(cudnnTensorDescriptor_t a, cudnnTensorDescriptor_t b);
int convolved_size(int in, int pad, int window, int stride, int dilation);

/* Launch a kernel on the handle's stream. cudnn_launch_flat starts one block for every `per_block`
 * elements. */
cudnnStatus_t cudnn_launch(cudnnHandle_t h, const struct vg_kernel *k);
cudnnStatus_t cudnn_launch_flat(cudnnHandle_t h, const char *name, int64_t elements, int per_block,
                                int64_t duration_ns);

/* A kernel's name for each type of its data. A NULL entry: the same name as for f32. */
struct typed_name {
    const char *f32, *f16, *bf16;
};
const char *typed_name(const struct typed_name *n, cudnnDataType_t t);

/* ---- convolution: shim_cudnn_plan.c makes plans, _conv.c runs them, _algo.c searches among them
 * ---- */

struct conv_problem {
    struct vg_conv conv; /* its `type` is the type in which the multiplications are done */
    cudnnDataType_t data;
    bool tensor; /* the device has tensor cores, the type fits them and the caller allows them */
    cudnnMathType_t math;
    bool graph; /* asked through the graph interface, where the library's guess runs untested */
};

enum { CONV_MAX_KERNELS = 6, CONV_MAX_ALGOS = 8 };

struct conv_plan {
    int algo; /* its number in the enumeration of its pass */
    cudnnStatus_t status;
    size_t workspace;
    bool deterministic, tensor;
    cudnnMathType_t math;
    int kernels;
    struct vg_kernel kernel[CONV_MAX_KERNELS];
    int64_t duration_ns; /* sum over the kernels */
    int64_t untried_ns;  /* the part of duration_ns that a search does not measure */
    double host_ns;      /* what the library computes on the host before it launches */
    bool heuristic;      /* the library picks this algorithm if it does not search */
};

cudnnStatus_t conv_problem_make(cudnnHandle_t h, cudnnTensorDescriptor_t x,
                                cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t c,
                                cudnnTensorDescriptor_t y, struct conv_problem *out);
/* Sets conv.type and `tensor` from the type of the data and the math mode. */
void conv_choose_arithmetic(const struct vg_profile *p, struct conv_problem *c);
int conv_algo_count(enum vg_pass pass);
/* Makes the plan of algorithm `algo`. out->status says whether that algorithm supports the
 * problem. */
void conv_plan_make(const struct vg_profile *p, const struct conv_problem *c, enum vg_pass pass,
                    int algo, struct conv_plan *out);
/* Append a kernel to a plan: conv_plan_flat a pass over memory, conv_plan_product the kernel that
 * multiplies. */
void conv_plan_flat(struct conv_plan *plan, const char *name, double bytes, double ns);
void conv_plan_product(struct conv_plan *plan, const struct vg_conv *c, enum vg_pass pass,
                       const char *name, double ns);
/* The next two are in shim_cudnn_direct.c. */
void conv_plan_direct(const struct vg_profile *p, const struct conv_problem *q, enum vg_pass pass,
                      struct conv_plan *plan);
void conv_plan_fp32_tiles(const struct vg_profile *p, const struct conv_problem *q,
                          enum vg_pass pass, struct conv_plan *plan);
cudnnStatus_t conv_plan_run(cudnnHandle_t h, const struct conv_plan *plan);

#endif
