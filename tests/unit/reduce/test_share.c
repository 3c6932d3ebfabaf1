/* Which files each process of a job reads. */
#include "tests/unit/test.h"
#include "analyzer/reduce/share.h"

enum { MIB = 1 << 20 };

TEST(every_file_is_read_once)
{
    int64_t bytes[50];
    for (size_t i = 0; i < 50; i++)
        bytes[i] = i % 7 ? (int64_t)(i * i) * 1000 : -1;
    for (size_t processes = 1; processes < 80; processes++) {
        ck_assert_uint_eq(share_first(bytes, 50, 0, processes), 0);
        ck_assert_uint_eq(share_first(bytes, 50, processes, processes), 50);
        for (size_t p = 0; p < processes; p++)
            ck_assert_uint_le(share_first(bytes, 50, p, processes),
                              share_first(bytes, 50, p + 1, processes));
    }
}

TEST(shares_hold_as_many_bytes)
{
    const int64_t even[] = {MIB, MIB, MIB, MIB, MIB, MIB, MIB, MIB};
    const int64_t uneven[] = {4 * MIB, MIB, MIB, MIB, MIB};
    ck_assert_uint_eq(share_first(even, 8, 1, 2), 4);
    ck_assert_uint_eq(share_first(even, 8, 1, 4), 2);
    ck_assert_uint_eq(share_first(even, 8, 3, 4), 6);
    ck_assert_uint_eq(share_first(uneven, 5, 1, 2), 1);
}

TEST(empty_files_are_shared_too)
{
    const int64_t none[4] = {0, -1, 0, 0};
    ck_assert_uint_eq(share_first(none, 4, 1, 2), 2);
    ck_assert_uint_eq(share_first(none, 0, 1, 2), 0);
}

TEST(more_processes_than_files)
{
    const int64_t two[] = {MIB, MIB};
    size_t with = 0;
    for (size_t p = 0; p < 5; p++)
        with += share_first(two, 2, p + 1, 5) - share_first(two, 2, p, 5);
    ck_assert_uint_eq(with, 2);
}
