/* The collector on rings as the agent writes them, and on rings, ids, headers and files that no
 * agent would write. */

#include "tests/unit/test.h"
#include "tests/unit/collect_spools.h"

TEST_FIXTURE(setup, teardown)

TEST(test_ring_wraps)
{
    struct spool_writer w = live("a");
    uint32_t name = spool_text(&w, "r");
    uint8_t long_record[104] = {
        0}; /* of no kind that is known: leaves room of odd sizes before the end */
    uint16_t head[2] = {200, sizeof long_record};
    memcpy(long_record, head, sizeof head);
    spool_ring_open(&w, 0, 9);
    int64_t put = 0;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 25; i++, put++) {
            spool_range(&w, 0, 9, name, START + put, START + put + 1, (uint16_t)(put % 3));
            if (i % 10 == 0)
                spool_append(&w, 0, long_record, sizeof long_record);
        }
        drain();
    }
    ck_assert_int_eq(m->count[ROW_RANGE], put);
    for (int i = 0; i < put; i++) {
        const struct row_range *r = MEMORY_ROW(m, range, ROW_RANGE, i);
        ck_assert(r->start_ns == i && r->depth == i % 3);
    }
    ck_assert_uint_eq(atomic_load(&spool_ring_at(&w, 0)->tail),
                      atomic_load(&spool_ring_at(&w, 0)->head));
    atomic_store(&spool_ring_at(&w, 0)->state, SPOOL_RING_CLOSED);
    drain();
    ck_assert_int_eq(atomic_load(&spool_ring_at(&w, 0)->state), SPOOL_RING_FREE);
    atomic_store(&w.h->sealed, 1);
    finish();
    ck_assert_int_eq(memory_health(m, "bad-records"), -1);
    spool_end(&w);
}

static void append_one_of_each(struct spool_writer *w)
{
    struct spool_rec_call call = {{SPOOL_REC_CALL, sizeof call, 9, START + 1, START + 4},
                                  .function = spool_text(w, "cudnnConvolutionForward"),
                                  .family = SPOOL_CALL_CONV_FWD,
                                  .in_type = SPOOL_DT_F16,
                                  .algo = -1,
                                  .dim = {32, 64},
                                  .bytes = 77};
    spool_append(w, 0, &call, sizeof call);
    struct spool_rec_call all = {{SPOOL_REC_CALL, sizeof all, 9, START + 5, START + 6},
                                 .function = spool_text(w, "AllReduce"),
                                 .family = SPOOL_CALL_COLLECTIVE,
                                 .bytes = 4096,
                                 .comm = 3,
                                 .sequence = 12};
    spool_append(w, 0, &all, sizeof all);
    struct spool_rec_loader load = {
        {SPOOL_REC_LOADER, sizeof load, 10, START + 2, START + 8}, SPOOL_LOADER_FETCH, 1, 5, 6};
    spool_append(w, 0, &load, sizeof load);
    struct spool_rec_health health = {{SPOOL_REC_HEALTH, sizeof health, 9, START, START},
                                      spool_text(w, "cupti-busy"),
                                      spool_text(w, "another profiler is there"),
                                      99,
                                      0,
                                      39};
    spool_append(w, 0, &health, sizeof health);
    struct spool_rec_meta thread = {
        {SPOOL_REC_THREAD, sizeof thread, 10, 0, 0}, spool_text(w, "loader-0"), 0};
    spool_append(w, 0, &thread, sizeof thread);
    struct spool_rec_range mark = {
        {SPOOL_REC_RANGE, sizeof mark, 9, START, START}, 0, 0, 0, SPOOL_RANGE_MARK, 0, 0};
    spool_append(w, 0, &mark, sizeof mark);
}

TEST(test_ring_kinds)
{
    struct spool_writer w = dead("a");
    spool_ring_open(&w, 0, 9);
    append_one_of_each(&w);
    spool_meta(&w, 0, "command", "./train");
    finish();
    const struct row_call *r = MEMORY_ROW(m, call, ROW_CALL, 0);
    ck_assert(m->count[ROW_CALL] == 1 && r->algo == -1 && r->dim[0] == 32 && r->dim[1] == 64 &&
              r->workspace_bytes == 77);
    ck_assert(r->start_ns == 1 && r->end_ns == 4 && r->in_type == SPOOL_DT_F16);
    const struct row_collective *a = MEMORY_ROW(m, collective, ROW_COLLECTIVE, 0);
    ck_assert(a->bytes == 4096 && a->communicator == 3 && a->sequence == 12 && a->kernel == -1);
    const struct row_loader *l = MEMORY_ROW(m, loader, ROW_LOADER, 0);
    ck_assert(l->what == SPOOL_LOADER_FETCH && l->worker == 1 && l->batch == 5 && l->cpu_ns == 6);
    ck_assert_int_eq(memory_health(m, "cupti-busy"), 39);
    ck_assert_int_eq(MEMORY_ROW(m, health, ROW_HEALTH, 0)->severity, 1); /* 99 is none */
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, thread, ROW_THREAD, 1)->name), "loader-0");
    ck_assert_int_eq(m->count[ROW_RANGE], 0);
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, process, ROW_PROCESS, 0)->command), "./train");
    const char *have = memory_meta(m, "have");
    ck_assert(strstr(have, "calls") && strstr(have, "loader") && strstr(have, "collectives"));
    spool_end(&w);
}

