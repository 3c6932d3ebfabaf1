/* The Chrome trace: rows, slices, flows. */
#include "tests/unit/test.h"
#include "report/trace/lanes.h"
#include "report/trace/rows.h"
#include "tests/unit/exported.h"

#include <math.h>

TEST(places_overlaps_on_lanes)
{
    struct lanes streams = {.nest = false}, threads = {.nest = true};
    ck_assert_int_eq(lanes_place(&streams, 0, 10), 0);
    ck_assert_int_eq(lanes_place(&streams, 5, 8), 1); /* inside: a lane of its own on a stream */
    ck_assert_int_eq(lanes_place(&streams, 8, 20), 1);
    ck_assert_int_eq(lanes_place(&streams, 10, 12), 0); /* end == next start is apart */
    ck_assert_int_eq(lanes_place(&threads, 0, 10), 0);
    ck_assert_int_eq(lanes_place(&threads, 5, 8), 0); /* inside: nested */
    ck_assert_int_eq(lanes_place(&threads, 7, 9), 1); /* neither inside nor apart */
    ck_assert_int_eq(lanes_place(&threads, 9, 10), 0);
    lanes_release(&streams);
    lanes_release(&threads);
}

/* A row has no more lanes than its ids leave room for; what finds none is counted. */
TEST(counts_what_no_lane_holds)
{
    struct builder b = build_start();
    for (int i = 0; i < ROWS_LANES + 20; i++) /* none contains another */
        build_range_at(&b, "long", 0, US(100) + US(2) * i, US(9000) + US(2) * i);
    build_finish(&b);
    struct rows r;
    struct items v = {0};
    ck_assert_int_eq(rows_open(&r, b.t, 0), 0);
    ck_assert_int_eq(rows_thread(&r, 0, &v), 0);
    ck_assert_uint_eq(v.n + r.left_out, ROWS_LANES + 20);
    ck_assert_uint_gt(r.left_out, 0);
    ck_assert_int_eq(v.at[v.n - 1].lane, ROWS_LANES - 1);
    vec_release(&v);
    rows_close(&r);
}

/* A call that its clock puts a little before its range is drawn inside it; one that really hangs
 * over is not. */
TEST(snaps_clock_differences)
{
    struct builder b = build_start();
    build_range_at(&b, "outer", 0, US(100), US(200));
    build_api(&b, "cudaLaunchKernel", US(100) - 300, US(5));
    build_api(&b, "cudaFree", US(196), US(4) + 500);
    build_api(&b, "cudaMalloc", US(250), US(10));
    build_range_at(&b, "late", 0, US(255), US(300));
    build_finish(&b);
    struct rows r;
    struct items v = {0};
    ck_assert_int_eq(rows_open(&r, b.t, 0), 0);
    ck_assert_int_eq(rows_thread(&r, 0, &v), 0);
    ck_assert_uint_eq(v.n, 5);
    ck_assert_int_eq(v.at[0].kind, ITEM_RANGE);
    ck_assert_int_eq(v.at[1].start_ns, US(100));
    ck_assert_int_eq(v.at[2].end_ns, US(200));
    ck_assert_int_eq(v.at[2].lane, 0);
    ck_assert_int_eq(v.at[4].lane, 1);
    vec_release(&v);
    rows_close(&r);
}

/* Ranks are drawn on the clock of the steps. */
TEST(aligns_ranks)
{
    struct builder b = build_start();
    build_api(&b, "cudaLaunchKernel", US(100), US(5));
    build_finish(&b);
    struct rank_facts ranks[] = {{.process = 0, .offset_ns = US(30)}};
    struct facts f = {.ranks = {.at = ranks, .count = 1}};
    struct items v = {0};
    for (uint32_t steps_of = 0; steps_of < 2; steps_of++) { /* its own clock, another's */
        struct rows r;
        ck_assert_int_eq(rows_open(&r, b.t, steps_of), 0);
        ck_assert_int_eq(rows_align(&r, &f), 0);
        ck_assert_int_eq(rows_thread(&r, 0, &v), 0);
        ck_assert_uint_eq(v.n, 1);
        ck_assert_int_eq(v.at[0].start_ns, US(100) - (steps_of ? US(30) : 0));
        ck_assert_int_eq(v.at[0].end_ns - v.at[0].start_ns, US(5));
        rows_close(&r);
    }
    vec_release(&v);
}

TEST(keeps_the_shape)
{
    struct builder b;
    char *out = exported("chrome", exported_run(&b, NULL));
    ck_assert_ptr_eq(strstr(out, "{\"schemaVersion\": 1, "), out);
    ck_assert_ptr_nonnull(strstr(out, "\"rank\": 0"));
    ck_assert_ptr_nonnull(strstr(out, "\"baseTimeNanoseconds\": "));
    ck_assert_int_eq(occurrences(out, "\"cat\":\"kernel\""), 36);
    ck_assert_int_eq(occurrences(out, "\"cat\":\"gpu_memcpy\""), 12);
    ck_assert_int_eq(occurrences(out, "Memcpy HtoD (Pageable -> Device)"), 12);
    ck_assert_int_eq(occurrences(out, "\"ph\":\"s\""), 48);
    ck_assert_int_eq(occurrences(out, "\"bp\":\"e\""), 48);
    ck_assert_int_eq(occurrences(out, "\"cat\":\"cuda_sync\""), 12);
    ck_assert_int_eq(occurrences(out, "\"ph\":\"B\""), 0);
    ck_assert_int_ge(occurrences(out, "\"name\":\"ProfilerStep#"), 10);
    ck_assert_int_eq(occurrences(out, "stream 7, lane 2"), 1); /* two kernels overlap */
    ck_assert_int_ge(occurrences(out, "GPU idle: "), 10);
    ck_assert_int_eq(occurrences(out, "\"verdict and findings\""), 1);
    ck_assert_int_ge(occurrences(out, "\"name\":\"1. "), 1);
    ck_assert_int_eq(occurrences(out, " ms, computing "),
                     occurrences(out, "\"name\":\"ProfilerStep#"));
    ck_assert_int_ge(occurrences(out, "\"name\":\"launched, not begun\""), 24);
    free(out);
}

