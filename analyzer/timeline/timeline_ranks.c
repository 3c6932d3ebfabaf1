/* Finds which ranks of a job have no process in the recording. Cost: O(n log n) in processes. */
#include "analyzer/timeline/build.h"

#include "base/order.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORLD_MOST = 1 << 20 /* no job has more GPUs: such a number is wrong */, TOLD = 8 };

/* The distinct ranks of the largest job in the recording, sorted; *world: its size. The caller
 * frees the array; NULL: out of memory. */
static int64_t *ranks_there(const struct build *b, int64_t *world, size_t *n)
{
    int64_t *at = malloc((b->processes.n + 1) * sizeof *at);
    *world = *n = 0;
    for (size_t i = 0; i < b->processes.n; i++)
        if (b->processes.at[i].world_size > *world && b->processes.at[i].world_size <= WORLD_MOST)
            *world = b->processes.at[i].world_size;
    for (size_t i = 0; at && i < b->processes.n; i++) {
        const struct row_process *p = &b->processes.at[i];
        if (p->world_size == *world && p->rank >= 0 && p->rank < *world)
            at[(*n)++] = p->rank;
    }
    if (at)
        qsort(at, *n, sizeof *at, order_int64);
    size_t distinct = 0;
    for (size_t i = 0; at && i < *n; i++)
        if (distinct == 0 || at[distinct - 1] != at[i])
            at[distinct++] = at[i];
    *n = distinct;
    return at;
}

/* Writes "3, 5 to 7": the ranks not in `at`, at most TOLD ranges of them. */
static void name_missing(char *text, size_t size, const int64_t *at, size_t n, int64_t world)
{
    size_t used = 0, told = 0;
    for (size_t i = 0; i <= n && used < size; i++) {
        int64_t from = i ? at[i - 1] + 1 : 0, to = (i < n ? at[i] : world) - 1;
        if (from > to)
            continue;
        const char *comma = told ? ", " : "";
        if (told++ == TOLD) {
            snprintf(text + used, size - used, ", ...");
            return;
        }
        used += (size_t)(from == to
                             ? snprintf(text + used, size - used, "%s%lld", comma, (long long)from)
                             : snprintf(text + used, size - used, "%s%lld to %lld", comma,
                                        (long long)from, (long long)to));
    }
}

int build_missing_ranks(struct build *b)
{
    char missing[256], line[512];
    int64_t world;
    size_t n;
    int64_t *at = ranks_there(b, &world, &n);
    if (!at)
        return -1;
    b->t.missing_ranks = n >= 2 ? world - (int64_t)n : 0;
    if (b->t.missing_ranks)
        name_missing(missing, sizeof missing, at, n, world);
    free(at);
    if (!b->t.missing_ranks)
        return 0;
    snprintf(line, sizeof line,
             "%zu of the job's %lld ranks are here; missing: %s. A missing rank may be the late "
             "one: pass the files of all ranks",
             n, (long long)world, missing);
    return build_health(b, "ranks-missing", line, b->t.missing_ranks);
}
