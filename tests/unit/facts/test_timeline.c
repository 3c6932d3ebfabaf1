/* The timeline: how rows are joined and ordered, and that it tolerates rows that cannot be true. */
#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

#include <stdint.h>

static const char *name_of(const struct timeline *t, uint32_t id)
{
    return tl_text(t, id);
}

TEST(joins_operations_to_calls)
{
    struct builder b = build_start();
    build_kernel(&b, "late", US(100), US(110), US(5)); /* rows out of order */
    build_kernel(&b, "early", US(10), US(20), US(5));
    struct timeline *t = build_finish(&b);
    ck_assert_uint_eq(t->op_count, 2);
    ck_assert_str_eq(name_of(t, t->ops[0].name), "early");
    ck_assert_int_eq(t->apis[t->ops[0].api].start_ns, US(10));
    ck_assert_int_eq(t->apis[t->ops[1].api].start_ns, US(100));
    ck_assert_uint_eq(t->apis[0].op, 0);
    ck_assert_uint_eq(t->apis[0].kind, API_LAUNCH);
    ck_assert_int_eq(t->gpu_start_ns, US(20));
    ck_assert_int_eq(t->gpu_end_ns, US(115));
    ck_assert_uint_eq(t->have, HAVE_KERNELS | HAVE_API | HAVE_DEVICE);
}

TEST(nested_driver_call_gives_its_kernels_to_the_outer_call)
{
    struct builder b = build_start();
    struct row_api r = {.id = 1, .process = 1, .thread = 1, .layer = 1};
    r.start_ns = US(10); /* CUPTI delivers the inner call first, here with the same start */
    r.end_ns = US(13);
    r.correlation = 501;
    r.name = build_text(&b, "cuLaunchKernel");
    build_put(&b, ROW_API, &r);
    r.layer = 0;
    r.end_ns = US(15);
    r.correlation = 500;
    r.name = build_text(&b, "cudaLaunchKernel");
    build_put(&b, ROW_API, &r);
    build_kernel_of(&b, "k", 501, US(20), US(5), 1);
    struct timeline *t = build_finish(&b);
    ck_assert_uint_eq(t->api_count, 1);
    ck_assert_str_eq(name_of(t, t->apis[0].name), "cudaLaunchKernel");
    ck_assert_uint_eq(t->ops[0].api, 0);
    ck_assert_uint_eq(t->apis[0].ops, 1);
}

TEST(graph_launch_owns_many_operations)
{
    struct builder b = build_start();
    int64_t c = build_api(&b, "cudaGraphLaunch", US(1), US(10));
    for (int i = 0; i < 5; i++)
        build_kernel_of(&b, "node", c, US(20 + 10 * i), US(8), 1);
    struct timeline *t = build_finish(&b);
    ck_assert_uint_eq(t->apis[0].kind, API_GRAPH_LAUNCH);
    ck_assert_uint_eq(t->apis[0].op, 0);
    ck_assert_uint_eq(t->apis[0].ops, 5);
}

/* A 1x1 convolution runs a kernel that is named a product: its operator tells, and a graph's
 * kernels are what those of that name were outside of it. */
TEST(products_of_convolutions_are_convolutions)
{
    static const char both[] = "volta_sgemm_128x64_nn", conv[] = "volta_sgemm_32x128_nn";
    struct builder b = build_start();
    build_range(&b, "aten::conv2d", US(0), US(100));
    build_range_at(&b, "aten::cudnn_convolution", 2, US(10), US(60));
    build_range(&b, "aten::linear", US(100), US(200));
    build_kernel(&b, conv, US(20), US(30), US(5));
    build_kernel(&b, both, US(40), US(50), US(5));
    build_kernel(&b, both, US(70), US(80), US(5)); /* between its end and the next's begin */
    build_kernel(&b, both, US(120), US(130), US(5));
    int64_t c = build_api(&b, "cudaGraphLaunch", US(300), US(10));
    build_kernel_of(&b, conv, c, US(320), US(8), 1);
    build_kernel_of(&b, both, c, US(330), US(8), 1);
    struct timeline *t = build_finish(&b);
    static const uint8_t family[] = {FAMILY_CONV, FAMILY_CONV, FAMILY_GEMM,
                                     FAMILY_GEMM, FAMILY_CONV, FAMILY_GEMM};
    for (size_t i = 0; i < sizeof family; i++)
        ck_assert_uint_eq(t->ops[i].class.family, family[i]);
}

