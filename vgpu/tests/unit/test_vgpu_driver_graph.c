/* Graphs through the driver's interface: built by hand and captured, queried, changed and launched.
 * XLA launches its steps in this way. */
#include "tests/unit/vgpu_program.h"

#include <cuda.h>
#include <dlfcn.h>

#include <string.h>

Suite *test_vgpu_driver_graph_suite(void);

static const char ptx[] = "// made by hand\n.version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry step()\n{ ret; }\n";

static CUfunction kernel_of_module(void)
{
    CUmodule m;
    CUfunction f;
    CUcontext c;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&c, 0));
    OK(cuCtxSetCurrent(c));
    OK(cuModuleLoadData(&m, ptx));
    OK(cuModuleGetFunction(&f, m, "step"));
    return f;
}

static CUgraph graph_new(void)
{
    CUgraph g;
    OK(cuGraphCreate(&g, 0));
    return g;
}

static CUDA_KERNEL_NODE_PARAMS launch_of(CUfunction f, unsigned blocks)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = f,
                                     .gridDimX = blocks,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 128,
                                     .blockDimY = 1,
                                     .blockDimZ = 1};
}

static CUDA_MEMCPY3D copy_in(CUdeviceptr to, const void *from, size_t bytes)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = from,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = to,
                           .WidthInBytes = bytes,
                           .Height = 1,
                           .Depth = 1};
}

static CUDA_MEMCPY3D copy_out(void *to, CUdeviceptr from, size_t bytes)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = from,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = to,
                           .WidthInBytes = bytes,
                           .Height = 1,
                           .Depth = 1};
}

/* One root, of this type. */
static void check_shape(CUgraph g, size_t want_nodes, size_t want_edges, CUgraphNodeType want_root)
{
    size_t nodes = 0, edges = 0, roots = 1;
    CUgraphNode root;
    CUgraphNodeType type;
    OK(cuGraphGetNodes(g, NULL, &nodes));
    OK(cuGraphGetEdges(g, NULL, NULL, NULL, &edges));
    OK(cuGraphGetRootNodes(g, &root, &roots));
    OK(cuGraphNodeGetType(root, &type));
    ck_assert_uint_eq(nodes, want_nodes);
    ck_assert_uint_eq(edges, want_edges);
    ck_assert_uint_eq(roots, 1);
    ck_assert_int_eq(type, want_root);
}

