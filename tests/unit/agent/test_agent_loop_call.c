/* Which call counts as the one in which a library runs the loop (agent/lines/loop_call.c). */
#include "tests/unit/test.h"

#include "agent/lines/loop_call.c"

enum {
    FRAME = 4096,
    FIT = 10,
    OTHER = 20
}; /* a frame of the user's, and two of its instructions */

static void setup(void)
{
    keep_call(&passes_back, 0, 0);
    keep_call(&runs_loop, 0, 0);
}

TEST_FIXTURE(setup, NULL)

TEST(a_backward_pass_and_an_optimizer_below_one_call)
{
    ck_assert(!loop_call(FRAME, FIT, false, false));
    ck_assert(!loop_call(FRAME, FIT, true, false));
    ck_assert(loop_call(FRAME, FIT, false, true));
    ck_assert(loop_call(FRAME, FIT, false, false)); /* what launches from now on */
    ck_assert(!loop_call(FRAME, OTHER, false, false));
}

/* The program's own loop, with a library that wraps both. */
TEST(two_calls_are_the_programs_own_loop)
{
    for (int step = 0; step < 2; step++) {
        ck_assert(!loop_call(FRAME, FIT, true, false));
        ck_assert(!loop_call(FRAME, OTHER, false, true));
    }
}

TEST(an_optimizer_alone_is_none)
{
    ck_assert(!loop_call(FRAME, FIT, false, true));
    ck_assert(!loop_call(FRAME, FIT, true, false));
}
