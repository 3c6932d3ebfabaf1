/* A ResNet (18 to 152 layers) for cuDNN: what its layers are, and where everything lies.
 *
 * All device memory is one arena, one cudaMalloc: parameters, gradients, momentum, activations,
 * scratch. Activations of every layer are kept for the backward pass; the gradients of activations
 * live in three scratch buffers that the blocks hand round (layers.c).
 *
 * A `unit` is convolution -> (bias) -> batch normalisation -> (ReLU). A `block` is two or three
 * units and a shortcut; its output is ReLU(last unit + shortcut). Shapes are (n, channels, h, w) in
 * words, whatever the layout in memory.
 */
#ifndef CONV_MODEL_H
#define CONV_MODEL_H

#include "reference_workloads/common/check.h"
#include "reference_workloads/conv/config.h"
#include "reference_workloads/conv/kernels.h"

#include <stddef.h>

enum { MAX_UNITS = 160, MAX_BLOCKS = 52, MAX_TENSORS = 4 * MAX_UNITS + 2 };

/* Parameters come in two groups, because their gradients differ in type. Tensors of a group lie one
 * behind the other, each at a multiple of 64 elements, so that a group is also one long vector. */
struct group {
    enum dtype type; /* of gradients, and of the working copy */
    size_t count;    /* elements, padding included */
    float *master;   /* (count) what the optimizer updates */
    float *momentum; /* (count) */
    void *gradient;  /* (count) type */
    void *working;   /* (count) type: what cuDNN reads; NULL when that is master */
};
enum group_id { GROUP_WEIGHTS, GROUP_SCALARS, GROUP_COUNT };

struct tensor {
    enum group_id group;
    size_t offset, count; /* elements */
    float deviation;      /* of the initial values; 0: all are `value` */
    float value;
};

struct algorithm {
    int id; /* cudnnConvolution{Fwd,BwdData,BwdFilter}Algo_t */
    cudnnMathType_t math;
};
enum pass { PASS_FORWARD, PASS_DATA, PASS_FILTER, PASS_COUNT };

struct unit {
    char name[40]; /* "conv2_1.conv1" */
    int c, h, w;   /* of the input x */
    int k, p, q;   /* of the output */
    int size, stride, pad, relu;
    int weight, bias, gamma, beta;          /* tensors; bias -1: none */
    void *x;                                /* (n, c, h, w) T: another unit's out */
    void *conv_out;                         /* (n, k, p, q) T: kept for the backward pass */
    void *out;                              /* (n, k, p, q) T */
    float *saved_mean, *saved_inverse;      /* (k) of this step's batch */
    float *running_mean, *running_variance; /* (k) */
    void *reserve;                          /* the extended normalisation's, forward to backward */
    size_t reserve_bytes;
    cudnnTensorDescriptor_t x_desc, y_desc, norm_desc, bias_desc;
    cudnnFilterDescriptor_t w_desc;
    cudnnConvolutionDescriptor_t conv[PASS_COUNT];
    struct algorithm algorithm[PASS_COUNT];
};

struct block {
    struct unit *unit[3], *shortcut; /* shortcut NULL: the input itself */
    int units;
};

struct model {
    const struct config *config;
    enum dtype type;
    cudnnDataType_t cudnn_type;
    cudnnTensorFormat_t format;
    cudnnBatchNormMode_t norm_mode;
    int norm_extended;      /* by the calls with workspace and reserve (norm.c) */
    int own_norm, own_pool; /* cuDNN declined, or --own-layers */
    cudnnHandle_t cudnn;
    cublasHandle_t cublas;
    cudaStream_t stream;
    int evaluating;      /* forward passes are for the loss alone, which goes to eval_losses */
    int accumulate;      /* parameter gradients are added to what is there */
    int casts_elsewhere; /* the update leaves the working copies alone */
    /* NULL, or called when the work that makes a tensor's gradient has been queued on `stream` */
    void (*gradient_ready)(void *arg, int tensor);
    void *gradient_arg;

    struct unit units[MAX_UNITS]; /* [0] is the stem */
    int unit_count;
    struct block blocks[MAX_BLOCKS];
    int block_count;
    struct tensor tensors[MAX_TENSORS];
    int tensor_count, fc_weight, fc_bias;
    struct group groups[GROUP_COUNT];

    int n, features; /* pictures at a time, channels of the last block */
    cudnnPoolingDescriptor_t stem_pool, last_pool;
    cudnnTensorDescriptor_t stem_desc, pooled_desc, last_desc, feature_desc;
    void *input;        /* (n, 3, image, image) T */
    void *pooled;       /* (n, 64, image/4, image/4) T */
    void *feature;      /* (n, features) T */
    float *logits;      /* (n, classes) */
    float *losses;      /* (batch) */
    float *eval_losses; /* (batch) */
    void *dlogits;      /* (n, classes) T */
    void *grad[3];      /* largest activation, T */
    float *norm_sums;   /* (2, features): scratch of the own normalisation */
    float *scratch;     /* largest group, float: the unfused optimizer's */
    void *workspace;    /* workspace_mb for cuDNN */
    size_t workspace_bytes;
    void *norm_workspace;
    size_t norm_workspace_bytes;
    void *blas_workspace;
    struct loss_scale *scale;
    void *staged[2]; /* batches as the loader made them: pixels, labels */
    size_t labels_offset;

    void *arena;
    size_t arena_bytes, parameters; /* parameters without padding */
};

void model_open(struct model *m, const struct config *c, size_t slot_bytes, size_t labels_offset);
void model_close(struct model *m);

/* algorithms.c: chooses how cuDNN computes every convolution, by asking or by measuring. */
void model_choose_algorithms(struct model *m);

/* norm.c: batch normalisation, conv_out -> out and dy -> dconv; `beta` tells whether gradients of
 * the parameters are added to what is there. norm_sizes asks what memory it takes. */
void norm_sizes(struct model *m);
void norm_forward(struct model *m, struct unit *u);
void norm_backward(struct model *m, struct unit *u, const void *dy, void *dconv, const float *beta);

struct shape model_output_shape(const struct model *m, const struct unit *u);
/* 1 when cuDNN has no code for this type and layout: then the trainer's own takes over */
int model_declined(cudnnStatus_t rc);

/* layers.c: the work of a step, or of part `part` of one, on m->stream, on the batch in
 * staged[which]. */
void model_forward(struct model *m, int which, int part);
void model_backward(struct model *m);
/* Forward alone, with the statistics of the training, not the batch's own (unless eval_training).
 */
void model_evaluate(struct model *m, int which);

/* optimizer.c: an update is a check for overflow (fp16), its application, and a new loss scale */
void model_zero_gradients(struct model *m);
void model_update(struct model *m);
void model_check_gradients(struct model *m);
void model_apply(struct model *m);
/* to be called before every operation: burns host_overhead_us */
void model_host_overhead(const struct model *m);

size_t dtype_bytes(enum dtype t);
void *model_weight(const struct model *m, int tensor); /* what cuDNN reads */
float *model_master(const struct model *m, int tensor);
void *model_gradient(const struct model *m, int tensor);

#endif
