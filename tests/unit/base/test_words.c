/* Sets of words: each word of a set is found, and no other. */
#include "tests/unit/test.h"
#include "base/words.h"

#include <stdio.h>

static const struct word few[] = {WORD("ts", 1), WORD("st", 2), WORD("name", 3), WORD("nome", 4),
                                  WORD("n", 5)};

TEST(test_found)
{
    struct words w;
    words_index(&w, few, sizeof few / sizeof *few);
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        ck_assert_ptr_eq(words_find(&w, few[i].text, few[i].length), &few[i]);
    ck_assert_int_eq(words_find(&w, "name and more", 4)->value, 3); /* no NUL is needed */
}

TEST(test_not_found)
{
    struct words w;
    words_index(&w, few, sizeof few / sizeof *few);
    static const char *const others[] = {"", "t", "tt", "nam", "names", "nxme", "NAME", "\xff\xff"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_ptr_null(words_find(&w, others[i], strlen(others[i])));
}

/* As full as it may be, and all of them in one place. */
TEST(test_full)
{
    static char text[WORDS_MOST][8];
    static struct word many[WORDS_MOST];
    struct words w;
    for (int i = 0; i < WORDS_MOST; i++) {
        snprintf(text[i], sizeof text[i], "a%02dz", i);
        many[i] = (struct word){text[i], 4, (uint8_t)i};
    }
    words_index(&w, many, WORDS_MOST);
    for (int i = 0; i < WORDS_MOST; i++)
        ck_assert_int_eq(words_find(&w, text[i], 4)->value, i);
    ck_assert_ptr_null(words_find(&w, "a99z", 4));
}
