/* Which line of the program to name for what a step loses. */
#ifndef GPUPROF_QUERIES_LINES_H
#define GPUPROF_QUERIES_LINES_H

#include "analyzer/facts/lines.h"

/* The line that holds most of these parts of the step (bits 1 << part), if it holds
 * QUERY_LINE_SHARE of them; NULL: none does, or nothing was sampled. */
const struct line *query_line_of(const struct facts *f, uint32_t parts, int64_t *ns);
/* "; 41.0 ms of it: memory_map() train.py:9, in subprocess.run (sleeps)"; "" where there is none.
 */
const char *query_line_text(const struct facts *f, struct arena *arena, uint32_t parts);
/* The line that waits for the GPU longest, "Loop.read() train.py:12"; NULL: none waits for
 * QUERY_LINE_SHARE of it, or nothing was sampled. */
const char *query_wait_line(const struct facts *f, struct arena *arena);
/* "Data.__getitem__() data.py:17, in numpy.load (computes), 95 % of it": where a loader's workers
 * spend their time; "" where it is not known. */
const char *query_worker_line(const struct facts *f, struct arena *arena);
/* "; 1.79 ms of it: Data.__getitem__() data.py:17 (computes)": the line of the user's code that
 * makes the samples, in the training thread while it is waited for, else in the workers; "". */
const char *query_samples_text(const struct facts *f, struct arena *arena);
/* What holds most of the step and is not the model's own computing: neither in PyTorch's forward
 * and backward passes and optimizers, nor waiting for them. */
struct query_cause {
    const struct line *line; /* NULL: nothing holds a tenth of the step */
    int64_t ns; /* per step, of it and the other lines of its function, but for launching the
                     next work of a GPU */
    int64_t starved_ns; /* of it, ready but without a core */
    int from, to;       /* the first and the last of these lines */
};
struct query_cause query_cause(const struct facts *f);
/* Without a GPU, of the step: what the cause holds of forward, backward and optimizer, which is not
 * the model's computing, though it lies between its calls. */
int64_t query_cause_in_model(const struct facts *f);
/* "memory_map() train.py:9, in subprocess.run (sleeps)"; "jitter() data.py:14 to 17, mostly line 16
 * (computes)". */
const char *query_cause_text(const struct query_cause *c, struct arena *arena);
/* Most of the line's time is waiting for batches, or making them. */
bool query_line_of_input(const struct line *l);

#endif
