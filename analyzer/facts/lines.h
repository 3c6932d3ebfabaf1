/* Time by line: which lines of the user's own Python hold up the GPU, or take the step where no GPU
 * works. From samples of the program's stacks (docs/lines.md), each charged to what went on then:
 * to an idle gap of the GPU, a wait of the host, a worker's batch. Samples while the GPU is busy
 * are charged to nothing.
 *
 * A line is the innermost one of the user's own code: neither of Python's library nor of installed
 * packages. Where a stack has none, that of a package other than PyTorch.
 *
 * A list is empty (count 0) below LINES_LEAST looks: fewer say nothing. Texts and lists live as
 * long as the facts. */
#ifndef GPUPROF_FACTS_LINES_H
#define GPUPROF_FACTS_LINES_H

#include "analyzer/facts/facts.h"

/* 20 samples of a run's gaps named the first three lines of the whole run, of 42 programs. */
enum { LINES_LEAST = 20 };

enum lines_of {
    LINES_STEP,    /* the step's idle time of the GPU; without a GPU the whole step. Per step */
    LINES_WAITS,   /* the training thread's waits for the GPU, in synchronising calls. Per step */
    LINES_WORKERS, /* the making of batches in a loader's worker processes. Per batch */
    LINES_OTHER,   /* longer steps with other work, which the median leaves out. Per such step */
    LINES_KINDS
};

enum line_does { /* what the thread does while it is there */
                 LINE_COMPUTES,
                 LINE_SLEEPS,   /* waits for something: `call` says in which system call */
                 LINE_STARVES,  /* would compute, but has no core */
                 LINE_DISK,     /* waits for a disk or a driver */
                 LINE_BACKWARD, /* waits for PyTorch's thread of the backward pass */
                 LINE_DOES
};

struct line {
    const char *place;     /* "train.py:9"; of a package "transformers/trainer.py:2300" */
    const char *file;      /* its path as Python has it */
    const char *function;  /* "memory_map", "Trainer.fit"; "" at the top of a file */
    const char *called;    /* what it calls of others, mostly: "subprocess.run"; "" = nothing */
    const char *innermost; /* the innermost function of all, mostly: "selectors.poll" */
    const char *call;      /* LINE_SLEEPS: "wait4", "futex"; "" = not known */
    int number;            /* of the line */
    uint8_t does;          /* enum line_does: most of its time */
    int64_t looks;         /* samples that found it */
    int64_t ns;            /* of lines.ns, charged to it; mind that it is an estimate */
    int64_t does_ns[LINE_DOES];     /* of ns */
    int64_t part_ns[PART_COUNT];    /* of ns, by part of the step; LINES_STEP alone */
    int64_t function_ns;            /* of all lines of its function together */
    int function_from, function_to; /* the first and the last of those lines */
};

struct lines {
    struct line *at; /* by ns, falling */
    size_t count;
    int64_t looks;     /* that were charged to lines */
    int64_t ns;        /* what there is to charge, per step or as above */
    int64_t *stack_ns; /* of ns, by index in timeline.stacks: to the looks with that innermost frame
                          (those with a line); NULL where the list is empty */
};

/* What the GPU does for a line, forward and backward. */
struct gpu_line {
    const char *place, *file, *function; /* as of a struct line */
    int number;
    uint32_t stack;      /* index in timeline.stacks */
    int64_t ns;          /* per step */
    int64_t backward_ns; /* of it in backward passes */
    int64_t count;       /* pieces of work in the steps that it is summed over */
};

/* What it does for a module of PyTorch: what is launched in its forward call and in none inside it,
 * and goes back through that. */
struct gpu_module {
    const char *name; /* "blocks.0.mlp (Sequential)" */
    uint32_t stack;   /* index in timeline.stacks */
    int64_t ns;       /* per step */
};

struct gpu_lines {
    struct gpu_line *at; /* by ns, falling */
    size_t count;
    int64_t ns;       /* all work of the GPU, per step: more than a step takes if streams overlap */
    int64_t lined_ns; /* of it, what has a line */
    struct gpu_module *modules; /* by ns, falling */
    size_t module_count;
    int64_t module_ns; /* of ns, what has a module */
    size_t steps;      /* it is summed over: used ones that carry lines. 0: over all used ones, by
                         what matches launches with lines (timeline_lines.c) */
    bool *of_step;     /* by step: is it summed over it? */
};

struct line_facts {
    struct lines of[LINES_KINDS];
    struct gpu_lines gpu;
    int64_t looks; /* at the training thread, whatever the GPU did; 0 = it was not sampled */
};

const struct lines *facts_lines(const struct facts *f, enum lines_of which);
/* Of LINES_STEP, the line with most of these parts of the step (bits 1 << part), and in *ns how
 * much of them; NULL: none has any. */
const struct line *facts_line_of(const struct facts *f, uint32_t parts, int64_t *ns);
int64_t facts_line_looks(const struct facts *f);
const struct gpu_lines *facts_gpu_lines(const struct facts *f); /* count 0: none was recorded */
bool facts_gpu_lines_sum(const struct facts *f, uint32_t op);   /* is this work in it? */
/* Of a line that launches, the index of the module that it runs in; TL_NONE. */
uint32_t facts_module_of(const struct timeline *t, uint32_t stack);
/* Of api.line: "train.py:9 (Net.forward), its backward pass". Returns out. */
const char *launch_line_text(const struct facts *f, uint32_t line, char *out, size_t size);

/* "memory_map() train.py:9, in subprocess.run (sleeps)". Returns out. */
const char *line_text(const struct line *l, char *out, size_t size);
/* "sleeps", "computes", "waits for another process". */
const char *line_does_text(const struct line *l);

#endif