TEST(correlations_are_per_process)
{
    struct builder b = build_start();
    struct row_process p = {.id = 2, .pid = 43, .rank = -1};
    build_put(&b, ROW_PROCESS, &p);
    struct row_thread th = {.id = 2, .process = 2, .tid = 7};
    build_put(&b, ROW_THREAD, &th);
    struct row_api r = {
        .id = 1, .process = 1, .thread = 1, .start_ns = US(1), .end_ns = US(2), .correlation = 9};
    build_put(&b, ROW_API, &r);
    r = (struct row_api){
        .id = 2, .process = 2, .thread = 2, .start_ns = US(3), .end_ns = US(4), .correlation = 9};
    build_put(&b, ROW_API, &r);
    struct row_stream s = {.id = 2, .process = 2, .device = 1, .stream = 7};
    build_put(&b, ROW_STREAM, &s);
    struct row_kernel k = {
        .id = 1, .process = 2, .stream = 2, .start_ns = US(5), .end_ns = US(6), .correlation = 9};
    build_put(&b, ROW_KERNEL, &k);
    struct timeline *t = build_finish(&b);
    ck_assert_uint_eq(t->apis[t->ops[0].api].thread, 1);
}

TEST(library_calls_find_their_api_calls)
{
    struct builder b = build_start();
    build_kernel(&b, "mystery", US(10.5), US(20), US(5));
    build_kernel(&b, "outside", US(50), US(60), US(5));
    struct row_call c = {.start_ns = US(11),
                         .end_ns = US(14),
                         .family = SPOOL_CALL_CONV_DGRAD,
                         .in_type = SPOOL_DT_F16,
                         .in_layout = SPOOL_LAYOUT_NHWC};
    build_call(&b, c, "cudnnConvolutionBackwardData"); /* starts 0.5 us after its call: clocks */
    struct timeline *t = build_finish(&b);
    ck_assert_uint_eq(t->calls[0].apis, 1);
    ck_assert_uint_eq(t->ops[0].class.family, FAMILY_CONV);
    ck_assert_uint_eq(t->ops[0].class.pass, PASS_DGRAD);
    ck_assert_uint_eq(t->ops[0].class.dtype, SPOOL_DT_F16);
    ck_assert_uint_eq(t->ops[0].class.layout, SPOOL_LAYOUT_NHWC);
    ck_assert_uint_eq(t->ops[0].class.tensor, TRI_UNKNOWN);
    ck_assert_uint_eq(t->ops[1].class.family, FAMILY_UNKNOWN);
}

static int64_t health_value(const struct timeline *t, const char *code)
{
    for (size_t i = 0; i < t->health_count; i++)
        if (strcmp(name_of(t, t->healths[i].code), code) == 0)
            return t->healths[i].value;
    return 0;
}

TEST(impossible_rows_are_counted_not_believed)
{
    struct builder b = build_start();
    build_kernel_of(&b, "reversed", 0, US(10), -US(5), 1);
    build_kernel_of(&b, "untimed", 0, INT64_MIN, 5, 1);
    build_kernel_of(&b, "far", 0, INT64_MAX - 5, 5, 1);
    b.stream = 77;
    build_kernel_of(&b, "no such stream", 12345, US(20), US(5), 1);
    struct row_api r = {.id = 1,
                        .process = 9,
                        .thread = -3,
                        .start_ns = 0,
                        .end_ns = 5,
                        .name = 4000000000u,
                        .correlation = -1};
    build_put(&b, ROW_API, &r);
    build_thread(&b, 1, "again");
    struct timeline *t = build_finish(&b);
    ck_assert_uint_eq(t->op_count, 2);
    ck_assert_int_eq(t->ops[0].end_ns, t->ops[0].start_ns);
    ck_assert_int_eq(health_value(t, "times-reversed"), 1);
    ck_assert_int_eq(health_value(t, "times-absurd"), 2);
    ck_assert_int_eq(health_value(t, "ids-repeated"), 1);
    ck_assert_int_ge(health_value(t, "references-missing"), 3);
    for (size_t i = 0; i < t->op_count; i++)
        ck_assert_uint_lt(t->streams[t->ops[i].stream].device, t->device_count);
}

