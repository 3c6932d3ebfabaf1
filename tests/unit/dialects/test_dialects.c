/* All dialects: their templates use only names that exist, and the frameworks' dialects have words
 * for every action. The suites beside this one test what each says. */
#include "tests/unit/test.h"
#include "analyzer/dialects/dialect.h"
#include "base/arena.h"

#include <ctype.h>
#include <string.h>

static struct arena arena;

/* "{?made_anew:", "{workers|": is there such a name? */
static bool known(const char *at, size_t n)
{
    static const char *const others[] = {"place", "name", "loader", "general", "window"};
    const char *name = arena_printf(&arena, "%.*s", (int)n, at);
    bool found = false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        found |= strcmp(name, others[i]) == 0;
    for (int i = 0; i < PARAM_COUNT; i++)
        found |= strcmp(name, param_id(i)) == 0;
    for (int i = 0; i < CONDITION_COUNT; i++)
        found |= strcmp(name, condition_id(i)) == 0;
    return found;
}

static bool has_phrase(const struct dialect *d, const char *at, size_t n)
{
    for (; d; d = d->base)
        for (size_t i = 0; i < PHRASES && d->phrases[i].name; i++)
            if (strlen(d->phrases[i].name) == n && memcmp(d->phrases[i].name, at, n) == 0)
                return true;
    return false;
}

static void check_names(const struct dialect *d, const char *template)
{
    for (const char *p = template; p && (p = strchr(p, '{')) != NULL; p++) {
        const char *name = p + 1 + (p[1] && strchr("?!@", p[1]));
        size_t n = strcspn(name, ":=|} ");
        if (p[1] == '@')
            ck_assert_msg(has_phrase(d, name, n), "%s: %s", d->id, p);
        else if (name > p + 1 || islower((unsigned char)*name))
            ck_assert_msg(known(name, n), "%s: %s", d->id, p);
    }
}

TEST(names_exist)
{
    for (size_t i = 0; i < dialect_count; i++) {
        const struct dialect *d = dialects[i];
        for (int a = 0; a < ACTION_COUNT; a++)
            check_names(d, d->words[a]);
        for (size_t k = 0; k < PHRASES && d->phrases[k].name; k++)
            check_names(d, d->phrases[k].text);
    }
    for (int a = 0; a < ACTION_COUNT; a++)
        check_names(&dialect_any, action_settings(a));
    arena_release(&arena);
}

/* Of an action alone, with nothing else known. */
TEST(frameworks_have_words)
{
    /* TensorFlow has no such exchanges of its own to move. */
    static const enum action unsaid[] = {ACTION_EXCHANGE_EARLIER, ACTION_OVERLAP_LAYERS};
    static const struct dialect *const bases[] = {&dialect_pytorch, &dialect_tensorflow,
                                                  &dialect_cuda};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        for (int a = 1; a < ACTION_COUNT; a++) {
            struct remedy r = {.action = a};
            const char *words = dialect_say(bases[i], NULL, &r, &arena);
            bool none =
                bases[i] == &dialect_tensorflow && (a == (int)unsaid[0] || a == (int)unsaid[1]);
            ck_assert_msg((words == NULL) == none, "%s: %s", bases[i]->id, action_id(a));
        }
    arena_release(&arena);
}

TEST(all_are_listed_once)
{
    ck_assert_ptr_eq(dialect_listed(0), &dialect_any);
    for (size_t i = 0; i < dialect_count; i++) {
        ck_assert_ptr_nonnull(dialect_listed(i));
        ck_assert(dialects[i] == &dialect_any || dialects[i]->base);
        for (size_t k = 0; k < i; k++)
            ck_assert_ptr_ne(dialect_listed(i), dialect_listed(k));
    }
    ck_assert_ptr_null(dialect_listed(dialect_count));
}