/* A wait for the whole device belongs to the process whose thread called. */
TEST(waits_stay_with_their_process)
{
    struct builder b = build_start();
    struct row_process p = {.id = 2, .pid = 43, .rank = 1, .local_rank = 1, .world_size = 2};
    struct row_thread t = {.id = 2, .process = 2, .tid = 202};
    build_put(&b, ROW_PROCESS, &p);
    build_put(&b, ROW_THREAD, &t);
    for (int64_t process = 1; process <= 2; process++)
        for (int64_t i = 0; i < process; i++) { /* 1 of the first, 2 of the second */
            struct row_api call = {.id = ++b.next_id, .process = process, .thread = process};
            struct row_sync wait = {.id = ++b.next_id, .process = process, .type = SYNC_CONTEXT};
            call.name = build_text(&b, "cudaDeviceSynchronize");
            call.start_ns = wait.start_ns = US(100) * (i + 1);
            call.end_ns = wait.end_ns = call.start_ns + US(50);
            wait.stream = wait.event = wait.event_sync = -1;
            call.correlation = wait.correlation = ++b.correlation;
            build_put(&b, ROW_API, &call);
            build_put(&b, ROW_SYNC, &wait);
        }
    build_finish(&b);
    struct rows r;
    struct items v = {0};
    ck_assert_int_eq(rows_open(&r, b.t, 0), 0);
    for (uint32_t process = 0; process < 2; process++) {
        ck_assert_int_eq(rows_device_syncs(&r, process, &v), 0);
        ck_assert_uint_eq(v.n, process + 1);
    }
    vec_release(&v);
    rows_close(&r);
}

TEST(one_event_a_line)
{
    struct builder b;
    char *out = exported("chrome", exported_run(&b, NULL));
    char *save = NULL;
    int lines = 0;
    for (char *line = strtok_r(out, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (lines++ == 0 || strncmp(line, "],", 2) == 0 || strncmp(line, "\"traceName\"", 11) == 0)
            continue;
        ck_assert_msg(strncmp(line, "{\"ph\":\"", 7) == 0, "%s", line);
    }
    ck_assert_int_gt(lines, 200);
    free(out);
}

TEST(says_virtual)
{
    struct builder b;
    struct advice *a = exported_run(&b, "Virtual NVIDIA H200");
    for (size_t i = 0; i < exporter_count; i++) {
        char *out = exporters[i]->analysis ? exported(exporters[i]->name, a) : NULL;
        ck_assert_msg(!out || strstr(out, "irtual") || strstr(out, "\"virtual\": true"), "%s",
                      exporters[i]->name);
        free(out);
    }
    char *term = exported("term", a);
    ck_assert_ptr_eq(strstr(term, "Virtual GPU"), term);
    free(term);
}

TEST(never_says_virtual_of_a_real_one)
{
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    for (size_t i = 0; i < exporter_count; i++) {
        char *out = exporters[i]->analysis ? exported(exporters[i]->name, a) : NULL;
        bool has_metric = strcmp(exporters[i]->name, "openmetrics") == 0; /* of that name, 0 or 1 */
        ck_assert_msg(!out || has_metric || !strstr(out, "irtual GPU"), "%s", exporters[i]->name);
        free(out);
    }
}

/* Sum of the values in the object that follows `key`. */
static double sum_of(const char *json, const char *key)
{
    double sum = 0;
    const char *p = strstr(json, key), *end = p ? strchr(p, '}') : NULL;
    ck_assert_ptr_nonnull(end);
    for (p = strchr(p + strlen(key), ':'); p && p < end; p = strchr(p + 1, ':'))
        sum += strtod(p + 1, NULL);
    return sum;
}

TEST(json_breakdown_sums_to_the_step)
{
    struct builder b;
    char *out = exported("json", exported_run(&b, NULL));
    const char *median = strstr(out, "\"median_ms\": ");
    ck_assert_ptr_nonnull(median);
    const char *object = strstr(out, "\"breakdown_ms\": {");
    ck_assert_double_eq_tol(sum_of(object + 16, "{"), strtod(median + 13, NULL), 1e-6);
    free(out);
}

TEST(tells_of_a_full_disk)
{
    struct builder b;
    struct advice *a = exported_run(&b, NULL);
    for (size_t i = 0; i < exporter_count; i++) {
        struct err e = ERR_INIT;
        struct export_options o = {.title = "t", .source = "s"};
        FILE *f = fopen("/dev/full", "w");
        if (exporters[i]->analysis)
            ck_assert_msg(exporters[i]->analysis(a, &o, f, &e) == -1, "%s", exporters[i]->name);
        fclose(f);
    }
}
