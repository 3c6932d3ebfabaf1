/* Rules about parts of a step that go by a name, and about chains: clipping, loss scaling, casts,
 * pointwise fusion, checkpointing. Each: fires with its number, stays silent, is suppressed where
 * it can be, cannot tell without its data. */
#include "rule_case.h"

#include "analyzer/queries/look_phase.h"

static const char gemm[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";
static const char foreach_norm[] =
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<float>>";
static const char norm[] = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
                           "at::native::NormTwoOps<float, float>>>";
static const char unscale[] =
    "void at::native::amp_non_finite_check_and_unscale_cuda_kernel<float>";
static const char cast[] = "void at::native::unrolled_elementwise_kernel<at::native::"
                           "direct_copy_kernel_cuda(at::TensorIteratorBase&)>";
static const char add[] = "void at::native::vectorized_elementwise_kernel<4, at::native::"
                          "CUDAFunctor_add<float>, at::detail::Array<char*, 3>>";

/* `n` kernels of `each_ns` behind each other, queued ahead; then a product that fills 9.85 ms. */
static void many(struct builder *b, const char *name, int64_t at, int n, int64_t each_ns)
{
    int64_t gpu = at + US(100);
    for (int i = 0; i < n; i++) {
        build_kernel(b, name, at + US(5) * i, gpu, each_ns);
        gpu += each_ns;
    }
    build_kernel(b, gemm, at + US(5) * n, gpu, at + US(9950) - gpu);
}

/* A product, then the host waits for it and works 2 ms with what it read; a product again. */
static void waits_inside(struct builder *b, int64_t at, const char *range)
{
    build_kernel(b, gemm, at + US(10), at + US(100), MS(5));
    build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 4, at + US(20), US(5090),
               at + US(5101), US(2));
    build_range(b, range, at + US(15), at + US(7110));
    build_kernel(b, gemm, at + US(7115), at + US(7123), US(2820));
}

/* ---- gradient-clipping -------------------------------------------------------------------------
 */

static void fill_norms(struct builder *b, int64_t at)
{
    many(b, norm, at, 50, US(20));
}
static void fill_foreach(struct builder *b, int64_t at)
{
    many(b, foreach_norm, at, 4, US(20));
}
static void fill_clip_waits(struct builder *b, int64_t at)
{
    waits_inside(b, at, "clip_grad_norm_");
}
static void fill_other_waits(struct builder *b, int64_t at)
{
    waits_inside(b, at, "metrics");
}

START_TEST(test_clipping)
{
    struct builder b = build_start();
    case_loop(&b, fill_norms);
    case_first(build_analyze(&b), "gradient-clipping", MS(1));
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_clip_waits);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "gradient-clipping", MS(2.02));
    ck_assert_int_eq(o->edit.kind, EDIT_REMOVE);
    case_verdict(a, "sync-in-loop", RULE_SILENT); /* the same wait, said once */
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_other_waits);
    a = build_analyze(&b);
    case_verdict(a, "gradient-clipping", RULE_SILENT);
    case_first(a, "sync-in-loop", MS(2.02));
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_foreach);
    case_verdict(build_analyze(&b), "gradient-clipping", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_norms, "kernels,copies,ranges", "gradient-clipping");
}
END_TEST

/* ---- loss-scaling ------------------------------------------------------------------------------
 */

static void fill_unscale(struct builder *b, int64_t at)
{
    many(b, unscale, at, 60, US(10));
}
static void fill_unscale_once(struct builder *b, int64_t at)
{
    many(b, unscale, at, 2, US(200));
}
static void fill_scaler_waits(struct builder *b, int64_t at)
{
    waits_inside(b, at, "GradScaler.step");
}

START_TEST(test_loss_scaling)
{
    struct builder b = build_start();
    case_loop(&b, fill_unscale);
    const struct advice *a = build_analyze(&b);
    case_first(a, "loss-scaling", US(600));
    case_verdict(a, "fused-optimizer", RULE_SILENT); /* these kernels are not the optimizer's */
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_scaler_waits);
    a = build_analyze(&b);
    case_first(a, "loss-scaling", MS(2.02));
    case_verdict(a, "sync-in-loop", RULE_SILENT);
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_unscale_once); /* all tensors at once: as it should be */
    case_verdict(build_analyze(&b), "loss-scaling", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_unscale, "kernels,copies,ranges", "loss-scaling");
}
END_TEST

/* ---- type-casts --------------------------------------------------------------------------------
 */

