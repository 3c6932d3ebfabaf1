/* Computes step lengths from blocks of neighbouring steps: mean, median and 95th percentile. */
#include "analyzer/measure/marked.h"

#include <stdlib.h>

struct block {
    int64_t length_ns, steps; /* mean length of the block's steps; their number */
};

static int by_length(const void *a, const void *b)
{
    int64_t x = ((const struct block *)a)->length_ns, y = ((const struct block *)b)->length_ns;
    return (x > y) - (x < y);
}

/* Returns the process with the lowest rank among those that have blocks; without ranks, the first
 * one. */
static int64_t first_rank(const struct timeline *t)
{
    int64_t found = -1, lowest = INT64_MAX;
    for (size_t i = 0; i < t->step_block_count; i++) {
        int64_t process = t->step_blocks[i].process;
        uint32_t p = timeline_process_index(t, process);
        int64_t rank =
            p == TL_NONE || t->processes[p].rank < 0 ? INT64_MAX - 1 : t->processes[p].rank;
        if (rank < lowest) {
            lowest = rank;
            found = process;
        }
    }
    return found;
}

/* Returns the length that `percent` % of the steps do not exceed. */
static int64_t quantile(const struct block *at, size_t n, int64_t steps, int64_t percent)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += at[i].steps;
        if (sum * 100 >= steps * percent)
            return at[i].length_ns;
    }
    return 0;
}

bool marked_steps(const struct timeline *t, int64_t from_ns, struct marked *out)
{
    struct block *at = malloc((t->step_block_count + 1) * sizeof *at);
    int64_t process = first_rank(t), covered = 0;
    size_t n = 0;
    *out = (struct marked){0};
    for (size_t i = 0; at && i < t->step_block_count; i++) {
        const struct row_step_block *b = &t->step_blocks[i];
        if (b->process != process || b->end_ns <= from_ns || b->end_ns < b->start_ns ||
            b->steps < 1)
            continue;
        at[n++] = (struct block){(b->end_ns - b->start_ns) / b->steps, b->steps};
        covered += b->end_ns - b->start_ns;
        out->steps += b->steps;
    }
    if (n) {
        qsort(at, n, sizeof *at, by_length);
        out->mean_ns = covered / out->steps;
        out->median_ns = quantile(at, n, out->steps, 50);
        out->p95_ns = quantile(at, n, out->steps, 95);
    }
    free(at);
    return at;
}
