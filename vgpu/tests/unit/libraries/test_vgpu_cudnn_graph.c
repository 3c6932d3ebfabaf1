/* cuDNN's graph interface as PyTorch's front end uses it: describe, ask the heuristic, plan, run.
 */
#include "tests/unit/vgpu_library_calls.h"

#include <cudnn.h>

#define DNN(call) ck_assert_int_eq(call, CUDNN_STATUS_SUCCESS)
#define SET(d, name, type, ...)                                                                    \
    do {                                                                                           \
        __typeof__((__VA_ARGS__)) v_ = (__VA_ARGS__);                                              \
        DNN(cudnnBackendSetAttribute(d, CUDNN_ATTR_##name, CUDNN_TYPE_##type, 1, &v_));            \
    } while (0)

typedef cudnnBackendDescriptor_t descriptor;
enum { MOST = 16 };

Suite *test_vgpu_cudnn_graph_suite(void);

static descriptor new_of(cudnnBackendDescriptorType_t type)
{
    descriptor d;
    DNN(cudnnBackendCreateDescriptor(type, &d));
    return d;
}

static descriptor tensor(cudnnDataType_t type, bool last, int64_t a, int64_t b, int64_t c,
                         int64_t d)
{
    int64_t dim[] = {a, b, c, d}, rows[] = {b * c * d, c * d, d, 1},
            pixels[] = {b * c * d, 1, b * d, b};
    static int64_t next_id;
    descriptor t = new_of(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    SET(t, TENSOR_DATA_TYPE, DATA_TYPE, type);
    SET(t, TENSOR_UNIQUE_ID, INT64, ++next_id);
    DNN(cudnnBackendSetAttribute(t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dim));
    DNN(cudnnBackendSetAttribute(t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4,
                                 last ? pixels : rows));
    DNN(cudnnBackendFinalize(t));
    return t;
}

static descriptor graph_of(descriptor op)
{
    descriptor g = new_of(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    SET(g, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, op);
    DNN(cudnnBackendFinalize(g));
    DNN(cudnnBackendDestroyDescriptor(op)); /* the graph keeps it */
    return g;
}

/* 3x3 over 64 channels of 56x56, batch 32. */
static descriptor convolution(cudnnDataType_t type, bool last)
{
    int64_t one[] = {1, 1}, nd = 2;
    descriptor c = new_of(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    DNN(cudnnBackendSetAttribute(c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, one));
    DNN(cudnnBackendSetAttribute(c, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2,
                                 one));
    DNN(cudnnBackendSetAttribute(c, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, one));
    SET(c, CONVOLUTION_SPATIAL_DIMS, INT64, nd);
    DNN(cudnnBackendFinalize(c));
    descriptor op = new_of(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    SET(op, OPERATION_CONVOLUTION_FORWARD_X, BACKEND_DESCRIPTOR,
        tensor(type, last, 32, 64, 56, 56));
    SET(op, OPERATION_CONVOLUTION_FORWARD_W, BACKEND_DESCRIPTOR, tensor(type, last, 64, 64, 3, 3));
    SET(op, OPERATION_CONVOLUTION_FORWARD_Y, BACKEND_DESCRIPTOR,
        tensor(type, last, 32, 64, 56, 56));
    SET(op, OPERATION_CONVOLUTION_FORWARD_CONV_DESC, BACKEND_DESCRIPTOR, c);
    DNN(cudnnBackendFinalize(op));
    return graph_of(op);
}

/* How many configurations; they are in `out`. */
static int64_t ask(descriptor graph, descriptor out[MOST])
{
    int64_t n = 0;
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    descriptor h = new_of(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    SET(h, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, graph);
    SET(h, ENGINEHEUR_MODE, HEUR_MODE, mode);
    DNN(cudnnBackendFinalize(h));
    DNN(cudnnBackendGetAttribute(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0,
                                 &n, NULL));
    ck_assert_int_le(n, MOST);
    for (int i = 0; i < n; i++)
        out[i] = new_of(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    DNN(cudnnBackendGetAttribute(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, n,
                                 &n, out));
    return n;
}

static bool on_tensor_cores(descriptor config)
{
    int64_t n = 0;
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    descriptor engine = new_of(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    DNN(cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                 1, &n, &engine));
    DNN(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                 CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n,
                                 notes));
    bool found = false;
    for (int64_t i = 0; i < n; i++)
        found |= notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    DNN(cudnnBackendDestroyDescriptor(engine));
    return found;
}

static void run(descriptor config)
{
    cudnnHandle_t h;
    int64_t n, bytes = -1;
    DNN(cudnnCreate(&h));
    descriptor plan = new_of(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    descriptor pack = new_of(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    SET(plan, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, config);
    ck_assert_int_ne(cudnnBackendExecute(h, plan, pack), CUDNN_STATUS_SUCCESS);
    DNN(cudnnBackendFinalize(plan));
    DNN(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                                 1, &n, &bytes));
    ck_assert_int_ge(bytes, 0);
    DNN(cudnnBackendFinalize(pack));
    seen_count = 0;
    DNN(cudnnBackendExecute(h, plan, pack));
}

START_TEST(half_convolution_runs_on_tensor_cores)
{
    descriptor configs[MOST];
    on_device("h100");
    ck_assert_int_gt(ask(convolution(CUDNN_DATA_HALF, true), configs), 1);
    ck_assert(on_tensor_cores(configs[0]));
    run(configs[0]);
    ck_assert_int_eq(seen_count, 1);
    ck_assert_int_eq(launched("fprop"), 1);
}
END_TEST

START_TEST(single_precision_has_engines_without_tf32)
{
    descriptor configs[MOST];
    int with = 0, without = 0;
    on_device("h100");
    int64_t n = ask(convolution(CUDNN_DATA_FLOAT, false), configs);
    for (int i = 0; i < n; i++)
        on_tensor_cores(configs[i]) ? with++ : without++;
    ck_assert_int_gt(with, 0);
    ck_assert_int_gt(without, 0);
    for (int i = 0; i < n; i++) {
        run(configs[i]);
        ck_assert_int_gt(device_ns(), 0);
    }
}
END_TEST

START_TEST(attention_is_one_kernel)
{
    enum { SDPA_FORWARD = 41, Q = 2800, K = 2801 }; /* newer headers only */
    descriptor configs[MOST];
    int64_t ns[2];
    on_device("h100");
    for (int i = 0; i < 2; i++) {
        int64_t length = 2048 << i;
        descriptor op = new_of((cudnnBackendDescriptorType_t)SDPA_FORWARD);
        for (int name = Q; name <= K; name++) {
            descriptor t = tensor(CUDNN_DATA_HALF, false, 8, 16, length, 64);
            DNN(cudnnBackendSetAttribute(op, (cudnnBackendAttributeName_t)name,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t));
        }
        DNN(cudnnBackendFinalize(op));
        ck_assert_int_eq(ask(graph_of(op), configs), 1);
        run(configs[0]);
        ck_assert_int_eq(launched("sdpa_sm90_flash_fprop"), 1);
        ns[i] = device_ns();
    }
    ck_assert_double_gt((double)ns[1] / (double)ns[0], 3.5); /* the square of the length */
}
END_TEST

START_TEST(closed_descriptors_and_empty_graphs_are_refused)
{
    on_device("h100");
    descriptor t = tensor(CUDNN_DATA_HALF, false, 1, 1, 1, 1), configs[MOST];
    int64_t id = 7;
    ck_assert_int_eq(
        cudnnBackendSetAttribute(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id),
        CUDNN_STATUS_NOT_INITIALIZED);
    ck_assert_int_eq(ask(new_of(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR), configs), 0);
}
END_TEST

Suite *test_vgpu_cudnn_graph_suite(void)
{
    Suite *suite = suite_create("vgpu_cudnn_graph");
    TCase *t = tcase_create("vgpu_cudnn_graph");
    tcase_add_test(t, half_convolution_runs_on_tensor_cores);
    tcase_add_test(t, single_precision_has_engines_without_tf32);
    tcase_add_test(t, attention_is_one_kernel);
    tcase_add_test(t, closed_descriptors_and_empty_graphs_are_refused);
    suite_add_tcase(suite, t);
    return suite;
}