static void fill_casts(struct builder *b, int64_t at)
{
    many(b, cast, at, 100, US(5));
}
static void fill_few_casts(struct builder *b, int64_t at)
{
    many(b, cast, at, 3, US(100));
}

START_TEST(test_casts)
{
    struct builder b = build_start();
    case_loop(&b, fill_casts);
    case_first(build_analyze(&b), "type-casts", US(500));
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_few_casts);
    case_verdict(build_analyze(&b), "type-casts", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_casts, "copies,api,ranges", "type-casts");
}
END_TEST

/* ---- pointwise-fusion --------------------------------------------------------------------------
 */

static void fill_chain(struct builder *b, int64_t at)
{
    many(b, add, at, 4, US(300));
}
/* Behind a product all of it may go: into the epilogue. */
static void fill_epilogue(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at + US(1), at + US(50), US(50));
    many(b, add, at + US(5), 4, US(300));
}
static void fill_compiled(struct builder *b, int64_t at)
{
    many(b, "triton_poi_fused_add_gelu_0", at, 4, US(300));
}
/* Between products, or over other shapes: no chain. */
static void fill_single(struct builder *b, int64_t at)
{
    int64_t gpu = at + US(100);
    for (int i = 0; i < 4; i++) {
        int64_t correlation = build_api(b, "cudaLaunchKernel", at + US(10) * i, CALL_NS);
        build_kernel_of(b, add, correlation, gpu, US(300), 64);
        correlation = build_api(b, "cudaLaunchKernel", at + US(10) * i + US(5), CALL_NS);
        build_kernel_of(b, i < 2 ? gemm : add, correlation, gpu + US(300), US(2000), 512);
        gpu += US(2300);
    }
}

START_TEST(test_pointwise)
{
    struct builder b = build_start();
    case_loop(&b, fill_chain);
    const struct outcome *o = case_first(build_analyze(&b), "pointwise-fusion", US(900));
    ck_assert_int_eq(o->edit.kind, EDIT_JOIN);
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_epilogue);
    case_first(build_analyze(&b), "pointwise-fusion", US(1200));
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_compiled);
    case_verdict(build_analyze(&b), "pointwise-fusion", RULE_SILENT);
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_single);
    case_verdict(build_analyze(&b), "pointwise-fusion", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_chain, "copies,api,ranges", "pointwise-fusion");
}
END_TEST

/* ---- checkpointing -----------------------------------------------------------------------------
 */

/* Forward 3 ms, backward 7 ms of which the first 2 ms compute again. */
static void fill_recompute(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at + US(10), at + US(100), MS(3));
    build_kernel(b, gemm, at + US(30), at + US(3100), MS(2));
    build_range(b, "recompute", at + US(25), at + US(38));
    build_kernel(b, gemm, at + US(40), at + US(5100), US(4850));
}
/* The same as PyTorch names it: the backward pass proper is a range inside. */
static void fill_reentrant(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at + US(10), at + US(100), MS(3));
    build_range_at(b, "CheckpointFunctionBackward", 1, at + US(25), at + US(60));
    build_kernel(b, gemm, at + US(30), at + US(3100), MS(2));
    build_range_at(b, "autograd::engine::evaluate_function: MmBackward0", 2, at + US(38),
                   at + US(50));
    build_kernel(b, gemm, at + US(40), at + US(5100), US(4850));
}
static const char attention[] = "flash_fwd_kernel<traits>";
static const char attention_back[] = "flash_bwd_dq_dk_dv_loop_kernel<traits>";

/* Four layers' attention forward; then each again, and backward. No range says so. */
static void fill_attention_twice(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++) {
        build_kernel(b, attention, at + US(10 + i), at + US(100 + 500 * i), US(500));
        build_kernel(b, attention, at + US(20 + 2 * i), at + US(2100 + 1500 * i), US(500));
        build_kernel(b, attention_back, at + US(21 + 2 * i), at + US(2600 + 1500 * i), MS(1));
    }
    build_kernel(b, gemm, at + US(40), at + US(8100), US(1850));
}
/* The same numbers, but all forward work comes first: an evaluation, perhaps. */
static void fill_attention_ahead(struct builder *b, int64_t at)
{
    for (int i = 0; i < 8; i++)
        build_kernel(b, attention, at + US(10 + 5 * i), at + US(100 + 500 * i), US(500));
    for (int i = 0; i < 4; i++)
        build_kernel(b, attention_back, at + US(60 + i), at + US(4100 + 1000 * i), MS(1));
    build_kernel(b, gemm, at + US(70), at + US(8100), US(1850));
}
/* And it is one. */
static void fill_attention_evaluated(struct builder *b, int64_t at)
{
    fill_attention_ahead(b, at);
    build_range(b, "evaluate", at + US(9), at + US(29.5));
}

