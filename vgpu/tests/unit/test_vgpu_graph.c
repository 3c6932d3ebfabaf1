/* Graphs built by hand on the virtual GPU: every kind of node does its work, in the order that the
 * dependencies give. */
#include "tests/unit/vgpu_program.h"

#include <string.h>

Suite *test_vgpu_graph_suite(void);

static cudaGraph_t graph_new(void)
{
    cudaGraph_t g;
    OK(cudaGraphCreate(&g, 0));
    return g;
}

static cudaGraphNode_t kernel_node(cudaGraph_t g, const cudaGraphNode_t *deps, size_t n)
{
    cudaGraphNode_t node;
    struct cudaKernelNodeParams p = {
        .func = (void *)(uintptr_t)&kernel, .gridDim = {LONG, 1, 1}, .blockDim = {1024, 1, 1}};
    OK(cudaGraphAddKernelNode(&node, g, deps, n, &p));
    return node;
}

/* How long the graph takes on the device, ms. */
static double graph_ms(cudaGraph_t g)
{
    cudaGraphExec_t exec;
    cudaStream_t s = stream(cudaStreamNonBlocking);
    OK(cudaGraphInstantiate(&exec, g, 0));
    cudaEvent_t a = mark(s);
    OK(cudaGraphLaunch(exec, s));
    double ms = between_ms(a, mark(s));
    OK(cudaGraphExecDestroy(exec));
    return ms;
}

START_TEST(copies_and_memsets_move_data)
{
    choose("t4");
    int in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {0}, *device;
    OK(cudaMalloc((void **)&device, sizeof in));
    cudaGraph_t g = graph_new();
    cudaGraphNode_t to, set, from;
    struct cudaMemsetParams two = {
        .dst = device, .value = 0x01020304, .elementSize = 4, .width = 2, .height = 1};
    OK(cudaGraphAddMemcpyNode1D(&to, g, NULL, 0, device, in, sizeof in, cudaMemcpyHostToDevice));
    OK(cudaGraphAddMemsetNode(&set, g, &to, 1, &two));
    struct cudaMemcpy3DParms back = {.srcPtr = {device, sizeof in, sizeof in, 1},
                                     .dstPtr = {out, sizeof in, sizeof in, 1},
                                     .extent = {sizeof in, 1, 1},
                                     .kind = cudaMemcpyDeviceToHost};
    OK(cudaGraphAddMemcpyNode(&from, g, &set, 1, &back));
    graph_ms(g);
    ck_assert_int_eq(out[1], 0x01020304);
    ck_assert_int_eq(out[2], 3);
    struct cudaMemsetParams kept_params;
    OK(cudaGraphMemsetNodeGetParams(set, &kept_params));
    ck_assert_uint_eq(kept_params.width, 2);
    ck_assert_int_eq(
        cudaGraphAddMemcpyNode1D(&to, g, NULL, 0, out, in, sizeof in, cudaMemcpyHostToDevice),
        cudaErrorInvalidValue);
    size_t n;
    OK(cudaGraphGetNodes(g, NULL, &n));
    ck_assert_uint_eq(n, 3);
}
END_TEST

START_TEST(later_edges_count)
{
    choose(SLOW);
    cudaGraph_t one = graph_new(), chain = graph_new();
    kernel_node(one, NULL, 0);
    double single = graph_ms(one);
    cudaGraphNode_t last = kernel_node(chain, NULL, 0), set, first;
    char *device;
    OK(cudaMalloc((void **)&device, 1 << 20));
    struct cudaMemsetParams p = {.dst = device, .elementSize = 1, .width = 1 << 20, .height = 1};
    OK(cudaGraphAddMemsetNode(&set, chain, NULL, 0, &p));
    first = kernel_node(chain, NULL, 0);
    cudaGraphNode_t from[] = {first, set}, to[] = {set, last};
    OK(cudaGraphAddDependencies(chain, from, to, NULL, 2)); /* last waits for set, set for first */
    ck_assert_double_gt(graph_ms(chain), 1.95 * single);
    cudaGraphNode_t found[2];
    size_t n = 2;
    OK(cudaGraphGetRootNodes(chain, found, &n));
    ck_assert_uint_eq(n, 1);
    ck_assert_ptr_eq(found[0], first);
    OK(cudaGraphGetEdges(chain, NULL, NULL, NULL, &n));
    ck_assert_uint_eq(n, 2);
    cudaGraphExec_t exec;
    OK(cudaGraphAddDependencies(chain, &last, &first, NULL, 1)); /* a cycle */
    ck_assert_int_ne(cudaGraphInstantiate(&exec, chain, 0), cudaSuccess);
}
END_TEST

START_TEST(child_graphs_run_inside)
{
    choose(SLOW);
    cudaGraph_t child = graph_new(), parent = graph_new(), single = graph_new();
    kernel_node(single, NULL, 0);
    cudaGraphNode_t a = kernel_node(child, NULL, 0), held, before;
    kernel_node(child, &a, 1);
    before = kernel_node(parent, NULL, 0);
    OK(cudaGraphAddChildGraphNode(&held, parent, &before, 1, child));
    kernel_node(parent, &held, 1);
    double ratio = graph_ms(parent) / graph_ms(single);
    ck_assert_double_gt(ratio, 3.8);
    ck_assert_double_lt(ratio, 4.4);
    size_t n;
    OK(cudaGraphGetNodes(parent, NULL, &n));
    ck_assert_uint_eq(n, 3);
}
END_TEST

