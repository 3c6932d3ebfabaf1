/* Arena, interned strings, vectors, errors. */
#include "tests/unit/test.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdint.h>
#include <stdio.h>

TEST(arena_memory_is_zeroed_and_aligned)
{
    struct arena a = ARENA_INIT;
    for (size_t i = 1; i < 2000; i += 7) {
        unsigned char *p = arena_alloc(&a, i * 113 % 90000 + 1);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % 16, 0);
        for (size_t k = 0; k < i * 113 % 90000 + 1; k += 501) {
            ck_assert_uint_eq(p[k], 0);
            p[k] = 0xff;
        }
    }
    ck_assert_ptr_null(arena_array(&a, SIZE_MAX / 2, 16));
    ck_assert_str_eq(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
    arena_release(&a);
}

TEST(interned_strings_are_one_id_each)
{
    struct str_table t;
    ck_assert_int_eq(str_table_init(&t), 0);
    ck_assert_uint_eq(str_intern(&t, "", 0), 0);
    char text[32];
    uint32_t first[5000];
    for (int i = 0; i < 5000; i++)
        first[i] = str_intern(&t, text, (size_t)sprintf(text, "kernel_%d", i));
    for (int i = 0; i < 5000; i++) {
        ck_assert_uint_eq(str_intern(&t, text, (size_t)sprintf(text, "kernel_%d", i)), first[i]);
        ck_assert_str_eq(str_text(&t, first[i]), text);
    }
    ck_assert_str_eq(str_text(&t, 999999), "");
    uint32_t nul = str_intern(&t, "a\0b", 3);
    ck_assert_uint_ne(nul, str_intern(&t, "a", 1));
    str_table_release(&t);
}

TEST(vectors_grow_and_keep_their_contents)
{
    struct VEC(int64_t) v = {0};
    for (int64_t i = 0; i < 1000; i++) {
        int64_t *p = vec_push(&v);
        ck_assert_ptr_nonnull(p);
        ck_assert_int_eq(*p, 0);
        *p = i * i;
    }
    for (int64_t i = 0; i < 1000; i++)
        ck_assert_int_eq(v.at[i], i * i);
    vec_release(&v);
    ck_assert_uint_eq(v.n, 0);
}

TEST(errors_carry_one_line)
{
    struct err e = ERR_INIT;
    ck_assert_int_eq(err_set(&e, "cannot read %s", "x"), -1);
    ck_assert_int_eq(err_wrap(&e, "file %d", 3), -1);
    ck_assert_str_eq(e.text, "file 3: cannot read x");
    ck_assert_int_eq(err_set(NULL, "nobody listens"), -1);
    err_set(&e, "%0400d", 7); /* the cause is cut to the room left behind the prefix, and no more */
    err_wrap(&e, "file");
    ck_assert_uint_eq(strlen(e.text), 406);
    ck_assert_str_eq(e.text + 400, "000007");
    err_wrap(&e, "%0400d", 8);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
}
