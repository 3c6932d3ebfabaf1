/* Between the files of facts/lines/: whose line a stack is, and how many looks were charged. */
#ifndef GPUPROF_FACTS_LINES_PARTS_H
#define GPUPROF_FACTS_LINES_PARTS_H

#include "analyzer/facts/lines.h"

#include <stdbool.h>

/* A stack, seen by a reader: indices of rows in timeline.stacks, TL_NONE. */
struct stack_line {
    uint32_t line;      /* the user's innermost frame, or what stands for it */
    uint32_t called;    /* the frame below it that says what it calls */
    uint32_t innermost; /* the innermost of all */
    bool in_backward;   /* the thread waits for autograd's engine */
    bool in_worker;     /* of a process that makes batches for another one */
};

/* By index in timeline.stacks; NULL: out of memory. */
struct stack_line *stack_lines_find(const struct timeline *t);
/* What to call a frame: "train.py:9"; "subprocess.run", "torch.Linear.forward". */
const char *stack_place(const struct timeline *t, uint32_t stack, struct arena *a);
const char *stack_function(const struct timeline *t, uint32_t stack, struct arena *a);

/* Looks at one stack that were charged to a list. */
struct charged {
    int64_t by_does[LINE_DOES];
    int64_t by_part[PART_COUNT];
    int64_t all, call_looks;
    uint32_t call; /* string id: in most of its sleeping looks */
};

/* Fills f->lines, once the other facts are known. -1 with *e set. */
int lines_measure(struct facts *f, struct err *e);
int lines_measure_gpu(struct facts *f); /* f->lines->gpu. -1: out of memory */
/* Fills a list from what was charged to each stack. part_ns: what there is to charge by part. -1:
 * out of memory. */
int lines_sum(struct facts *f, const struct stack_line *stacks, const struct charged *charged,
              const int64_t part_ns[PART_COUNT], struct lines *out);

#endif
