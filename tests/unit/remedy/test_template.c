/* Templates of remedies, the settings made from them, and the names of remedies in JSON. */
#include "tests/unit/test.h"
#include "analyzer/remedy/template.h"
#include "base/arena.h"

#include <ctype.h>
#include <string.h>

static struct arena arena;

static struct filled fill(const struct remedy *r, const char *template)
{
    return template_fill(template, r, &arena, NULL);
}

TEST(placeholders)
{
    struct remedy r = {.action = ACTION_SET_WORKERS, .object.place = "train.py:9"};
    static const char *const said[][2] = {
        {"num_workers={workers}", "num_workers=4"},
        {"{batch|N} at {place}", "N at train.py:9"},
        {"{?workers=4:four}{!workers=4:other}", "four"},
        {"{?workers:{?made_anew:a}{!made_anew:b{dtype|c}}}", "bc"},
        {"{\"stage\": 2}, {?batch:no}", "{\"stage\": 2}, "},
        {"{open, {workers", "{open, {workers"}};
    remedy_number(&r, PARAM_WORKERS, 4);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct filled f = fill(&r, said[i][0]);
        ck_assert_str_eq(f.text, said[i][1]);
        ck_assert(!f.missing);
        ck_assert_int_eq(f.place, i == 1);
    }
    ck_assert(fill(&r, "{dtype}").missing);
    ck_assert(fill(&r, "{no_such_name|x}").missing);
    ck_assert(fill(&r, "{?no_such_name:x}").missing);
    arena_release(&arena);
}

TEST(settings)
{
    struct remedy r = {.action = ACTION_SET_WORKERS, .object.place = "train.py:9"};
    ck_assert_ptr_null(remedy_setting(&r, &arena)); /* how many? */
    remedy_number(&r, PARAM_WORKERS, 4);
    ck_assert_str_eq(remedy_setting(&r, &arena), "num_workers=4");
    r.conditions[CONDITION_PERSISTENT] = r.conditions[CONDITION_ONE_OF_LOADERS] = true;
    ck_assert_str_eq(remedy_setting(&r, &arena),
                     "num_workers=4;persistent_workers=1;loader=train.py:9");
    r.object.fixed = true;
    ck_assert_ptr_null(remedy_setting(&r, &arena));
    r = (struct remedy){.action = ACTION_OVERLAP_COLLECTIVES};
    ck_assert_ptr_null(remedy_setting(&r, &arena)); /* its template comes out empty */
    ck_assert_str_eq(remedy_setting_name(ACTION_OVERLAP_COLLECTIVES, &arena), "overlap");
    ck_assert_ptr_null(remedy_setting_name(ACTION_COOL_GPU, &arena));
    arena_release(&arena);
}

static void is_name(const char *id)
{
    ck_assert(*id);
    for (const char *p = id; *p; p++)
        ck_assert_msg(islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '_', "%s",
                      id);
}

/* Programs rely on the names, and templates use those of parameters and conditions alike. */
TEST(names)
{
    for (int a = 0; a < ACTION_COUNT; a++) {
        is_name(action_id(a));
        for (int b = 0; b < a; b++)
            ck_assert_str_ne(action_id(a), action_id(b));
        enum action general = action_general(a);
        ck_assert_int_eq(action_general(general), general);
    }
    for (int i = 0; i < CONDITION_COUNT; i++) {
        is_name(condition_id(i));
        for (int k = 0; k < PARAM_COUNT; k++)
            ck_assert_str_ne(condition_id(i), param_id(k));
    }
    for (int i = 0; i < PARAM_COUNT; i++)
        is_name(param_id(i));
    for (int i = 0; i < OBJECT_COUNT; i++)
        is_name(object_id(i));
}
