/* The line where the training thread mostly is during some stretches of time, whatever the GPU does
 * then: whose work it launches meanwhile. Cost: one pass over the looks and over the stacks. */
#ifndef GPUPROF_FACTS_LINES_WITHIN_H
#define GPUPROF_FACTS_LINES_WITHIN_H

#include "analyzer/facts/facts.h"

struct line_stretch {
    int64_t start_ns, end_ns;
};
struct line_found {
    const char *place, *function; /* as in struct line; NULL: not known */
};
/* The line that most looks at the training thread found in these stretches (by time, none over
 * another), whatever the GPU did then; none of fewer looks than LINES_LEAST. From the arena. */
struct line_found facts_line_within(const struct facts *f, struct arena *arena,
                                    const struct line_stretch *at, size_t n);
/* "frame_mask() train.py:8"; "" of none. From the arena. */
const char *line_found_text(const struct line_found *l, struct arena *arena);

#endif
