/* Sequences on the virtual cuDNN: where the weights of recurrent layers lie, which kernels a
 * sequence takes, and how the time of the CTC loss depends on the length. */
#include "tests/unit/vgpu_library_calls.h"

#include <cudnn.h>

#define DNN(call) ck_assert_int_eq(call, CUDNN_STATUS_SUCCESS)

enum { INPUT = 32, HIDDEN = 64, LENGTH = 5, BATCH = 16, GATES = 4 };

Suite *test_vgpu_cudnn_rnn_suite(void);

static struct {
    cudnnHandle_t h;
    cudnnRNNDescriptor_t r;
    cudnnRNNDataDescriptor_t x;
} net;

static void open_lstm(int layers)
{
    on_device("a100-80");
    DNN(cudnnCreate(&net.h));
    DNN(cudnnCreateRNNDescriptor(&net.r));
    DNN(cudnnCreateRNNDataDescriptor(&net.x));
    DNN(cudnnSetRNNDescriptor_v8(net.r, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
                                 CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
                                 CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, INPUT, HIDDEN, HIDDEN,
                                 layers, NULL, 0));
    int lengths[BATCH];
    for (int i = 0; i < BATCH; i++)
        lengths[i] = LENGTH;
    DNN(cudnnSetRNNDataDescriptor(net.x, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                  LENGTH, BATCH, INPUT, lengths, NULL));
    seen_count = 0;
}

/* Gate behind gate, all matrices before all biases, and nothing lies in between. */
START_TEST(weights_lie_close)
{
    open_lstm(2);
    size_t bytes = 0, next = 0, last = 0;
    char *space = (char *)4096;
    cudnnTensorDescriptor_t d;
    DNN(cudnnCreateTensorDescriptor(&d));
    DNN(cudnnGetRNNWeightSpaceSize(net.h, net.r, &bytes));
    for (int bias = 0; bias < 2; bias++)
        for (int layer = 0; layer < 2; layer++)
            for (int id = 0; id < 2 * GATES; id++) {
                void *at = NULL;
                int nd, dim[3], stride[3];
                cudnnDataType_t type;
                DNN(cudnnGetRNNWeightParams(net.h, net.r, layer, bytes, space, id, bias ? NULL : d,
                                            bias ? NULL : &at, bias ? d : NULL, bias ? &at : NULL));
                DNN(cudnnGetTensorNdDescriptor(d, 3, &type, &nd, dim, stride));
                ck_assert_uint_eq((size_t)((char *)at - space), next);
                last = (size_t)(dim[0] * dim[1] * dim[2]) * 4;
                next += last;
            }
    ck_assert_uint_eq(next, bytes);
    void *at;
    ck_assert_int_eq(cudnnGetRNNWeightParams(net.h, net.r, 2, bytes, space, 0, d, &at, NULL, NULL),
                     CUDNN_STATUS_BAD_PARAM);
}
END_TEST

START_TEST(sequence_is_a_cell_for_each_position)
{
    open_lstm(2);
    DNN(cudnnRNNForward(net.h, net.r, CUDNN_FWD_MODE_TRAINING, NULL, net.x, NULL, net.x, NULL, NULL,
                        NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL));
    ck_assert_int_eq(launched("LSTM_elementWise_fp"), 2 * LENGTH);
    ck_assert_int_ge(seen_count - launched("elementWise"), 2 * (LENGTH + 1));
    seen_count = 0;
    DNN(cudnnRNNBackwardWeights_v8(net.h, net.r, CUDNN_WGRAD_MODE_ADD, NULL, net.x, NULL, NULL,
                                   NULL, net.x, NULL, 0, NULL, 0, NULL, 0, NULL));
    ck_assert_int_ge(seen_count, 4);
    ck_assert_int_eq(launched("elementWise"), 0);
}
END_TEST

/* Twice as long for twice the positions, and for gradients too. */
START_TEST(a_loss_goes_through_the_positions)
{
    int labels[2] = {1, 2}, one[2] = {1, 1}, dim[3] = {100, 2, 30}, stride[3] = {60, 30, 1};
    int64_t ns[3];
    size_t bytes = 0;
    float costs[2];
    cudnnCTCLossDescriptor_t c;
    cudnnTensorDescriptor_t d;
    on_device("h100");
    DNN(cudnnCreate(&net.h));
    DNN(cudnnCreateCTCLossDescriptor(&c));
    DNN(cudnnCreateTensorDescriptor(&d));
    ck_assert_int_eq(cudnnGetCTCLossWorkspaceSize(net.h, d, d, labels, one, one,
                                                  CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, c, &bytes),
                     CUDNN_STATUS_BAD_PARAM); /* nothing is set */
    DNN(cudnnSetCTCLossDescriptor_v9(c, CUDNN_DATA_FLOAT, CUDNN_LOSS_NORMALIZATION_SOFTMAX,
                                     CUDNN_CTC_ZERO_OOB_GRADIENTS, 255));
    for (int i = 0; i < 3; i++) {
        dim[0] = i == 1 ? 200 : 100;
        DNN(cudnnSetTensorNdDescriptor(d, CUDNN_DATA_FLOAT, 3, dim, stride));
        DNN(cudnnGetCTCLossWorkspaceSize_v8(net.h, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, c, d, d,
                                            &bytes));
        ck_assert_uint_gt(bytes, 0);
        seen_count = 0;
        DNN(cudnnCTCLoss(net.h, d, costs, labels, one, one, costs, d, i == 2 ? costs : NULL,
                         CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, c, NULL, bytes));
        ck_assert_int_eq(launched("ctc_loss"), 1);
        ns[i] = seen_ns[0];
    }
    ck_assert_int_eq(ns[1], 2 * ns[0]);
    ck_assert_int_eq(ns[2], 2 * ns[0]);
    DNN(cudnnDestroyCTCLossDescriptor(c));
}
END_TEST

Suite *test_vgpu_cudnn_rnn_suite(void)
{
    Suite *suite = suite_create("vgpu_cudnn_rnn");
    TCase *t = tcase_create("vgpu_cudnn_rnn");
    tcase_add_test(t, weights_lie_close);
    tcase_add_test(t, sequence_is_a_cell_for_each_position);
    tcase_add_test(t, a_loss_goes_through_the_positions);
    suite_add_tcase(suite, t);
    return suite;
}