START_TEST(a_condition_runs_its_body_once)
{
    choose(SLOW);
    cudaGraph_t single = graph_new(), g = graph_new();
    kernel_node(single, NULL, 0);
    cudaGraphConditionalHandle handle;
    cudaGraphNode_t condition;
    OK(cudaGraphConditionalHandleCreate(&handle, g, 1, cudaGraphCondAssignDefault));
    struct cudaGraphNodeParams p = {
        .type = cudaGraphNodeTypeConditional,
        .conditional = {.handle = handle, .type = cudaGraphCondTypeWhile, .size = 1}};
    OK(cudaGraphAddNode(&condition, g, NULL, NULL, 0, &p));
    cudaStream_t s = stream(cudaStreamNonBlocking);
    cudaGraph_t body = p.conditional.phGraph_out[0];
    OK(cudaStreamBeginCaptureToGraph(s, body, NULL, NULL, 0, cudaStreamCaptureModeGlobal));
    OK(launch(LONG, s));
    OK(cudaStreamEndCapture(s, NULL));
    double ratio = graph_ms(g) / graph_ms(single);
    ck_assert_double_gt(ratio, 0.9);
    ck_assert_double_lt(ratio, 1.1);
}
END_TEST

START_TEST(memory_of_a_graph_comes_and_goes)
{
    choose("t4");
    size_t before, during, after, total;
    cudaGraph_t g = graph_new();
    cudaGraphNode_t alloc, release;
    struct cudaMemAllocNodeParams p = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice, .id = 0}},
        .bytesize = 1 << 20};
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
    ck_assert_ptr_nonnull(p.dptr);
    OK(cudaGraphAddMemFreeNode(&release, g, &alloc, 1, p.dptr));
    graph_ms(g);
    OK(cudaMemGetInfo(&during, &total));
    ck_assert_uint_eq(before - during, 1 << 20);
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, g, 0));
    OK(cudaGraphDestroy(g)); /* the address stays taken as long as it may be launched */
    OK(cudaMemGetInfo(&after, &total));
    ck_assert_uint_eq(after, during);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaMemGetInfo(&after, &total));
    ck_assert_uint_eq(after, before);
    g = graph_new();
    OK(cudaGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(p.dptr)); /* nothing in the graph freed it */
}
END_TEST

START_TEST(an_executable_node_gets_other_parameters)
{
    choose(SLOW);
    cudaGraph_t g = graph_new();
    cudaGraphNode_t node = kernel_node(g, NULL, 0);
    cudaGraphExec_t exec;
    cudaStream_t s = stream(cudaStreamNonBlocking);
    OK(cudaGraphInstantiate(&exec, g, 0));
    struct cudaKernelNodeParams p;
    OK(cudaGraphKernelNodeGetParams(node, &p));
    ck_assert_uint_eq(p.gridDim.x, LONG);
    cudaEvent_t a = mark(s);
    OK(cudaGraphLaunch(exec, s));
    double once = between_ms(a, mark(s));
    p.gridDim.x = FULL;
    OK(cudaGraphExecKernelNodeSetParams(exec, node, &p));
    a = mark(s);
    OK(cudaGraphLaunch(exec, s));
    ck_assert_double_gt(between_ms(a, mark(s)), 1.8 * once);
    OK(cudaGraphNodeSetEnabled(exec, node, 0));
    unsigned enabled = 1;
    OK(cudaGraphNodeGetEnabled(exec, node, &enabled));
    ck_assert_uint_eq(enabled, 0);
    a = mark(s);
    OK(cudaGraphLaunch(exec, s));
    ck_assert_double_lt(between_ms(a, mark(s)), 0.5 * once);
}
END_TEST

static void count_up(void *counter)
{
    ++*(int *)counter;
}

START_TEST(objects_go_with_their_last_reference)
{
    choose("t4");
    int gone = 0;
    cudaUserObject_t o;
    OK(cudaUserObjectCreate(&o, &gone, count_up, 1, cudaUserObjectNoDestructorSync));
    OK(cudaUserObjectRetain(o, 1));
    OK(cudaUserObjectRelease(o, 1));
    ck_assert_int_eq(gone, 0);
    OK(cudaUserObjectRelease(o, 1));
    ck_assert_int_eq(gone, 1);
}
END_TEST

Suite *test_vgpu_graph_suite(void)
{
    Suite *suite = suite_create("vgpu_graph");
    TCase *t = tcase_create("vgpu_graph");
    tcase_add_test(t, copies_and_memsets_move_data);
    tcase_add_test(t, later_edges_count);
    tcase_add_test(t, child_graphs_run_inside);
    tcase_add_test(t, a_condition_runs_its_body_once);
    tcase_add_test(t, memory_of_a_graph_comes_and_goes);
    tcase_add_test(t, an_executable_node_gets_other_parameters);
    tcase_add_test(t, objects_go_with_their_last_reference);
    suite_add_tcase(suite, t);
    return suite;
}