/* Each of them could be; all together they could not be added up. */
TEST(no_sum_of_times_leaves_its_bounds)
{
    struct builder b = build_start();
    for (int i = 0; i < 100; i++) {
        build_kernel_of(&b, "long", 0, i, TL_TIME_MAX - 1000, 1);
        build_range(&b, "long", -TL_TIME_MAX + 1000, TL_TIME_MAX - 1000);
    }
    struct timeline *t = build_finish(&b);
    int64_t kernels = 0, ranges = 0;
    for (size_t i = 0; i < t->op_count; i++)
        ck_assert(
            !__builtin_add_overflow(kernels, t->ops[i].end_ns - t->ops[i].start_ns, &kernels));
    for (size_t i = 0; i < t->range_count; i++)
        ranges += t->ranges[i].end_ns - t->ranges[i].start_ns;
    ck_assert_int_gt(kernels, TL_TOTAL_MAX / 2);
    ck_assert_int_le(kernels, TL_TOTAL_MAX);
    ck_assert_int_le(ranges, TL_TOTAL_MAX);
    ck_assert_int_eq(health_value(t, "times-absurd"), 200 - t->op_count - t->range_count);
}

TEST(impossible_numbers_are_not_known)
{
    struct builder b = build_start();
    struct row_loader l = {
        .id = 1, .process = 1, .thread = 1, .worker = INT64_MIN, .cpu_ns = INT64_MAX, .batch = 7};
    build_put(&b, ROW_LOADER, &l);
    struct row_gpu_sample g = {
        .id = 1, .device = INT64_MAX, .util_pct = -1, .throttle_reasons = INT64_MIN};
    for (int i = 0; i < 1000; i++) {
        g.power_mw = (int64_t)1 << 52;
        build_put(&b, ROW_GPU_SAMPLE, &g);
    }
    struct row_process p = {.id = 2, .pid = 7, .start_ns = INT64_MIN, .end_ns = INT64_MAX};
    build_put(&b, ROW_PROCESS, &p);
    struct row_kernel k = {.id = 1,
                           .process = 1,
                           .grid_x = UINT32_MAX, /* more than any GPU starts */
                           .grid_y = UINT32_MAX,
                           .grid_z = 65536,
                           .block_x = 1024,
                           .block_y = 1025};
    build_put(&b, ROW_KERNEL, &k);
    struct row_recorded r = {.id = 1, .process = 1, .start_ns = 5, .end_ns = INT64_MAX};
    build_put(&b, ROW_RECORDED, &r);
    r = (struct row_recorded){.id = 2, .process = 1, .start_ns = 5, .end_ns = -5};
    build_put(&b, ROW_RECORDED, &r);
    struct timeline *t = build_finish(&b);
    ck_assert(t->loaders[0].worker == -1 && t->loaders[0].cpu_ns == -1 && t->loaders[0].batch == 7);
    int64_t sum = 0;
    for (size_t i = 0; i < t->gpu_sample_count; i++)
        sum += t->gpu_samples[i].power_mw;
    ck_assert_int_gt(sum, (int64_t)1 << 59);
    ck_assert_int_le(sum, (int64_t)1 << 60);
    ck_assert_int_eq(t->gpu_samples[999].power_mw, -1);
    ck_assert(t->gpu_samples[0].device == INT64_MAX &&
              t->gpu_samples[0].throttle_reasons == INT64_MIN);
    ck_assert(t->processes[1].pid == 7 && t->processes[1].start_ns == 0 &&
              t->processes[1].end_ns == 0);
    ck_assert_uint_eq(t->recorded_count, 1);
    ck_assert_int_eq(t->recorded[0].end_ns, 5);
    const struct op *o = &t->ops[0];
    ck_assert_uint_eq(o->grid[0], 0);
    ck_assert_uint_eq(o->grid[1], 0);
    ck_assert_uint_eq(o->grid[2], 65536);
    ck_assert_uint_eq(o->block[0], 1024);
    ck_assert_uint_eq(o->block[1], 0);
    ck_assert_int_ge(health_value(t, "numbers-absurd"), 7);
}

