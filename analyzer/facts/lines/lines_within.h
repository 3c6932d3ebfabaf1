/* The line at which the training thread mostly is during some stretches of time, whatever the GPU
 * does then. Used to name the code that launches the work of those stretches. Cost: one pass over
 * the looks and over the stacks. */
#ifndef GPUPROF_FACTS_LINES_WITHIN_H
#define GPUPROF_FACTS_LINES_WITHIN_H

#include "analyzer/facts/facts.h"

struct line_stretch {
    int64_t start_ns, end_ns;
};
struct line_found {
    const char *place, *function; /* as in struct line; NULL: not known */
};
/* The line found by most looks at the training thread in these stretches, which must be
 * sorted and must not overlap. Both texts are NULL if there are fewer than LINES_LEAST looks.
 * Texts are from the arena. */
struct line_found facts_line_within(const struct facts *f, struct arena *arena,
                                    const struct line_stretch *at, size_t n);
/* "frame_mask() train.py:8"; "" if the line is not known. From the arena. */
const char *line_found_text(const struct line_found *l, struct arena *arena);

#endif
