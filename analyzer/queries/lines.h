/* Which line of the program to name for the time that a step loses. */
#ifndef GPUPROF_QUERIES_LINES_H
#define GPUPROF_QUERIES_LINES_H

#include "analyzer/facts/lines.h"

/* The line with most time in these parts of the step (bits 1 << part), if it has at least
 * QUERY_LINE_SHARE of them; *ns: that time. NULL: no line has that much, or no samples. */
const struct line *query_line_of(const struct facts *f, uint32_t parts, int64_t *ns);
/* "; 41.0 ms of it: memory_map() train.py:9, in subprocess.run (sleeps)"; "" if
 * query_line_of finds no line. */
const char *query_line_text(const struct facts *f, struct arena *arena, uint32_t parts);
/* The line that waits longest for the GPU, "Loop.read() train.py:12"; NULL: no line has
 * QUERY_LINE_SHARE of the waits, or no samples. */
const char *query_wait_line(const struct facts *f, struct arena *arena);
/* True if that line runs inside PyTorch's loader, which asks a dataset for its samples. */
bool query_waits_in_loader(const struct facts *f);
/* "Data.__getitem__() data.py:17, in numpy.load (computes), 95 % of it": the line where a loader's
 * workers spend most time; "" if not known. */
const char *query_worker_line(const struct facts *f, struct arena *arena);
/* "; 1.79 ms of it: Data.__getitem__() data.py:17 (computes)": the user's line that makes the
 * samples, in the workers or in the training thread while the GPU waits for it; "" if not known. */
const char *query_samples_text(const struct facts *f, struct arena *arena);
/* The user's code that takes most of the step and is not the model's computing: PyTorch's forward
 * and backward passes and optimizers, and waits for them, do not count. */
struct query_cause {
    const struct line *line; /* NULL: no line has 1/QUERY_CAUSE_LINE of the step */
    int64_t ns;              /* time per step of this line and the other lines of its function,
                                without slow launching */
    int64_t starved_ns;      /* the part of ns in which it was ready but had no core */
    int from, to;            /* first and last of these lines */
};
struct query_cause query_cause(const struct facts *f);
/* The same, but lines that wait for batches or make them, which other rules are about, only if no
 * other line takes so much. */
struct query_cause query_own_cause(const struct facts *f);
/* Without a GPU: how much of the forward, backward and optimizer parts of the step the cause takes,
 * since it may lie between the model's calls without being the model's computing. 0 with a GPU. */
int64_t query_cause_in_model(const struct facts *f);
/* "memory_map() train.py:9, in subprocess.run (sleeps)"; "jitter() data.py:14 to 17, mostly line 16
 * (computes)". */
const char *query_cause_text(const struct query_cause *c, struct arena *arena);
/* True if pauses of the host may be waits for a core: the training thread lacks one for much of the
 * step, and no line of the program holds half of the time that the GPU waits for other host work. */
bool query_pauses_may_lack_core(const struct facts *f);
/* True if most of the line's time is the optimizer's step. */
bool query_line_updates(const struct line *l);
/* True if most of the line's time is waiting for batches or making them. */
bool query_line_of_input(const struct line *l);
/* True if it is so in PyTorch's loader: a gap of the GPU before a batch may hold other work, too. */
bool query_line_loads(const struct line *l);

#endif
