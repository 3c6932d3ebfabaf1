/* Looks at the program's threads, and the stretches of time whose looks a list takes. */
#ifndef GPUPROF_FACTS_LINES_LOOKS_H
#define GPUPROF_FACTS_LINES_LOOKS_H

#include "analyzer/facts/lines/lines_parts.h"
#include "base/vec.h"

/* A stretch of time to which looks are charged, with the part of the step that it counts for. */
struct stretch {
    int64_t start_ns, end_ns;
    enum part part;
};
struct stretches VEC(struct stretch);

/* What charging a list works with. */
struct looks {
    struct facts *f;
    struct stack_line *stacks;
    uint32_t *stack_of; /* by sample: index in timeline.stacks, or TL_NONE */
    struct charged *charged;
    uint32_t *hooks; /* samples of autograd's threads that run Python, in time */
    size_t hook_count;
    struct cpu_spans *cpu; /* without a GPU: what the training thread does when */
};

/* False: out of memory. Stretches are added in the order of time. */
bool looks_add_stretch(struct stretches *s, int64_t start_ns, int64_t end_ns, enum part part);
/* Index of the first stretch that ends after ns. */
size_t looks_first_after(const struct stretches *at, int64_t ns);

enum line_does looks_do(const struct looks *p, const struct row_stack_sample *s, uint32_t stack);
/* Time of look number i of the row. */
int64_t looks_time_ns(const struct row_stack_sample *s, int64_t i);
/* True for a thread's look at Python that PyTorch calls within a backward pass. */
bool looks_of_hook(const struct looks *p, const struct row_stack_sample *s, uint32_t stack);

/* Charge so many looks of the row to its stack; each look of the row that lies in a stretch. Looks at
 * a training thread that waits for autograd's threads go to those that run Python then. */
void looks_charge(struct looks *p, const struct row_stack_sample *s, uint32_t stack, enum part part,
                  int64_t looks);
void looks_charge_sample(struct looks *p, const struct row_stack_sample *s, uint32_t stack,
                         const struct stretches *at);
void looks_forget(struct looks *p); /* begins a list: nothing is charged */

#endif