static void build_memory(struct builder *b, int64_t used)
{
    struct row_gpu_sample s = {
        .id = ++b->next_id, .device = 1, .time_ns = MS(150), .memory_used_bytes = used};
    build_put(b, ROW_GPU_SAMPLE, &s);
}

START_TEST(test_checkpointing)
{
    struct builder b = build_start();
    case_loop(&b, fill_recompute);
    build_memory(&b, (int64_t)20 << 30);
    ck_assert_int_eq(case_first(build_analyze(&b), "checkpointing", MS(2))->edit.kind, EDIT_REMOVE);
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_reentrant);
    build_memory(&b, (int64_t)20 << 30);
    case_first(build_analyze(&b), "checkpointing", MS(2));
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_attention_twice);
    build_memory(&b, (int64_t)20 << 30);
    case_first(build_analyze(&b), "checkpointing", US(1500)); /* all but the first layer's */
    build_end(&b);
}
END_TEST

START_TEST(test_checkpointing_refused)
{
    struct builder b = build_start();
    case_loop(&b, fill_recompute);
    build_memory(&b, (int64_t)60 << 30); /* of 80: it may be needed */
    case_verdict(build_analyze(&b), "checkpointing", RULE_SUPPRESSED);
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_recompute); /* nobody knows how much memory is in use */
    case_verdict(build_analyze(&b), "checkpointing", RULE_CANNOT_TELL);
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_attention_ahead);
    build_memory(&b, (int64_t)20 << 30);
    case_verdict(build_analyze(&b), "checkpointing", RULE_CANNOT_TELL);
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_attention_evaluated);
    build_memory(&b, (int64_t)20 << 30);
    case_verdict(build_analyze(&b), "checkpointing", RULE_SILENT);
    build_end(&b);
    b = build_start();
    case_loop(&b, case_busy);
    build_memory(&b, (int64_t)20 << 30);
    case_verdict(build_analyze(&b), "checkpointing", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_recompute, "copies,api,ranges", "checkpointing");
}
END_TEST

/* A GPU of 2018 has no bf16: nothing that is said of a run on it names that. */
static void no_bf16(const struct advice *a, const char *id)
{
    case_verdict(a, id, RULE_FIRES);
    const struct outcome *o = case_outcome(a, id);
    const char *said[] = {o->summary, o->remedy.pytorch, o->remedy.tensorflow, o->remedy.cuda,
                          o->knob};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        ck_assert_msg(!look_name_has(said[i], "bf16|bfloat16|BF16|TF32"), "%s: %s", id, said[i]);
    for (size_t i = 0; i < o->evidence_count; i++)
        ck_assert_msg(!strstr(o->evidence[i].text, "bf16"), "%s: %s", id, o->evidence[i].text);
}

static void fill_sgemm(struct builder *b, int64_t at)
{
    build_kernel(b, "volta_sgemm_128x64_nn", at + US(10), at + US(100), MS(9));
}

START_TEST(test_no_bf16_on_t4)
{
    static const struct {
        case_fill *fill;
        const char *id;
    } cases[] = {
        {fill_sgemm, "tensor-cores"}, {fill_unscale, "loss-scaling"}, {fill_casts, "type-casts"}};
    struct builder b = build_start_on("Tesla T4", 7, 5);
    case_loop(&b, cases[_i].fill);
    no_bf16(build_analyze(&b), cases[_i].id);
    build_end(&b);
}
END_TEST

START_TEST(test_names)
{
    ck_assert(look_name_has("Optimizer.clip_grad_norm_", "clip_grad|x"));
    ck_assert(look_name_has("clip", "x|=clip"));
    ck_assert(!look_name_has("clipboard", "x|=clip"));
    ck_assert(!look_name_has("cli", "clip"));
    ck_assert(!look_name_has("", "clip|=clip"));
}
END_TEST

Suite *test_rules_phase_suite(void)
{
    Suite *s = suite_create("rules: phases and chains");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_clipping);
    tcase_add_test(t, test_loss_scaling);
    tcase_add_test(t, test_casts);
    tcase_add_test(t, test_pointwise);
    tcase_add_test(t, test_checkpointing);
    tcase_add_test(t, test_checkpointing_refused);
    tcase_add_loop_test(t, test_no_bf16_on_t4, 0, 3);
    tcase_add_test(t, test_names);
    suite_add_tcase(s, t);
    return s;
}
