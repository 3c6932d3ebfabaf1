/* Times without any record from CUPTI: which part of them counts as not recorded. */
#include "tests/unit/test.h"
#include "tests/unit/keep_spool.h"

/* CUPTI was heard last at some time before SECOND * 5 and again before SECOND * 20. */
static const int64_t SECOND = 1000000000;

static uint32_t stepped;

static void silence(int64_t end, uint32_t held)
{
    struct spool_rec_silent r = {
        {SPOOL_REC_SILENT, sizeof r, 7, START + 5 * SECOND, end == INT64_MAX ? end : START + end},
        held,
        stepped};
    spool_append(&w, 0, &r, sizeof r);
    drain();
}

static void library_call_at(int64_t from, int64_t to)
{
    struct spool_rec_call r = {.head = {SPOOL_REC_CALL, sizeof r, 7, from, to},
                               .function = spool_text(&w, "cublasSgemm_v2"),
                               .family = SPOOL_CALL_GEMM};
    spool_append(&w, 0, &r, sizeof r);
    drain();
}

static void library_call(int64_t at)
{
    library_call_at(START + at, START + at + 9);
}

TEST_FIXTURE(setup, teardown)

TEST_EACH(test_silence, 0, 7)
{
    static const struct {
        const char *what;
        int64_t before_s, within_s; /* calls before it is known, and after; tenths; 0 = none */
        uint32_t held;
        bool ends, counts, stepped;
    } cases[] = {
        {"the program does without the GPU", 0, 0, 0, true, false, false},
        {"its steps go on", 0, 0, 0, true, false, true},
        {"calls before it alone", 52, 0, 0, true, false, false},
        {"a call before it was noticed", 60, 0, 0, true, true, false},
        {"a call in it", 0, 90, 0, true, true, false},
        {"held by another", 0, 0, 1, true, true, false},
        {"to the end", 0, 90, 0, false, true, false},
    };
    spool_ring_open(&w, 0, 7);
    stepped = cases[_i].stepped;
    if (cases[_i].before_s)
        library_call(cases[_i].before_s * SECOND / 10);
    silence(INT64_MAX, 0);
    if (cases[_i].held)
        silence(INT64_MAX, 1);
    if (cases[_i].within_s)
        library_call(cases[_i].within_s * SECOND / 10);
    if (cases[_i].ends)
        silence(20 * SECOND, cases[_i].held);
    library_call(25 * SECOND);
    w.h->start_monotonic_ns = START;
    finish();
    int pieces = !cases[_i].counts ? 0 : cases[_i].ends ? 2 : 1;
    ck_assert_msg(m->count[ROW_RECORDED] == pieces, "%s: %d", cases[_i].what,
                  m->count[ROW_RECORDED]);
    bool told = cases[_i].counts || cases[_i].stepped; /* a compiler at work is no worry */
    ck_assert_int_eq(memory_health(m, "cupti-silent") > 0, told);
    if (pieces > 0)
        ck_assert_int_eq(MEMORY_ROW(m, recorded, ROW_RECORDED, 0)->end_ns, 4 * SECOND);
    if (pieces > 1) {
        const struct row_recorded *r = MEMORY_ROW(m, recorded, ROW_RECORDED, 1);
        ck_assert(r->start_ns == 20 * SECOND && r->gpu_start_ns == -1 && r->first_step == -1);
        ck_assert_int_eq(r->end_ns, MEMORY_ROW(m, process, ROW_PROCESS, 0)->end_ns);
    }
}

/* A run that ends in silence, however short: known only by what was called in it, or because CUPTI
 * kept its buffers. */
TEST_EACH(test_silent_end, 0, 4)
{
    static const struct {
        int64_t call_ms; /* after CUPTI's last record */
        bool kept, counts;
    } cases[] = {{-2, false, false}, {0, false, false}, {5, false, true}, {-2, true, true}};
    uint64_t at = 0;
    int64_t told = 3 * SECOND, ms = 1000000;
    spool_ring_open(&w, 0, 7);
    spool_api(&w, 0, &at, 5, 211, epoch + START + told - 10, epoch + START + told, 7, 1);
    spool_state(&w, 0, SPOOL_READY, at);
    drain();
    library_call(told + cases[_i].call_ms * ms);
    if (cases[_i].kept) {
        struct spool_rec_silent r = {
            {SPOOL_REC_SILENT, sizeof r, 7, START + told, START + told + 9 * ms}, 1, 0};
        spool_append(&w, 0, &r, sizeof r);
    }
    w.h->start_monotonic_ns = START;
    finish();
    ck_assert_int_eq(m->count[ROW_RECORDED], cases[_i].counts);
    ck_assert_int_eq(memory_health(m, "cupti-end") > 0, cases[_i].counts);
    if (cases[_i].counts)
        ck_assert_int_eq(MEMORY_ROW(m, recorded, ROW_RECORDED, 0)->end_ns, told);
}

/* Damaged times wrap around; nothing is said of what they come to. */
TEST_EACH(test_hostile_silences, 0, 36)
{
    static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1, 0, INT64_MAX - 1, INT64_MAX};
    uint64_t at = 0;
    spool_ring_open(&w, 0, 7);
    spool_api(&w, 0, &at, 5, 211, times[_i / 6], times[_i % 6], 7, 1);
    spool_state(&w, 0, SPOOL_READY, at);
    struct spool_rec_silent r = {
        {SPOOL_REC_SILENT, sizeof r, 7, times[_i / 6], times[_i % 6]}, 1, 0};
    spool_append(&w, 0, &r, sizeof r);
    library_call_at(times[_i % 6], times[_i / 6]);
    w.h->start_monotonic_ns = (uint64_t)times[_i / 6];
    finish();
}