START_TEST(nodes_move_data_behind_what_they_depend_on)
{
    choose("t4");
    CUfunction f = kernel_of_module();
    CUdeviceptr memory;
    CUstream s;
    char in[256], out[256] = {0};
    memset(in, 5, sizeof in);
    OK(cuMemAlloc(&memory, sizeof in));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUgraph g = graph_new();
    CUgraphNode set, run, copy, host_read;
    CUDA_MEMSET_NODE_PARAMS zero = {
        .dst = memory, .value = 1, .elementSize = 1, .width = sizeof in, .height = 1};
    CUDA_KERNEL_NODE_PARAMS launch = launch_of(f, 4), asked;
    CUDA_MEMCPY3D half = copy_in(memory, in, sizeof in / 2),
                  back = copy_out(out, memory, sizeof out);
    OK(cuGraphAddMemsetNode(&set, g, NULL, 0, &zero, NULL));
    OK(cuGraphAddKernelNode(&run, g, &set, 1, &launch));
    OK(cuGraphAddMemcpyNode(&copy, g, &run, 1, &half, NULL));
    OK(cuGraphAddMemcpyNode(&host_read, g, NULL, 0, &back, NULL));
    OK(cuGraphAddDependencies(g, &copy, &host_read, NULL, 1));
    OK(cuGraphKernelNodeGetParams(run, &asked));
    ck_assert_uint_eq(asked.gridDimX, 4);
    check_shape(g, 4, 3, CU_GRAPH_NODE_TYPE_MEMSET);

    CUgraphExec exec;
    OK(cuGraphInstantiate(&exec, g, 0));
    OK(cuGraphDestroy(g));
    OK(cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
    ck_assert_int_eq(out[0], 5);
    ck_assert_int_eq(out[sizeof out - 1], 1);
    OK(cuGraphNodeSetEnabled(exec, copy, 0));
    OK(cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
    ck_assert_int_eq(out[0], 1);
    OK(cuGraphExecDestroy(exec));
}
END_TEST

START_TEST(what_a_stream_captures_is_launched_and_updated)
{
    choose("t4");
    CUfunction f = kernel_of_module();
    CUstream s;
    CUgraph g = graph_new(), captured;
    CUgraphNode first;
    CUDA_KERNEL_NODE_PARAMS launch = launch_of(f, 4);
    CUstreamCaptureStatus status;
    size_t nodes = 0;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuGraphAddKernelNode(&first, g, NULL, 0, &launch));
    OK(cuStreamBeginCaptureToGraph(s, g, &first, NULL, 1, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(cuLaunchKernel(f, 8, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
    OK(cuStreamGetCaptureInfo(s, &status, NULL, &captured, NULL, NULL, NULL));
    ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ck_assert_ptr_eq(captured, g);
    OK(cuStreamEndCapture(s, &captured));
    OK(cuGraphGetNodes(g, NULL, &nodes));
    ck_assert_uint_eq(nodes, 2);

    CUgraph other = graph_new();
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    OK(cuGraphInstantiate(&exec, g, 0));
    OK(cuGraphExecKernelNodeSetParams(exec, first, &launch));
    OK(cuGraphExecUpdate(exec, g, &info));
    ck_assert_int_eq(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    ck_assert_int_eq(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    OK(cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
    ck_assert_int_eq(cuGraphLaunch(NULL, s), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(any_kind_of_node_by_one_call)
{
    choose("t4");
    CUfunction f = kernel_of_module();
    CUstream s;
    CUgraph g = graph_new();
    CUgraphNode a, b;
    CUgraphExec exec;
    CUgraphConditionalHandle handle;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuGraphConditionalHandleCreate(&handle, g, NULL, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams loop = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    loop.conditional.handle = handle;
    loop.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    loop.conditional.size = 1;
    OK(cuGraphAddNode(&a, g, NULL, NULL, 0, &loop));
    CUgraphNodeParams body = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    body.kernel.func = f;
    body.kernel.gridDimX = body.kernel.gridDimY = body.kernel.gridDimZ = 1;
    body.kernel.blockDimX = 64;
    body.kernel.blockDimY = body.kernel.blockDimZ = 1;
    OK(cuGraphAddNode(&b, loop.conditional.phGraph_out[0], NULL, NULL, 0, &body));
    OK(cuGraphInstantiate(&exec, g, 0));
    OK(cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
    loop.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
    ck_assert_int_eq(cuGraphAddNode(&a, g, NULL, NULL, 0, &loop), CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST

/* A program built with CUDA 12 asks for the calls of its header, which have a parameter less. */
START_TEST(calls_have_the_form_of_the_version_asked_for)
{
    typedef CUresult connect_12(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
                                size_t n);
    void *old = NULL, *now = NULL;
    choose("t4");
    OK(cuInit(0));
    OK(cuGetProcAddress("cuGraphAddDependencies", &old, 12040, 0, NULL));
    OK(cuGetProcAddress("cuGraphAddDependencies", &now, CUDA_VERSION, 0, NULL));
    ck_assert_ptr_ne(old, now);
    ck_assert_ptr_eq(now, (void *)cuGraphAddDependencies);
    CUgraph g = graph_new();
    CUgraphNode a, b;
    size_t edges = 0;
    OK(cuGraphAddEmptyNode(&a, g, NULL, 0));
    OK(cuGraphAddEmptyNode(&b, g, NULL, 0));
    OK(((connect_12 *)old)(g, &a, &b, 1));
    OK(cuGraphGetEdges(g, NULL, NULL, NULL, &edges));
    ck_assert_uint_eq(edges, 1);
}
END_TEST

/* So does one that looks calls up by their bare names: there they have the forms of CUDA 11. */
START_TEST(bare_names_have_their_first_form)
{
    typedef CUresult add_11(CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n,
                            const CUDA_KERNEL_NODE_PARAMS_v1 *p);
    typedef CUresult ask_11(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 * p);
    typedef CUresult set_11(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p);
    typedef CUresult set_in_11(CUgraphExec x, CUgraphNode node,
                               const CUDA_KERNEL_NODE_PARAMS_v1 *p);
    typedef CUresult make_11(CUgraphExec * x, CUgraph g, CUgraphNode * bad, char *log,
                             size_t bytes);
    choose("t4");
    struct {
        CUDA_KERNEL_NODE_PARAMS_v1 params;
        char behind[32]; /* not the caller's: must stay */
    } asked, full;
    memset(&asked, 7, sizeof asked);
    memset(&full, 7, sizeof full);
    CUDA_KERNEL_NODE_PARAMS now = launch_of(kernel_of_module(), 4);
    CUDA_KERNEL_NODE_PARAMS_v1 old;
    memcpy(&old, &now, sizeof old);
    CUgraph g = graph_new();
    CUgraphNode node, bad = (CUgraphNode)&old;
    CUgraphExec exec;
    char log[8] = "unused";
    OK(((add_11 *)dlsym(RTLD_DEFAULT, "cuGraphAddKernelNode"))(&node, g, NULL, 0, &old));
    old.gridDimX = 6;
    OK(((set_11 *)dlsym(RTLD_DEFAULT, "cuGraphKernelNodeSetParams"))(node, &old));
    OK(((ask_11 *)dlsym(RTLD_DEFAULT, "cuGraphKernelNodeGetParams"))(node, &asked.params));
    ck_assert_uint_eq(asked.params.gridDimX, 6);
    ck_assert_mem_eq(asked.behind, full.behind, sizeof full.behind);
    OK(((make_11 *)dlsym(RTLD_DEFAULT, "cuGraphInstantiate"))(&exec, g, &bad, log, sizeof log));
    ck_assert_ptr_null(bad);
    ck_assert_str_eq(log, "");
    OK(((set_in_11 *)dlsym(RTLD_DEFAULT, "cuGraphExecKernelNodeSetParams"))(exec, node, &old));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
}
END_TEST

/* MLX asks for them, Triton sets them. */
START_TEST(attributes_of_nodes_are_kept)
{
    choose("h100");
    CUfunction f = kernel_of_module();
    CUgraph g = graph_new(), copy;
    CUgraphNode a, b;
    CUDA_KERNEL_NODE_PARAMS p = launch_of(f, 4);
    CUkernelNodeAttrValue in = {.priority = -3}, out = {.priority = 9};
    OK(cuGraphAddKernelNode(&a, g, NULL, 0, &p));
    OK(cuGraphAddKernelNode(&b, g, NULL, 0, &p));
    OK(cuGraphKernelNodeGetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &out));
    ck_assert_int_eq(out.priority, 0);
    OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &in));
    OK(cuGraphKernelNodeCopyAttributes(b, a));
    OK(cuGraphClone(&copy, g));
    OK(cuGraphNodeFindInClone(&b, b, copy));
    OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_PRIORITY, &out));
    ck_assert_int_eq(out.priority, -3);
    OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &out));
    ck_assert_int_eq(out.cooperative, 0);
    OK(cuGraphDestroy(copy));
    OK(cuGraphDestroy(g));
}
END_TEST

Suite *test_vgpu_driver_graph_suite(void)
{
    Suite *s = suite_create("vgpu_driver_graph");
    TCase *c = tcase_create("vgpu_driver_graph");
    tcase_add_test(c, attributes_of_nodes_are_kept);
    tcase_add_test(c, nodes_move_data_behind_what_they_depend_on);
    tcase_add_test(c, what_a_stream_captures_is_launched_and_updated);
    tcase_add_test(c, any_kind_of_node_by_one_call);
    tcase_add_test(c, calls_have_the_form_of_the_version_asked_for);
    tcase_add_test(c, bare_names_have_their_first_form);
    suite_add_tcase(s, c);
    return s;
}
