/* Room in a stream's queue after a change removes operations from it. */
#include "tests/unit/test.h"
#include "tests/unit/edit_case.h"

enum { PAIRS = 2000 };

static bool is_check(const struct facts *f, uint32_t op)
{
    return strcmp(tl_text(f->tl, f->tl->ops[op].name), "check") == 0;
}

static bool is_sync(const struct facts *f, uint32_t api)
{
    return f->tl->apis[api].kind == API_SYNC_STREAM || f->tl->apis[api].kind == API_SYNC_DEVICE;
}

static void launch(struct builder *b, const char *name, int64_t call, int64_t at, int64_t ns)
{
    int64_t correlation = build_api(b, "cudaLaunchKernel", call, US(2));
    build_kernel_of(b, name, correlation, at, ns, 128);
}

static int64_t kernel_ns, apart_ns; /* a kernel, and from one to the next */

/* 4 ms of the host's own, then a kernel and its check 2000 times, and a wait for all of them. */
static void fill_checked(struct builder *b, int64_t at)
{
    for (int i = 0; i < PAIRS; i++) {
        int64_t call = at + MS(4) + apart_ns * i;
        launch(b, "k", call, call + US(3), kernel_ns);
        launch(b, "check", call + apart_ns - US(2), call + US(3) + kernel_ns, US(0.4));
    }
    build_sync(b, at + MS(4) + apart_ns * PAIRS + US(2), US(10));
}

static struct bench without_checks(int64_t kernel, int64_t apart, int64_t *step_ns)
{
    struct edit unchecked = {
        .kind = &edit_remove, .at.ops = is_check, .at.calls = is_sync, .remove.pauses = true};
    kernel_ns = kernel;
    apart_ns = apart;
    struct bench x = bench_start_of(6, MS(4.1) + apart * PAIRS, fill_checked);
    *step_ns = with(&x, unchecked, &middle);
    return x;
}

/* The host launches 2000 kernels in 4 ms, of which the GPU has done 1100 by then: 900 wait, fewer
 * than a queue holds. With the checks in it, it would be full at half of its kernels. */
TEST(what_is_gone_takes_no_room)
{
    int64_t ns;
    without_checks(US(3.6), US(4), &ns);
    ck_assert_int_gt(ns, MS(7.5));
    ck_assert_int_lt(ns, MS(8.1));
}

/* Kernels of 7 us: 1400 would wait, and the host does so for room in the queue. */
TEST(what_stays_fills_a_queue_all_the_same)
{
    int64_t ns, bound = 0;
    struct bench x = without_checks(US(7), US(8), &ns);
    for (uint32_t i = 0; i < x.g->count; i++)
        bound += x.g->tasks[i].kind == TASK_HOST_API && x.r.bind[i] != TASK_NONE &&
                 task_on_gpu(&x.g->tasks[x.r.bind[i]]);
    ck_assert_int_gt(bound, 5000);
}
