/* What is written into a finished profile, and the views over it. */

#include "tests/unit/test.h"
#include "tests/unit/store_file.h"
#include "wire/spool_format.h"

static void put_results(struct store *s, int64_t steps)
{
    struct err e = ERR_INIT;
    ck_assert_msg(store_begin(s, &e) == 0, "%s", e.text);
    ck_assert_int_eq(store_clear_derived(s, &e), 0);
    for (int64_t i = 0; i < steps; i++) {
        struct row_step step = {
            .id = i + 1, .start_ns = i * 100, .end_ns = i * 100 + 90, .used = 1, .compute_ns = 90};
        ck_assert_int_eq(store_put_derived(s, DERIVED_STEP, &step, &e), 0);
    }
    struct row_gap gap = {
        1, 1, 10, 20, store_intern(s, "idle_input"), 0, store_intern(s, "data.wait")};
    struct row_finding finding = {1,
                                  1,
                                  store_intern(s, "num-workers"),
                                  store_intern(s, "Load"),
                                  store_intern(s, "waits"),
                                  store_intern(s, "upper-bound"),
                                  1,
                                  2,
                                  3};
    struct row_trial v = {
        .id = steps, .setting = store_intern(s, "num_workers=4"), .measured_mid_ns = 7};
    ck_assert_int_eq(store_put_derived(s, DERIVED_GAP, &gap, &e), 0);
    ck_assert_int_eq(store_put_derived(s, DERIVED_FINDING, &finding, &e), 0);
    ck_assert_int_eq(store_put_derived(s, DERIVED_TRIAL, &v, &e), 0);
    ck_assert_int_eq(store_put_result(s, "analysis",
                                      steps == 3 ? "{\"old\": 1}" : "{\"new\": \"\xc3\xa4\"}", &e),
                     0);
    ck_assert_msg(store_commit(s, &e) == 0, "%s", e.text);
}

TEST_FIXTURE(setup, teardown)

TEST(test_results)
{
    struct err e = ERR_INIT;
    make_empty();
    struct store *s = store_open(path, 1, &e);
    char *none = store_get_result(s, "analysis", &e);
    ck_assert_ptr_null(none);
    put_results(s, 3);
    put_results(s, 5);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM step"), 5);
    ck_assert_int_eq(ask("SELECT count(*) FROM gap"), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM finding"), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM trial"), 2); /* measured once, kept */
    ck_assert_int_eq(ask("SELECT count(*) FROM gap_time WHERE cause = 'idle_input' AND gaps = 1"),
                     1);
    ck_assert_int_eq(
        ask("SELECT count(*) FROM advice WHERE rule = 'num-workers' AND kind = 'upper-bound'"), 1);
    s = store_open(path, 0, &e);
    char *json = store_get_result(s, "analysis", &e);
    ck_assert_str_eq(json, "{\"new\": \"\xc3\xa4\"}");
    free(json);
    store_close(s);
}

TEST(test_read_only)
{
    struct err e = ERR_INIT;
    make_empty();
    struct store *s = store_open(path, 0, &e);
    ck_assert_int_eq(store_put_result(s, "analysis", "{}", &e), -1);
    check_line(&e);
    store_close(s);
}

