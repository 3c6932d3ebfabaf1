/* Adds lines and modules of launches to the cases of several rules. */
#ifndef GPUPROF_TESTS_RULES_LAUNCH_LINES_H
#define GPUPROF_TESTS_RULES_LAUNCH_LINES_H

#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

/* Adds a line of the user's own code that runs in a module ("core (GRU)"); returns its id. */
static inline int64_t line_in(struct builder *b, const char *module, const char *function,
                              int64_t line)
{
    struct row_stack m = {++b->next_id, 0, 0, build_text(b, module), 0, 0};
    build_put(b, ROW_STACK, &m);
    struct row_stack r = {
        ++b->next_id, m.id, build_text(b, "/home/me/train.py"), build_text(b, function), line, 0};
    build_put(b, ROW_STACK, &r);
    return r.id;
}

/* From `at` on launches come from this line. */
static inline void launch_from(struct builder *b, enum spool_line what, int64_t line, int64_t at)
{
    struct row_launch_line r = {++b->next_id, 1, b->thread, at, -1, 1, what, line};
    build_put(b, ROW_LAUNCH_LINE, &r);
}

static inline void launches_have_lines(struct builder *b, int64_t from, int64_t to)
{
    struct row_launch_line r = {++b->next_id, 1, -1, from, to, 1, SPOOL_LINE_STRETCH, 0};
    build_put(b, ROW_LAUNCH_LINE, &r);
}

#endif
