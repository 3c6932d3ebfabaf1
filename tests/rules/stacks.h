/* Adds samples of the program's stacks to the cases of several rules. */
#ifndef GPUPROF_TESTS_RULES_STACKS_H
#define GPUPROF_TESTS_RULES_STACKS_H

#include "tests/unit/rule_case.h"

/* Adds a frame that `caller` calls (0: the outermost); returns its id, by which the stack is known. */
static inline int64_t stack_below(struct builder *b, int64_t caller, const char *file,
                                  const char *function, int64_t line)
{
    struct row_stack r = {++b->next_id, caller, build_text(b, file), build_text(b, function),
                          line,         0};
    build_put(b, ROW_STACK, &r);
    return r.id;
}

/* Adds a stack of one frame, in a file of the user; returns its id. */
static inline int64_t stack_of(struct builder *b, const char *file, const char *function,
                               int64_t line)
{
    return stack_below(b, 0, file, function, line);
}

static inline void look_at(struct builder *b, int64_t stack, int64_t at)
{
    struct row_stack_sample r = {++b->next_id, 1, b->thread, at, at, 1, STACK_RUNNING, 0, stack};
    build_put(b, ROW_STACK_SAMPLE, &r);
}

#endif
