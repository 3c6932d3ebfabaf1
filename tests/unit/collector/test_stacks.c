/* Stacks of long calls: the collector unwinds the test's own process, and the call's range names
 * the line. Damaged and useless stacks change nothing. */

#include "tests/unit/test.h"
#include "analyzer/unwind/unwind.h"
#include "tests/unit/collect_spools.h"

enum { STACK = 1024, CALL = 131, RUNTIME = 5, THREAD = 64 };

struct stack_record {
    struct spool_rec_stack r;
    uint8_t bytes[STACK];
};
static struct stack_record taken;
static int line;

/* As the agent does; named like a function of CUDA's, which is not the program's. */
static __attribute__((noinline)) void cudaTakeStack(void)
{
#ifdef __x86_64__
    uint64_t *r = taken.r.registers;
    __asm__ volatile("leaq (%%rip), %%rax\n\tmovq %%rax, (%0)\n\tmovq %%rsp, 8(%0)\n\t"
                     "movq %%rbp, 16(%0)\n\tmovq %%rbx, 24(%0)\n\tmovq %%r12, 32(%0)\n\t"
                     "movq %%r13, 40(%0)\n\tmovq %%r14, 48(%0)\n\tmovq %%r15, 56(%0)"
                     :
                     : "r"(r)
                     : "rax", "memory");
    memcpy(taken.bytes, (const void *)(uintptr_t)r[1], sizeof taken.bytes);
#endif
}

static __attribute__((noinline)) int train_step(int depth)
{
    volatile char frame[256];
    frame[depth] = 1;
    if (depth)
        return train_step(depth - 1) + frame[depth];
    line = __LINE__ + 1;
    cudaTakeStack();
    return frame[0];
}

static struct spool_writer waiting_in(struct spool_writer w, uint64_t stack, uint32_t correlation,
                                      uint16_t bytes)
{
    ck_assert_int_eq(train_step(3), 4);
    spool_ring_open(&w, 0, THREAD);
    taken.r.head = (struct spool_rec){.kind = SPOOL_REC_STACK, .tid = THREAD};
    taken.r.head.size = (uint16_t)(sizeof taken.r + bytes);
    taken.r.function = spool_text(&w, "cudaStreamSynchronize_v3020");
    taken.r.correlation = correlation;
    taken.r.stack = stack;
    taken.r.bytes = bytes;
    spool_append(&w, 0, &taken, taken.r.head.size);
    return w;
}

static struct spool_writer waiting(uint64_t stack, uint32_t correlation, uint16_t bytes)
{
    return waiting_in(live("a"), stack, correlation, bytes);
}

static void call(struct spool_writer *w, int buffer, uint32_t correlation)
{
    uint64_t at = 0;
    spool_api(w, buffer, &at, RUNTIME, CALL, stamp(1000), stamp(3000), THREAD, correlation);
    spool_state(w, buffer, SPOOL_READY, at);
}

static const struct row_range *range_at_row(int i)
{
    return MEMORY_ROW(m, range, ROW_RANGE, i);
}

static bool finds(void)
{
#ifdef __x86_64__
    return !unwind_missing();
#else
    return false;
#endif
}

TEST_FIXTURE(setup, teardown)

/* The second call comes from the same stack, which is not sent again. */
TEST(a_long_call_names_its_line)
{
    char wanted[128];
    struct spool_writer w = waiting(7, 41, STACK);
    taken.r.head.size = sizeof taken.r;
    taken.r.correlation = 42;
    taken.r.bytes = 0;
    spool_append(&w, 0, &taken, sizeof taken.r);
    drain();
    call(&w, 0, 41);
    call(&w, 1, 43); /* a call without a stack */
    call(&w, 2, 42);
    drain();
    ck_assert_int_eq(m->count[ROW_API], 3);
    ck_assert_int_eq(m->count[ROW_RANGE], finds() ? 2 : 0);
    snprintf(wanted, sizeof wanted, "sync cudaStreamSynchronize() test_stacks.c:%d (train_step)",
             line);
    for (int i = 0; i < m->count[ROW_RANGE]; i++) {
        ck_assert_str_eq(str_text(&m->strings, range_at_row(i)->name), wanted);
        ck_assert_str_eq(str_text(&m->strings, range_at_row(i)->domain), CALLER_DOMAIN);
        ck_assert(range_at_row(i)->start_ns == 1000 && range_at_row(i)->end_ns == 3000);
    }
    spool_end(&w);
    finish();
}

TEST(a_call_without_its_stack_has_no_line)
{
    struct spool_writer w = waiting(7, 41, 0);
    drain();
    call(&w, 0, 41);
    drain();
    ck_assert_int_eq(m->count[ROW_API], 1);
    ck_assert_int_eq(m->count[ROW_RANGE], 0);
    spool_end(&w);
    finish();
}

/* The number of a process that ended may be another one's by now, with other code at the same
 * addresses. */
TEST(another_process_of_the_same_number_names_no_line)
{
    struct spool_writer w = writer("a", getpid(), spool_ticks(getpid()) - 1);
    spool_ready(&w);
    w = waiting_in(w, 7, 41, STACK);
    call(&w, 0, 41);
    drain();
    ck_assert_int_eq(m->count[ROW_RANGE], 0);
    spool_end(&w);
    finish();
}

TEST(a_damaged_record_is_left_out)
{
    struct spool_writer w = waiting(7, 41, 64);
    taken.r.head.size = sizeof taken.r;
    taken.r.bytes = 60000; /* more than there is */
    spool_append(&w, 0, &taken, sizeof taken.r);
    taken.r.head.size = 64; /* less than a record */
    spool_append(&w, 0, &taken, 64);
    spool_end(&w);
    finish();
    ck_assert_int_eq(memory_health(m, "bad-records"), 2);
}
