/* Time by line: which lines of the user's own Python keep the GPU idle or, without a GPU, take the
 * step's time. Each sample of the program's stacks (docs/lines.md) is charged to what happened at
 * that moment: an idle gap of the GPU, a wait of the host, a worker's batch. A sample taken while
 * the GPU is busy is charged to nothing.
 *
 * The line of a sample is the innermost one in the user's own code, that is neither in Python's
 * library nor in an installed package. If the stack has none, it is the innermost one in a
 * package other than PyTorch. Where a library runs the loop for the program, its lines count as the
 * user's (lines/loop_package.c).
 *
 * A list with fewer than LINES_LEAST samples ("looks") is empty (count 0): so few prove nothing.
 * Texts and lists live as long as the facts. */
#ifndef GPUPROF_FACTS_LINES_H
#define GPUPROF_FACTS_LINES_H

#include "analyzer/facts/facts.h"

/* Measured on 42 programs: 20 samples in a run's gaps named the same first three lines as the
 * samples of the whole run. */
enum { LINES_LEAST = 20 };

enum lines_of {
    LINES_STEP,    /* idle time of the GPU in a step; without a GPU, the whole step. Per step */
    LINES_WAITS,   /* waits of the training thread for the GPU, in synchronising calls. Per step */
    LINES_WORKERS, /* time of the loader's worker processes to make batches. Per batch */
    LINES_OTHER,   /* the longer steps with other work that are left out. Per such step */
    LINES_THREADS, /* what other threads of Python compute while the training thread sleeps on a
                      lock in the time of LINES_STEP. Per step */
    LINES_KINDS
};

enum line_does { /* what the thread does at that line */
                 LINE_COMPUTES,
                 LINE_SLEEPS,   /* waits; `call` names the system call */
                 LINE_STARVES,  /* is ready to run, but has no core */
                 LINE_DISK,     /* waits for a disk or a driver */
                 LINE_BACKWARD, /* waits for PyTorch's backward thread */
                 LINE_DOES
};

struct line {
    const char *place;     /* "train.py:9"; in a package "transformers/trainer.py:2300" */
    const char *file;      /* the file's path as Python knows it */
    const char *function;  /* "memory_map", "Trainer.fit"; "" at a file's top level */
    const char *called;    /* the foreign function it calls in most samples:
                              "subprocess.run"; "" = none */
    const char *innermost; /* the innermost function in most samples: "selectors.poll" */
    const char *call;      /* for LINE_SLEEPS: "wait4", "futex"; "" = not known */
    bool compiles;         /* mostly in PyTorch's compiler */
    bool loads;            /* mostly in PyTorch's loader, or called by it */
    bool draws;            /* mostly so where it asks a sampler, which no worker does */
    int number;            /* line number */
    uint8_t does;          /* enum line_does: what it does most of the time */
    int64_t looks;         /* number of samples */
    int64_t ns;            /* time charged to it, a share of lines.ns: an estimate from samples */
    int64_t does_ns[LINE_DOES];     /* ns by enum line_does */
    int64_t part_ns[PART_COUNT];    /* ns by part of the step; for LINES_STEP only */
    int64_t function_ns;            /* ns of all listed lines of its function */
    int function_from, function_to; /* first and last of those lines */
};

struct lines {
    struct line *at; /* sorted by ns, falling */
    size_t count;
    int64_t looks;     /* samples that were charged to lines */
    int64_t ns;        /* the time that is charged, per step or as said in enum lines_of */
    int64_t *stack_ns; /* by index in timeline.stacks: the time, a share of ns, charged to
                          samples with that innermost frame and a line; NULL if the list is empty */
};

/* GPU time of work that a line launches, in the forward pass and by its backward pass. */
struct gpu_line {
    const char *place, *file, *function; /* as in struct line */
    int number;
    uint32_t stack;      /* index in timeline.stacks */
    int64_t ns;          /* per step */
    int64_t backward_ns; /* the share of ns that runs in backward passes */
    int64_t count;       /* number of operations in the steps that are summed */
};

/* GPU time of a PyTorch module: of work launched in its forward call, but not in that of a module
 * inside it, and of the backward pass of that work. */
struct gpu_module {
    const char *name; /* "blocks.0.mlp (Sequential)" */
    uint32_t stack;   /* index in timeline.stacks */
    int64_t ns;       /* per step */
};

struct gpu_lines {
    struct gpu_line *at; /* sorted by ns, falling */
    size_t count;
    int64_t ns;       /* GPU work per step, of all lines and without line; it exceeds the step's
                         length if streams overlap */
    int64_t lined_ns; /* the share of ns that has a line */
    struct gpu_module *modules; /* sorted by ns, falling */
    size_t module_count;
    int64_t module_ns; /* the share of ns that has a module */
    /* number of used steps that are summed because their launches carry lines. 0: all used steps
     * are summed, with lines from matching launches (timeline_lines.c) */
    size_t steps;
    bool *of_step; /* by step: is it part of the sums? */
};

struct line_facts {
    struct lines of[LINES_KINDS];
    struct gpu_lines gpu;
    int64_t looks; /* samples of the training thread, whatever the GPU did; 0 = the
                      thread was not sampled */
};

const struct lines *facts_lines(const struct facts *f, enum lines_of which);
/* The line in LINES_STEP with the most time in these parts of the step (bits 1 << part); *ns: that
 * time. NULL: no line has any. */
const struct line *facts_line_of(const struct facts *f, uint32_t parts, int64_t *ns);
int64_t facts_line_looks(const struct facts *f);
/* count 0: no launch carries a line */
const struct gpu_lines *facts_gpu_lines(const struct facts *f);
bool facts_gpu_lines_sum(const struct facts *f, uint32_t op); /* is this op part of the sums? */
/* Index in timeline.stacks of the module in whose forward call this frame runs; TL_NONE: none. */
uint32_t facts_module_of(const struct timeline *t, uint32_t stack);
/* "memory_map() train.py:9, in subprocess.run (sleeps)". Returns out. */
const char *line_text(const struct line *l, char *out, size_t size);
/* "sleeps", "computes", "waits for another process". */
const char *line_does_text(const struct line *l);

#endif
