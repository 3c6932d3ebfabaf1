/* What the files of facts/lines/ share: which line a stack belongs to, and
 * the looks charged to it. */
#ifndef GPUPROF_FACTS_LINES_PARTS_H
#define GPUPROF_FACTS_LINES_PARTS_H

#include "analyzer/facts/lines.h"

#include <stdbool.h>

/* What a stack means to a reader: indices of rows in timeline.stacks, or TL_NONE. */
struct stack_line {
    uint32_t line;      /* the user's innermost frame, or that of a package if there is none */
    uint32_t called;    /* the frame below it that says what the line calls */
    uint32_t innermost; /* the innermost frame of all */
    uint32_t outside; /* if a module of PyTorch is called: the user's innermost frame outside of it,
                           and of all modules around it */
    bool in_backward; /* the thread waits for autograd's engine */
    bool in_loader;   /* PyTorch's loader runs */
    bool in_sampler;  /* it asks for the indices of the next batch */
    bool in_worker;   /* a loader's worker process, which makes batches for another process */
};

/* One entry per row of timeline.stacks. NULL: out of memory; the caller frees it. */
struct stack_line *stack_lines_find(const struct facts *f);

/* The package that runs the training loop for the program (loop_package.c). */
struct loop_package {
    const char *name; /* where its name begins in a file's path */
    size_t length;    /* 0: the program runs its loop itself */
    uint32_t line;    /* the user's frame that calls it */
};
struct loop_package loop_package_find(const struct facts *f, const struct stack_line *stacks);
/* True if both frames are on the same line: stacks may list a line twice. */
bool stack_same_line(const struct timeline *t, uint32_t a, uint32_t b);
/* Names of a frame, from the arena: "train.py:9"; "subprocess.run", "torch.Linear.forward". */
const char *stack_place(const struct timeline *t, uint32_t stack, struct arena *a);
const char *stack_function(const struct timeline *t, uint32_t stack, struct arena *a);

/* Looks with one innermost frame that were charged to a list. */
struct charged {
    int64_t by_does[LINE_DOES];
    int64_t by_part[PART_COUNT];
    int64_t all, call_looks;
    uint32_t call; /* string id of the system call in most of its sleeping looks */
};

/* Fills f->lines. The other facts must be complete. -1 with *e set. */
int lines_measure(struct facts *f, struct err *e);
int lines_measure_gpu(struct facts *f); /* Fills f->lines->gpu. -1: out of memory */
/* Sums the looks at each stack into lines. part_ns: the time to divide among the looks of each
 * part. -1: out of memory. */
int lines_sum(struct facts *f, const struct stack_line *stacks, const struct charged *charged,
              const int64_t part_ns[PART_COUNT], struct lines *out);

#endif
