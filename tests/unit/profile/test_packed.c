/* Rows packed as bytes: they come back as they were put in, and damaged ones do no harm. Parts of a
 * job are read as they were written, or not at all. */
#include "tests/unit/test.h"
#include "analyzer/profile/packed.h"
#include "analyzer/reduce/job.h"
#include "tests/unit/memory_sink.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static void pack_some(struct bytes *b)
{
    struct err e = ERR_INIT;
    struct packer *p = pack_open(b, &e);
    struct sink s = pack_sink(p);
    for (int64_t i = 1; i <= 3; i++) {
        struct row_kernel k = {.id = i, .start_ns = i * 1000, .end_ns = i * 1000 + 7, .process = 1};
        k.name = s.intern(s.self, i == 2 ? "beta" : "alpha", i == 2 ? 4 : 5);
        k.registers = i == 3 ? INT64_MIN : INT64_MAX;
        ck_assert_int_eq(s.put(s.self, ROW_KERNEL, &k, &e), 0);
    }
    struct row_process r = {.id = 1, .rank = -1, .pid = 4711};
    ck_assert_int_eq(s.put(s.self, ROW_PROCESS, &r, &e), 0);
    pack_close(p);
}

TEST(rows_come_back)
{
    struct bytes b = {0};
    struct err e = ERR_INIT;
    struct sink out;
    struct memory *m = memory_new(&out);
    pack_some(&b);
    ck_assert_int_eq(unpack_rows(&b, &out, &e), 0);
    ck_assert_int_eq(m->count[ROW_KERNEL], 3);
    for (int i = 0; i < 3; i++) {
        const struct row_kernel *k = MEMORY_ROW(m, kernel, ROW_KERNEL, i);
        ck_assert_int_eq(k->id, i + 1);
        ck_assert_int_eq(k->end_ns, (i + 1) * 1000 + 7);
        ck_assert_str_eq(memory_text(m, k->name), i == 1 ? "beta" : "alpha");
        ck_assert(k->registers == (i == 2 ? INT64_MIN : INT64_MAX));
    }
    ck_assert_int_eq(MEMORY_ROW(m, process, ROW_PROCESS, 0)->pid, 4711);
    ck_assert_int_eq(MEMORY_ROW(m, process, ROW_PROCESS, 0)->rank, -1);
    ck_assert_uint_lt(b.n, 200); /* 4 rows of 17 and 11 numbers */
    memory_free(m);
    bytes_release(&b);
}

TEST(damaged_bytes_do_no_harm)
{
    struct bytes b = {0};
    pack_some(&b);
    for (size_t at = 0; at < b.n; at++)
        for (int flip = 1; flip < 256; flip *= 2) {
            struct bytes hurt = {malloc(b.n), at % 2 ? at : b.n, b.n};
            struct err e = ERR_INIT;
            struct sink out;
            struct memory *m = memory_new(&out);
            memcpy(hurt.at, b.at, b.n);
            hurt.at[at] ^= (unsigned char)flip;
            if (unpack_rows(&hurt, &out, &e) < 0)
                ck_assert_str_ne(e.text, "");
            memory_free(m);
            bytes_release(&hurt);
        }
    bytes_release(&b);
}

static void write_part(const char *path)
{
    struct err e = ERR_INIT;
    struct job j = {0};
    struct job_file *good = job_add(&j, "rank0.json");
    pack_some(&good->rows);
    good->epoch_ns = 17;
    good->work_ns = 18;
    ck_assert_int_eq(job_file_fails(job_add(&j, "rank1.json"), "rank1.json: empty file"), 0);
    ck_assert_int_eq(job_write(&j, "two files", path, &e), 0);
    job_release(&j);
}

TEST(a_part_is_read_as_written_or_not_at_all)
{
    char path[] = "/tmp/gpuprof-part-XXXXXX";
    struct err e = ERR_INIT;
    struct job j = {0};
    close(mkstemp(path));
    ck_assert_int_eq(job_read(&j, "two files", path, &e), 0); /* an empty file */
    write_part(path);
    ck_assert_int_eq(job_read(&j, "other files", path, &e), 0);
    ck_assert_uint_eq(j.files.n, 0);
    ck_assert_int_eq(job_read(&j, "two files", path, &e), 1);
    ck_assert_uint_eq(j.files.n, 2);
    ck_assert_str_eq(j.files.at[0].path, "rank0.json");
    ck_assert_int_eq(j.files.at[0].epoch_ns, 17);
    ck_assert_int_eq(j.files.at[0].work_ns, 18);
    ck_assert_ptr_null(j.files.at[0].wrong);
    ck_assert_str_eq(j.files.at[1].wrong, "rank1.json: empty file");
    job_release(&j);
    for (long size = 60; size >= 0; size -= 7) { /* it was cut off */
        ck_assert_int_eq(truncate(path, size), 0);
        ck_assert_int_eq(job_read(&j, "two files", path, &e), 0);
        ck_assert_uint_eq(j.files.n, 0);
    }
    job_release(&j);
    remove(path);
}