static void damage_ring(struct spool_writer *w, int how)
{
    struct spool_ring *r = spool_ring_at(w, 1); /* the last of the file: behind it is nothing */
    uint8_t *data = w->map + w->h->ring_data_off + SPOOL_TEST_BYTES;
    uint16_t words[2] = {SPOOL_REC_RANGE, 48};
    memcpy(data, words, sizeof words);
    atomic_store(&r->state, SPOOL_RING_OPEN);
    uint64_t head = 48, tail = 0;
    switch (how) {
    case 0: /* head before tail */
        head = 8, tail = 16;
        break;
    case 1: /* more than fits */
        head = UINT64_MAX;
        break;
    case 2: /* a record that starts in the last byte */
        head = SPOOL_TEST_BYTES + 47, tail = SPOOL_TEST_BYTES - 1;
        break;
    case 3: /* longer than what was written */
        words[1] = 4096;
        break;
    case 4: /* shorter than its head */
        words[1] = 4;
        break;
    case 5: /* not in eights */
        words[1] = 45;
        break;
    case 6: /* a pad of no size */
        words[0] = SPOOL_REC_PAD, words[1] = 0;
        break;
    default: /* reaches over the end of the ring */
        tail = SPOOL_TEST_BYTES - 8, head = tail + 48;
        memcpy(data + SPOOL_TEST_BYTES - 8, words, sizeof words);
        break;
    }
    memcpy(data, words, sizeof words);
    atomic_store(&r->head, head);
    atomic_store(&r->tail, tail);
}

TEST_EACH(test_hostile_rings, 0, 8)
{
    struct spool_writer w = live("a");
    damage_ring(&w, _i);
    drain();
    ck_assert_int_eq(m->count[ROW_RANGE], 0);
    ck_assert_uint_eq(atomic_load(&spool_ring_at(&w, 1)->tail),
                      atomic_load(&spool_ring_at(&w, 1)->head));
    atomic_store(&w.h->sealed, 1);
    finish();
    ck_assert_int_eq(memory_health(m, "bad-records"), 1); /* once, not once a drain */
    spool_end(&w);
}

TEST(test_hostile_ids)
{
    static const uint32_t ids[] = {UINT32_MAX, SPOOL_TEST_BYTES / 8, SPOOL_TEST_BYTES / 8 - 1, 500,
                                   1};
    struct spool_writer w = dead("a");
    spool_ring_open(&w, 0, 1);
    for (int i = 0; i < 5; i++) {
        spool_range(&w, 0, 1, ids[i], INT64_MIN, INT64_MAX, UINT16_MAX);
        struct spool_rec_meta r = {{SPOOL_REC_META, sizeof r, 1, 0, 0}, ids[i], ids[4 - i]};
        spool_append(&w, 0, &r, sizeof r);
    }
    /* an entry whose length reaches far beyond the table */
    uint32_t id = spool_text(&w, "long");
    struct spool_string *s =
        (struct spool_string *)(void *)(w.map + w.h->strings_off + (uint64_t)id * 8);
    atomic_store(&s->length, UINT32_MAX);
    spool_range(&w, 0, 1, id, START, START, 0);
    atomic_store(&w.h->names_used, UINT32_MAX);
    struct spool_name *names = (struct spool_name *)(void *)(w.map + w.h->names_off);
    for (int i = 1; i < SPOOL_TEST_NAMES; i++)
        names[i] = (struct spool_name){0x7000, UINT32_MAX - (uint32_t)i, 0};
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x7000);
    spool_kernel(&w, 0, &at, INT64_MAX - 1, INT64_MAX, 2, UINT64_MAX);
    spool_state(&w, 0, SPOOL_READY, at);
    atomic_store(&w.h->strings_used, UINT64_MAX);
    atomic_store(&w.h->anchors_head, UINT32_MAX);
    w.h->anchors[5] = (struct spool_anchor){INT64_MIN, INT64_MAX, INT64_MAX, 0};
    finish();
    ck_assert_int_eq(m->count[ROW_RANGE], 6);
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, range, ROW_RANGE, 5)->name), "");
    ck_assert_int_eq(KERNELS, 2);
    ck_assert_str_eq(memory_text(m, KERNEL(0)->name), "");
    spool_end(&w);
}

static void damage_header(struct spool_header *h, int how)
{
    switch (how) {
    case 0:
        h->version = SPOOL_VERSION + 1;
        break;
    case 1:
        h->header_bytes = 8;
        break;
    case 2:
        h->descs_off = h->file_bytes - 8;
        break;
    case 3:
        h->rings_off = UINT64_MAX - 7;
        break;
    case 4:
        h->names_cap = UINT32_MAX;
        break;
    case 5:
        h->strings_cap = UINT64_MAX;
        break;
    case 6:
        h->buffer_bytes = UINT32_MAX;
        break;
    case 7:
        h->buffer_count = UINT32_MAX;
        break;
    case 8:
        h->ring_bytes = 4097;
        break;
    case 9:
        h->ring_bytes = 0;
        break;
    case 10:
        h->ring_count = 60000;
        break;
    case 11:
        h->ring_data_off += 4;
        break;
    case 12:
        h->anchors_cap = 1 << 30;
        break;
    default:
        h->header_bytes = UINT32_MAX;
        break;
    }
}

