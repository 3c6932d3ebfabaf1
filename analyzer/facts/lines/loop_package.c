/* Finds the package that runs the training loop for the program.
 *
 * A program may hand its loop to a library: `model.learn(...)`, `trainer.train()`. Then one line of
 * the user's is on the stack during all of the run, and says nothing about what the loop does. The
 * lines of the library that runs the loop say it. It runs the loop if it calls backward passes and
 * optimizers below that line; a library whose model the program calls does not, nor one that only
 * wraps the backward pass. */
#include "analyzer/facts/lines/lines_parts.h"

#include "analyzer/facts/limits.h"
#include "wire/python_owner.h"

#include <string.h>

static bool same_line(const struct timeline *t, uint32_t a, uint32_t b)
{
    const struct row_stack *x = &t->stacks[a], *y = &t->stacks[b];
    return a == b || (x->file == y->file && x->function == y->function && x->line == y->line);
}

/* Index in timeline.stacks of the training thread's stack in sample `i`, if it lies in the steps and
 * has a line; TL_NONE otherwise. */
static uint32_t stack_in_steps(const struct facts *f, const struct stack_line *stacks, size_t i)
{
    const struct row_stack_sample *s = &f->tl->stack_samples[i];
    uint32_t stack = timeline_stack_index(f->tl, s->stack);
    bool in = s->looks > 0 && s->start_ns >= f->steps.at[0].start_ns &&
              s->start_ns < f->steps.at[f->steps.count - 1].end_ns;
    return in && stack != TL_NONE && stacks[stack].line != TL_NONE &&
                   timeline_thread_index(f->tl, s->thread) == f->steps.main_thread
               ? stack
               : TL_NONE;
}

/* The line that nearly all looks have, or TL_NONE. A line with more than half of them is left over
 * where looks at two different lines cancel each other (Boyer and Moore, 1981). */
static uint32_t only_line(const struct facts *f, const struct stack_line *stacks)
{
    const struct timeline *t = f->tl;
    uint32_t line = TL_NONE;
    int64_t left = 0, all = 0, its = 0;
    for (size_t i = 0; i < t->stack_sample_count; i++) {
        uint32_t stack = stack_in_steps(f, stacks, i);
        if (stack == TL_NONE)
            continue;
        int64_t looks = t->stack_samples[i].looks;
        bool same = line != TL_NONE && same_line(t, line, stacks[stack].line);
        left += same ? looks : -looks;
        if (left < 0) {
            line = stacks[stack].line;
            left = -left;
        }
    }
    for (size_t i = 0; line != TL_NONE && i < t->stack_sample_count; i++) {
        uint32_t stack = stack_in_steps(f, stacks, i);
        if (stack == TL_NONE)
            continue;
        all += t->stack_samples[i].looks;
        its += same_line(t, line, stacks[stack].line) ? t->stack_samples[i].looks : 0;
    }
    return all >= LINES_LEAST && its * 100 >= all * FACTS_LOOP_ELSEWHERE_PCT ? line : TL_NONE;
}

enum { BACKWARD = 1, OPTIMIZER = 2 };

/* The package that the line calls in this stack, perhaps through wrappers of Python or PyTorch; length
 * 0: none. *trains: bits are added for what of a training step it calls. */
static struct loop_package called_in(const struct timeline *t, uint32_t stack, uint32_t line,
                                     unsigned *trains)
{
    struct loop_package called = {NULL, 0};
    for (uint32_t i = stack; i != line; i = timeline_stack_index(t, t->stacks[i].caller)) {
        const char *file = tl_text(t, t->stacks[i].file);
        enum python_owner owner = python_owner(file);
        if (owner == PYTHON_OF_TORCH &&
            strcmp(tl_text(t, t->stacks[i].function), "Tensor.backward") == 0)
            *trains |= BACKWARD;
        if (owner == PYTHON_OF_TORCH && strstr(file, "torch/optim/"))
            *trains |= OPTIMIZER;
        const char *inside = owner == PYTHON_OF_PACKAGE ? python_in_packages(file) : "";
        size_t length = strcspn(inside, "/");
        if (inside[length]) /* a file in a folder; the outermost one stays */
            called = (struct loop_package){inside, length};
    }
    return called;
}

struct loop_package loop_package_find(const struct facts *f, const struct stack_line *stacks)
{
    struct loop_package none = {NULL, 0}, loop = none;
    unsigned trains = 0;
    uint32_t line = f->steps.count ? only_line(f, stacks) : TL_NONE;
    if (line == TL_NONE || python_owner(tl_text(f->tl, f->tl->stacks[line].file)) != PYTHON_OF_USER)
        return none;
    for (size_t i = 0; i < f->tl->stack_sample_count && trains != (BACKWARD | OPTIMIZER); i++) {
        struct loop_package called = none;
        uint32_t stack = stack_in_steps(f, stacks, i);
        if (stack != TL_NONE && same_line(f->tl, line, stacks[stack].line))
            called = called_in(f->tl, stack, stacks[stack].line, &trains);
        loop = called.length ? called : loop;
    }
    return trains == (BACKWARD | OPTIMIZER) ? loop : none;
}
