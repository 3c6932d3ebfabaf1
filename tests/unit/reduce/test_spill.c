/* Summaries that are spilled to a file: only few bytes of them stay in memory, and all rows come
 * back. */
#include "tests/unit/test.h"
#include "analyzer/reduce/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 150, ROWS = 4000, MOST_HELD = 5 << 20 };

static void pack_ranges(struct bytes *b, int64_t file)
{
    struct err e = ERR_INIT;
    struct packer *p = pack_open(b, &e);
    struct sink sink = pack_sink(p);
    for (int64_t i = 0; i < ROWS; i++) {
        struct row_range r = {
            .id = i + 1, .start_ns = (i * 7919 + file) << 20, .end_ns = (i * 104729) << 30};
        ck_assert_int_eq(sink.put(sink.self, ROW_RANGE, &r, &e), 0);
    }
    pack_close(p);
}

static size_t in_memory(const struct job *j)
{
    size_t sum = 0;
    for (size_t i = 0; i < j->files.n; i++)
        sum += j->files.at[i].rows.cap;
    return sum;
}

static void make(struct job *j, bool spill, size_t *packed)
{
    *packed = 0;
    for (int64_t i = 0; i < FILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "rank%d.json", (int)i);
        struct job_file *f = job_add(j, name);
        pack_ranges(&f->rows, i);
        *packed += f->rows.n;
        if (spill)
            job_spill(j);
    }
}

static bool same(const struct job *a, const struct job *b, size_t file)
{
    struct err e = ERR_INIT;
    struct bytes one = {0}, other = {0};
    const struct bytes *x = job_rows(a, &a->files.at[file], &one, &e);
    const struct bytes *y = job_rows(b, &b->files.at[file], &other, &e);
    bool good = x && y && x->n == y->n && memcmp(x->at, y->at, x->n) == 0;
    bytes_release(&one);
    bytes_release(&other);
    return good;
}

TEST(memory_does_not_grow_with_the_ranks)
{
    struct job spilled = {0}, held = {0};
    size_t packed;
    make(&held, false, &packed);
    make(&spilled, true, &packed);
    ck_assert_uint_gt(packed, 2 * (size_t)MOST_HELD);
    ck_assert_uint_gt(in_memory(&held), 2 * (size_t)MOST_HELD);
    ck_assert_uint_lt(in_memory(&spilled), MOST_HELD);
    for (size_t i = 0; i < FILES; i++)
        ck_assert_msg(same(&spilled, &held, FILES - 1 - i), "rows of file %zu", FILES - 1 - i);
    job_release(&spilled);
    job_release(&held);
}

TEST(without_a_place_all_stays_in_memory)
{
    struct job spilled = {0}, held = {0};
    size_t packed;
    setenv("TMPDIR", "/nowhere", 1);
    make(&spilled, true, &packed);
    unsetenv("TMPDIR");
    make(&held, false, &packed);
    ck_assert_ptr_null(spilled.spill);
    for (size_t i = 0; i < FILES; i++)
        ck_assert_msg(same(&spilled, &held, i), "rows of file %zu", i);
    job_release(&spilled);
    job_release(&held);
}
