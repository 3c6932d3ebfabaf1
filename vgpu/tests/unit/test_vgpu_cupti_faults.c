/* The virtual GPU's CUPTI with the faults that it can imitate: records that are lost, disordered,
 * without times or late, a clock that is stepped, callbacks that another client takes over. */
#include "tests/unit/vgpu_records.h"

#include <sys/wait.h>
#include <unistd.h>

Suite *test_vgpu_cupti_faults_suite(void);

START_TEST(dropped_records_are_counted)
{
    size_t dropped;
    begin("h200,drop=0.3", usual, 1);
    launch_many(1000);
    settle();
    CUPTI(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    ck_assert_int_gt((int)dropped, 200);
    ck_assert_int_lt((int)dropped, 400);
    ck_assert_int_eq(seen.kernels + (int)dropped, 1000);
    CUPTI(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    ck_assert_uint_eq(dropped, 0);
}
END_TEST

START_TEST(no_buffer_is_a_drop)
{
    size_t dropped;
    begin("h200", usual, 1);
    refuse = true;
    launch_many(3);
    CUPTI(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    ck_assert_uint_eq(dropped, 3);
    refuse = false;
    launch_many(2);
    settle();
    ck_assert_int_eq(seen.kernels, 2);
}
END_TEST

START_TEST(no_buffer_crashes_old_releases)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        begin("h200,cupti=12.4,null_buffer_crash=1", usual, 1);
        refuse = true;
        launch(NULL);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    ck_assert(!WIFEXITED(status) ||
              WEXITSTATUS(status) != 0); /* a sanitizer turns it into a status */
}
END_TEST

START_TEST(disorder)
{
    int turned = 0;
    begin("h200,disorder=1", usual, 1);
    launch_many(100);
    settle();
    ck_assert_int_eq(seen.kernels, 100);
    for (int i = 1; i < 100; i++)
        turned += seen.kernel[i].start < seen.kernel[i - 1].start;
    ck_assert_int_gt(turned, 10);
}
END_TEST

START_TEST(untimed_records)
{
    int untimed = 0;
    begin("h200,untimed_after=60", usual, 1);
    launch_many(100);
    settle();
    for (int i = 0; i < seen.kernels; i++)
        untimed += seen.kernel[i].start == 0 && seen.kernel[i].end == 0;
    ck_assert_int_eq(seen.kernels, 100);
    ck_assert_int_eq(untimed, 40);
}
END_TEST

static void *turn_on(void *arg)
{
    CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    return arg;
}

/* The thread that turns kernels on loses none. */
START_TEST(lost_while_switched_on)
{
    int untimed = 0;
    pthread_t other;
    begin("h200,switch_loss=60000", usual, 1);
    for (int i = 0; i < 2; i++) {
        CUPTI(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
        if (i == 0) {
            turn_on(NULL);
        } else {
            ck_assert_int_eq(pthread_create(&other, NULL, turn_on, NULL), 0);
            pthread_join(other, NULL);
        }
        launch_many(20);
        settle();
        untimed = 0;
        for (int k = 0; k < seen.kernels; k++)
            untimed += seen.kernel[k].start == 0 && seen.kernel[k].end == 0;
        ck_assert_int_eq(untimed, i * 20);
    }
    ck_assert_int_eq(seen.kernels, 40);
}
END_TEST

START_TEST(late_records)
{
    begin("h200,late=300", usual, 1);
    launch_many(1);
    CUPTI(cuptiActivityFlushAll(0));
    ck_assert_int_eq(seen.kernels, 0);
    struct timespec t = {0, 400000000};
    nanosleep(&t, NULL);
    CUPTI(cuptiActivityFlushAll(0));
    ck_assert_int_eq(seen.kernels, 1);
}
END_TEST

START_TEST(clock_step)
{
    begin("h200,clock_step=3600:100", usual, 1);
    launch_many(1);
    struct timespec t = {0, 200000000};
    nanosleep(&t, NULL);
    launch_many(1);
    settle();
    ck_assert_int_eq(seen.kernels, 2);
    ck_assert_uint_gt(seen.kernel[1].start - seen.kernel[0].start, 3600000000000);
}
END_TEST

START_TEST(stolen_callbacks)
{
    begin("h200,steal_callbacks_after=100", usual, 1);
    launch_many(1);
    struct timespec t = {0, 200000000};
    nanosleep(&t, NULL);
    launch_many(400); /* runs into the end of the first buffer */
    settle();
    ck_assert_int_eq(seen.completions, 0);
    CUPTI(cuptiActivityRegisterCallbacks(request, complete));
    launch_many(400);
    settle();
    ck_assert_int_gt(seen.completions, 0);
}
END_TEST

START_TEST(correlation_wraps)
{
    bool high = false, low = false;
    begin("h200,wrap_correlation=1", usual, 1);
    launch_many(400);
    settle();
    for (int i = 0; i < seen.kernels; i++) {
        high |= seen.kernel[i].correlationId > 0xffff0000u;
        low |= seen.kernel[i].correlationId < 0xffffu;
    }
    ck_assert(high && low);
}
END_TEST

Suite *test_vgpu_cupti_faults_suite(void)
{
    Suite *suite = suite_create("vgpu_cupti_faults");
    TCase *t = tcase_create("vgpu_cupti_faults");
    tcase_add_test(t, dropped_records_are_counted);
    tcase_add_test(t, no_buffer_is_a_drop);
    tcase_add_test(t, no_buffer_crashes_old_releases);
    tcase_add_test(t, disorder);
    tcase_add_test(t, untimed_records);
    tcase_add_test(t, lost_while_switched_on);
    tcase_add_test(t, late_records);
    tcase_add_test(t, clock_step);
    tcase_add_test(t, stolen_callbacks);
    tcase_add_test(t, correlation_wraps);
    suite_add_tcase(suite, t);
    return suite;
}
