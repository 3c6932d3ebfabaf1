/* Finds the package that runs the training loop for the program.
 *
 * A program may hand its loop to a library: `model.learn(...)`, `trainer.fit(...)`. Then one line of
 * the user's is on the stack during all of the run. What the library calls back is the user's own code,
 * and has lines; of the rest that one line says nothing. The lines of the library that runs the loop
 * say it. It runs the loop if it calls backward passes and optimizers below that line, not through
 * code of the user's; a library whose model the program calls does not, nor one that only wraps the
 * backward pass. */
#include "analyzer/facts/lines/lines_parts.h"

#include "analyzer/facts/limits.h"
#include "base/vec.h"
#include "wire/python_owner.h"

#include <stdlib.h>
#include <string.h>

bool stack_same_line(const struct timeline *t, uint32_t a, uint32_t b)
{
    const struct row_stack *x = &t->stacks[a], *y = &t->stacks[b];
    return a == b || (x->file == y->file && x->function == y->function && x->line == y->line);
}

static enum python_owner owner_of(const struct timeline *t, uint32_t frame)
{
    return python_owner(tl_text(t, t->stacks[frame].file));
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

/* ---- the line that calls the library ---- */

/* A line of the user's that calls a package. */
struct loop_call {
    uint32_t frame;
    int64_t looks;
    size_t sample; /* the last one that counted */
};
struct loop_calls VEC(struct loop_call);

/* Counts the sample for the line of this frame. call_at: by frame, its index + 1 in calls, or 0. False:
 * out of memory. */
static bool count_call(const struct timeline *t, struct loop_calls *calls, uint32_t *call_at,
                       uint32_t frame, size_t sample)
{
    for (size_t i = 0; !call_at[frame] && i < calls->n; i++)
        if (stack_same_line(t, calls->at[i].frame, frame))
            call_at[frame] = (uint32_t)i + 1;
    if (!call_at[frame]) {
        struct loop_call *new = vec_push(calls);
        if (!new)
            return false;
        *new = (struct loop_call){frame, 0, SIZE_MAX};
        call_at[frame] = (uint32_t)calls->n;
    }
    struct loop_call *c = &calls->at[call_at[frame] - 1];
    c->looks += c->sample == sample ? 0 : t->stack_samples[sample].looks;
    c->sample = sample;
    return true;
}

/* Counts the lines of the user's in this stack that call a package, perhaps through wrappers of Python
 * or PyTorch. False: out of memory. */
static bool count_calls(const struct timeline *t, struct loop_calls *calls, uint32_t *call_at,
                        uint32_t stack, size_t sample)
{
    bool package = false, ok = true;
    for (uint32_t i = stack; i != TL_NONE && ok; i = timeline_stack_index(t, t->stacks[i].caller)) {
        enum python_owner owner = owner_of(t, i);
        if (owner == PYTHON_OF_USER && package)
            ok = count_call(t, calls, call_at, i, sample);
        if (owner <= PYTHON_OF_PACKAGE)
            package = owner == PYTHON_OF_PACKAGE;
    }
    return ok;
}

static bool calls_up(const struct timeline *t, uint32_t inner, uint32_t outer)
{
    while (inner != TL_NONE && inner != outer)
        inner = timeline_stack_index(t, t->stacks[inner].caller);
    return inner == outer;
}

/* The innermost line of the user's that calls a package in nearly all looks, or TL_NONE. */
static uint32_t calling_line(const struct facts *f, const struct stack_line *stacks)
{
    const struct timeline *t = f->tl;
    struct loop_calls calls = {0};
    uint32_t *call_at = calloc(t->stack_count, sizeof *call_at), line = TL_NONE;
    int64_t all = 0;
    bool ok = call_at != NULL;
    for (size_t i = 0; i < t->stack_sample_count && ok; i++) {
        uint32_t stack = stack_in_steps(f, stacks, i);
        if (stack == TL_NONE)
            continue;
        all += t->stack_samples[i].looks;
        ok = count_calls(t, &calls, call_at, stack, i);
    }
    for (size_t i = 0; i < calls.n && ok && all >= LINES_LEAST; i++)
        if (calls.at[i].looks * 100 >= all * FACTS_LOOP_ELSEWHERE_PCT &&
            (line == TL_NONE || calls_up(t, calls.at[i].frame, line)))
            line = calls.at[i].frame;
    vec_release(&calls);
    free(call_at);
    return line;
}

/* ---- what it calls ---- */

enum { BACKWARD = 1, OPTIMIZER = 2 };

/* The package that the line calls in this stack; length 0: none, or code of the user's again. *trains:
 * bits are added for what of a training step it calls. */
static struct loop_package called_in(const struct timeline *t, uint32_t stack, uint32_t line,
                                     unsigned *trains)
{
    struct loop_package none = {.line = line}, called = none;
    unsigned here = 0;
    for (uint32_t i = stack; i != TL_NONE; i = timeline_stack_index(t, t->stacks[i].caller)) {
        const char *file = tl_text(t, t->stacks[i].file);
        enum python_owner owner = python_owner(file);
        if (stack_same_line(t, i, line)) {
            *trains |= here;
            return called;
        }
        if (owner == PYTHON_OF_TORCH &&
            strcmp(tl_text(t, t->stacks[i].function), "Tensor.backward") == 0)
            here |= BACKWARD;
        if (owner == PYTHON_OF_TORCH && strstr(file, "torch/optim/"))
            here |= OPTIMIZER;
        const char *inside = owner == PYTHON_OF_PACKAGE ? python_in_packages(file) : "";
        size_t length = strcspn(inside, "/");
        if (inside[length]) /* a file in a folder; the outermost one stays */
            called = (struct loop_package){inside, length, line};
        if (owner == PYTHON_OF_USER)
            here = 0;
    }
    return none;
}

struct loop_package loop_package_find(const struct facts *f, const struct stack_line *stacks)
{
    struct loop_package none = {NULL, 0, TL_NONE}, loop = none;
    unsigned trains = 0;
    uint32_t line = f->steps.count ? calling_line(f, stacks) : TL_NONE;
    for (size_t i = 0;
         line != TL_NONE && i < f->tl->stack_sample_count && trains != (BACKWARD | OPTIMIZER);
         i++) {
        uint32_t stack = stack_in_steps(f, stacks, i);
        if (stack == TL_NONE)
            continue;
        struct loop_package called = called_in(f->tl, stack, line, &trains);
        loop = called.length ? called : loop;
    }
    return trains == (BACKWARD | OPTIMIZER) ? loop : none;
}
