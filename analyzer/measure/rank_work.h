/* What one rank did between its collectives, in so few numbers that a summary of its recording
 * contains them. They serve to compare a late rank with one in time. Sums are over the
 * recording. */
#ifndef GPUPROF_MEASURE_RANK_WORK_H
#define GPUPROF_MEASURE_RANK_WORK_H

#include "analyzer/timeline/timeline.h"

enum { RANK_RANGES = 24 };

/* Facts of a summary: the numbers of each device (rank_work_text), and "NANOSECONDS NAME" for each
 * range. */
#define RANK_WORK_KEY  "rank.work"
#define RANK_RANGE_KEY "rank.range"

struct rank_work {
    int64_t compute_ns;      /* kernels, while no collective runs */
    int64_t idle_ns;         /* between its first and last work, with nothing on the GPU */
    int64_t kernels, blocks; /* without collectives; `blocks`: thread blocks of all of them */
    int64_t collectives;
    int64_t clock_mhz; /* mean clock of the multiprocessors over the samples; 0 = not recorded */
    size_t range_count;
    /* The longest ranges of the thread that launches most: time by name, nested ranges included. */
    struct rank_range {
        const char *name;
        int64_t ns;
    } ranges[RANK_RANGES];
};

/* Fills *w from a summary's facts, or else from the rows. Names live as long as the timeline.
 * Returns -1 without memory. */
int rank_work_find(const struct timeline *t, uint32_t process, uint32_t device,
                   struct rank_work *w);
/* Writes the numbers as a value of RANK_WORK_KEY into buf and returns buf. `ordinal` is the
 * device's. */
const char *rank_work_text(const struct rank_work *w, int64_t ordinal, char *buf, size_t size);
/* Returns the time in ranges of this name in ns; 0 if they are not among the longest. */
int64_t rank_work_range(const struct rank_work *w, const char *name);

#endif
