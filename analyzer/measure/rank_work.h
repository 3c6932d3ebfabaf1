/* What one rank did between its collectives, in so few numbers that the summary of its recording
 * holds them: what a late rank is compared by with one that is in time. Sums over the recording. */
#ifndef GPUPROF_MEASURE_RANK_WORK_H
#define GPUPROF_MEASURE_RANK_WORK_H

#include "analyzer/timeline/timeline.h"

enum { RANK_RANGES = 24 };

/* Facts of a summary: the numbers of each device (rank_work_text), and "NANOSECONDS NAME" of each
 * range. */
#define RANK_WORK_KEY  "rank.work"
#define RANK_RANGE_KEY "rank.range"

struct rank_work {
    int64_t compute_ns;      /* kernels, while no collective runs */
    int64_t idle_ns;         /* from its first work to its last, with nothing on the GPU */
    int64_t kernels, blocks; /* without the collectives; thread blocks of all of them */
    int64_t collectives;
    int64_t clock_mhz; /* of the multiprocessors, mean of the samples; 0 = not recorded */
    size_t range_count;
    struct rank_range { /* of the thread that launches most, the longest ones: time in ranges of a
                           name, ranges within them included */
        const char *name;
        int64_t ns;
    } ranges[RANK_RANGES];
};

/* As a summary said it, else from the rows. Names live as long as the timeline. -1: out of memory.
 */
int rank_work_find(const struct timeline *t, uint32_t process, uint32_t device,
                   struct rank_work *w);
/* Its numbers as the value of RANK_WORK_KEY; `ordinal`: the device's. */
const char *rank_work_text(const struct rank_work *w, int64_t ordinal, char *buf, size_t size);
/* Its time in ranges of this name; 0: they are not among the longest. */
int64_t rank_work_range(const struct rank_work *w, const char *name);

#endif