/* A row of each table that a view reads. */
static void put_one_of_each(struct store *s)
{
    struct err e = ERR_INIT;
    struct sink out = store_sink(s);
    uint32_t name = out.intern(out.self, "k", 1);
    struct row_kernel k = {.id = 1, .start_ns = 0, .end_ns = 2000000, .name = name};
    struct row_copy c = {.id = 1,
                         .start_ns = 5,
                         .end_ns = 5,
                         .kind = COPY_H2D,
                         .src_kind = MEMORY_PAGEABLE,
                         .bytes = 10};
    struct row_api a = {.id = 1, .start_ns = 0, .end_ns = 1000, .name = name};
    struct row_range r = {.id = 1, .start_ns = 0, .end_ns = 1000000, .name = name};
    struct row_health h = {1, 0, 1, name, name, 3};
    struct row_meta m = {1, 0, name, name};
    struct row_sync y = {.id = 1, .end_ns = 3000000, .type = SYNC_STREAM, .correlation = 7};
    struct row_call call = {.id = 1,
                            .function = name,
                            .family = SPOOL_CALL_CONV_FWD,
                            .in_type = SPOOL_DT_BF16,
                            .in_layout = SPOOL_LAYOUT_NHWC,
                            .dim = {32, 64, 56, 56, 128, 3, 3, 2, 1, 1, 1}};
    struct row_stack stack = {1, 0, name, name, 9, 0};
    struct row_stack_sample sample = {.id = 1, .looks = 1, .state = STACK_ASLEEP, .stack = 1};
    struct row_launch_line stretch = {.id = 1, .thread = -1, .end_ns = 5000, .stretch = 1},
                           line = {.id = 2, .stretch = 1, .what = SPOOL_LINE_OWN, .stack = 1};
    struct row_allocation piece = {.id = 1, .bytes = 512, .in_use_bytes = 512, .held_bytes = -1};
    a.correlation = k.correlation = 7;
    ck_assert(
        out.put(out.self, ROW_KERNEL, &k, &e) == 0 && out.put(out.self, ROW_COPY, &c, &e) == 0 &&
        out.put(out.self, ROW_API, &a, &e) == 0 && out.put(out.self, ROW_RANGE, &r, &e) == 0 &&
        out.put(out.self, ROW_HEALTH, &h, &e) == 0 && out.put(out.self, ROW_META, &m, &e) == 0 &&
        out.put(out.self, ROW_SYNC, &y, &e) == 0 && out.put(out.self, ROW_CALL, &call, &e) == 0 &&
        out.put(out.self, ROW_STACK, &stack, &e) == 0 &&
        out.put(out.self, ROW_STACK_SAMPLE, &sample, &e) == 0 &&
        out.put(out.self, ROW_LAUNCH_LINE, &stretch, &e) == 0 &&
        out.put(out.self, ROW_LAUNCH_LINE, &line, &e) == 0 &&
        out.put(out.self, ROW_ALLOCATION, &piece, &e) == 0);
}

TEST(test_views)
{
    struct err e = ERR_INIT;
    struct store *s = create();
    put_one_of_each(s);
    finish(s);
    s = store_open(path, 1, &e);
    put_results(s, 2);
    store_close(s);
    struct sql *db = sql_open(path, SQL_CREATE, &e); /* SQL_READ has no views */
    struct sql_stmt *q = sql_prepare(db, "SELECT name FROM sqlite_master WHERE type = 'view'", &e);
    int views = 0;
    for (; sql_step(q, &e) == 1; views++) {
        char text[128];
        snprintf(text, sizeof text, "SELECT count(*) FROM %s", sql_text(q, 0, NULL));
        ck_assert_msg(sql_value(db, text, -1) > 0, "%s is empty or fails", text);
    }
    sql_finalize(q);
    ck_assert_int_ge(views, 8);
    ck_assert_int_eq(sql_value(db, "SELECT total_ms * 10 FROM kernel_time WHERE name = 'k'", 0),
                     20);
    ck_assert_int_eq(
        sql_value(db, "SELECT gb_per_s IS NULL FROM copy_time WHERE host_memory = 'pageable'", 0),
        1);
    ck_assert_int_eq(
        sql_value(
            db, "SELECT wait_ms = 3 AND call = 'k' AND waits_for = 'stream' FROM sync_longest", 0),
        1);
    ck_assert_int_eq(sql_value(db,
                               "SELECT shape = 'n32 c64 56x56 k128 3x3 stride 2 pad 1' AND input = "
                               "'bf16' AND layout = 'NHWC' AND calls = 1 FROM call_shape",
                               0),
                     1);
    ck_assert_int_eq(sql_value(db, "SELECT max(number) FROM code WHERE what = 'type'", 0),
                     SPOOL_DT_OTHER);
    ck_assert_int_eq(sql_value(db, "SELECT max(number) FROM code WHERE what = 'family'", 0),
                     SPOOL_CALL_FIND);
    ck_assert_int_eq(sql_value(db, "SELECT max(number) FROM code WHERE what = 'layout'", 0),
                     SPOOL_LAYOUT_COL);
    ck_assert_int_eq(sql_value(db, "SELECT key = 'k' AND value = 'k' FROM fact", 0), 1);
    sql_close(db);
}