/* Random rows: whatever comes, indices stay valid and parts add up. */
TEST_EACH(random_rows_never_break_it, 0, 50)
{
    uint64_t x = 88172645463325252u + (uint64_t)_i;
    struct builder b = build_start();
#define RANDOM build_random(&x)
    for (int i = 0; i < 400; i++) {
        int64_t start = RANDOM % 7 ? RANDOM % 1000000 : (int64_t)((uint64_t)RANDOM * 4096);
        int64_t end = start + RANDOM % 5000 - 500;
        struct row_kernel k = {
            RANDOM % 50, RANDOM % 3, RANDOM % 4, start, end,        (uint32_t)(RANDOM % 90),
            RANDOM % 60, RANDOM,     1,          1,     RANDOM,     1,
            1,           0,          0,          0,     RANDOM % 2, 0};
        struct row_api a = {RANDOM % 50, RANDOM % 3, RANDOM % 4,
                            start,       end,        (uint32_t)(RANDOM % 90),
                            RANDOM % 60, RANDOM % 2, 0};
        struct row_range r = {RANDOM % 50, RANDOM % 3,
                              RANDOM % 4,  start,
                              end,         build_text(&b, RANDOM % 2 ? "step" : "data.wait"),
                              0,           RANDOM % 3 - 1,
                              0,           (uint32_t)(RANDOM % 90)};
        struct row_copy c = {
            RANDOM % 50,    RANDOM % 3,   RANDOM % 4, start,          end, RANDOM % 60, RANDOM % 12,
            RANDOM % 9 - 1, RANDOM % 300, RANDOM,     RANDOM % 3 - 1, -1,  0,           0};
        struct row_sync s = {RANDOM % 50,    RANDOM % 3, start, end,        RANDOM % 6,
                             RANDOM % 5 - 1, 1,          1,     RANDOM % 60};
        struct row_loader l = {RANDOM % 50, RANDOM % 3,     RANDOM % 4, start, end,
                               RANDOM % 5,  RANDOM % 3 - 1, 0,          RANDOM};
        build_put(&b, ROW_KERNEL, &k);
        build_put(&b, ROW_API, &a);
        if (RANDOM % 4 == 0)
            build_put(&b, ROW_RANGE, &r);
        build_put(&b, ROW_COPY, &c);
        build_put(&b, ROW_SYNC, &s);
        build_put(&b, ROW_LOADER, &l);
    }
    struct advice *a = build_analyze(&b);
    int64_t sum = 0;
    for (int p = 0; p < PART_COUNT; p++)
        sum += a->facts->breakdown_ns[p];
    ck_assert_int_eq(sum, a->facts->step_ns);
    for (size_t i = 0; i < a->facts->steps.count; i++) {
        sum = 0;
        for (int p = 0; p < PART_COUNT; p++) {
            ck_assert_int_ge(a->facts->step_parts[i][p], 0);
            sum += a->facts->step_parts[i][p];
        }
        ck_assert_int_eq(sum, a->facts->steps.at[i].to_ns - a->facts->steps.at[i].from_ns);
    }
}

TEST(a_collectives_kernel_communicates_whatever_its_name)
{
    struct builder b = build_start();
    build_kernel(&b, "my_ring_kernel", US(1), US(10), US(5));
    struct row_collective c = {
        .id = 1, .process = 1, .start_ns = US(1), .end_ns = US(2), .kernel = b.next_id};
    build_put(&b, ROW_COLLECTIVE, &c);
    ck_assert_uint_eq(build_finish(&b)->ops[0].class.family, FAMILY_COMM);
}

TEST(have_comes_from_the_source_when_it_says)
{
    struct builder b = build_start();
    build_meta(&b, "have", "kernels,copies,api,nonsense");
    ck_assert_uint_eq(build_finish(&b)->have, HAVE_KERNELS | HAVE_COPIES | HAVE_API);
    ck_assert_ptr_null(timeline_meta(b.t, "command"));
}
