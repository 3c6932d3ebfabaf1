/* The recorded windows of a run, and how much of a time or of some spans lies in them. Without
 * windows the whole run counts as recorded. */
#ifndef GPUPROF_FACTS_RECORDED_H
#define GPUPROF_FACTS_RECORDED_H

#include "analyzer/facts/facts.h"
#include "analyzer/measure/spans.h"

/* recorded_at: the window around `ns`, or NULL. recorded_first_ending_after: index of the first window that ends
 * after `ns`. recorded_part: the known part of [from_ns, to_ns) in the window; if there is none,
 * end_ns = start_ns. recorded_known_ns: the sum of these parts over all windows.
 * recorded_covered_ns: the time that the spans cover in the known parts of all windows. */
const struct recorded_window *recorded_at(const struct facts *f, int64_t ns);
size_t recorded_first_ending_after(const struct facts *f, int64_t ns);
static inline struct span recorded_part(const struct recorded_window *r, int64_t from_ns,
                                        int64_t to_ns)
{
    int64_t low = r->known_ns > from_ns ? r->known_ns : from_ns;
    int64_t high = r->end_ns < to_ns ? r->end_ns : to_ns;
    return (struct span){low, high > low ? high : low};
}
/* A stretch of the run that was not recorded: the i-th of window_count + 1, of which the first lies before all
 * windows and the last behind them, within from_ns and to_ns. Empty if to_ns <= from_ns. */
struct unrecorded {
    int64_t from_ns, to_ns;
    int64_t known_ns;              /* until then it isn't known whether the GPU idles */
    int64_t first_step, last_step; /* numbers; 0, 0: none began in it, or they are not known */
};
struct unrecorded recorded_gap(const struct facts *f, size_t i, int64_t from_ns, int64_t to_ns);
int64_t recorded_length_ns(const struct facts *f); /* length of all windows, or of the recording */
int64_t recorded_known_ns(const struct facts *f, int64_t from_ns, int64_t to_ns);
int64_t recorded_covered_ns(const struct facts *f, const struct spans *spans);

#endif