TEST_EACH(test_hostile_headers, 0, 14)
{
    struct spool_writer w = writer("a", DEAD, 1);
    damage_header(w.h, _i);
    uint64_t bytes = w.h->file_bytes;
    spool_ready(&w);
    drain();
    finish();
    ck_assert_int_eq(m->count[ROW_PROCESS], 0);
    ck_assert_int_eq(memory_health(m, "bad-spool"), 1);
    ck_assert(access(w.path, F_OK) < 0);
    munmap(w.map, bytes);
}

/* What was checked at opening is changed behind the collector's back. */
TEST(test_header_changes)
{
    struct spool_writer w = live("a");
    drain();
    struct spool_header saved;
    memcpy(&saved, w.h, sizeof saved);
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    w.h->buffers_off = UINT64_MAX - 4096, w.h->buffer_bytes = UINT32_MAX,
    w.h->descs_off = 1ull << 40;
    w.h->ring_count = w.h->buffer_count = UINT32_MAX,
    w.h->ring_data_off = w.h->rings_off = 1ull << 40;
    w.h->strings_off = w.h->names_off = 1ull << 40, w.h->strings_cap = UINT64_MAX,
    w.h->names_cap = UINT32_MAX;
    atomic_store(&w.h->names_used, 1000);
    drain();
    ck_assert_int_eq(KERNELS, 1);
    atomic_store(&w.h->sealed, 1);
    finish();
    spool_end(&(struct spool_writer){.map = w.map, .h = &saved});
}

/* It says that four thousand million windows have gone by since the last look, at each look. */
TEST(test_hostile_windows)
{
    struct spool_writer w = writer("a", getpid(), spool_ticks(getpid()));
    w.h->window = SPOOL_WINDOWS_EVERY;
    spool_ready(&w);
    for (uint32_t look = 0; look < 40; look++) {
        atomic_store(&w.h->windows_head, UINT32_MAX - 2 * look);
        drain();
    }
    atomic_store(&w.h->sealed, 1);
    finish();
    ck_assert_int_eq(m->count[ROW_PROCESS], 1);
    ck_assert_int_le(m->count[ROW_RECORDED], 40 * SPOOL_WINDOWS);
    spool_end(&w);
}

/* Two steps as far apart as times go, and further than a length reaches. */
TEST(test_hostile_steps)
{
    struct spool_writer w = dead("a");
    uint32_t name = spool_text(&w, "step");
    w.h->window = SPOOL_WINDOWS_EVERY;
    spool_ring_open(&w, 0, 7);
    for (int i = 0; i < 2; i++) {
        int64_t at = i ? INT64_MAX - 1 : INT64_MIN + 2 * START;
        struct spool_rec_range r = {{SPOOL_REC_STEP, sizeof r, 7, at, at}, name, 0, 0, 0, 0, 0};
        spool_append(&w, 0, &r, sizeof r);
    }
    finish();
    ck_assert_int_eq(m->count[ROW_STEP_BLOCK], 2);
    spool_end(&w);
}

TEST(test_truncated_file)
{
    struct spool_writer w = dead("a");
    ck_assert_int_eq(truncate(w.path, (off_t)(w.h->file_bytes - 4096)), 0);
    drain();
    char path[128];
    snprintf(path, sizeof path, "%s/b.spool", dir);
    FILE *f = fopen(path, "w");
    fputs("GPUPSPL", f);
    fclose(f);
    drain();
    finish();
    ck_assert_uint_eq(collect_processes(c), 0);
    ck_assert_int_eq(memory_health(m, "bad-spool"), 1);
    ck_assert(access(path, F_OK) < 0);
    spool_end(&w);
}

/* The process cuts its file short, to a page or to nothing, after some of it was read. */
TEST_EACH(test_cut_while_mapped, 0, 3)
{
    struct spool_writer w = live("a");
    const off_t left[] = {0, 4096, (off_t)w.h->file_bytes - 4096};
    uint64_t at = 0;
    spool_kernel(&w, 0, &at, stamp(1), stamp(2), 1, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    drain();
    ck_assert_int_eq(KERNELS, 1);
    struct spool_header saved; /* of the test's own map */
    memcpy(&saved, w.h, sizeof saved);
    ck_assert_int_eq(truncate(w.path, left[_i]), 0);
    drain();
    finish();
    ck_assert_int_eq(KERNELS, 1);
    ck_assert_int_eq(m->count[ROW_PROCESS], 1);
    ck_assert_int_eq(memory_health(m, "spool-cut"), 1);
    spool_end(&(struct spool_writer){.map = w.map, .h = &saved});
}
