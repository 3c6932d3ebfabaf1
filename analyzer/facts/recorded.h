/* The parts of the run that were recorded, and what is known inside them. */
#ifndef GPUPROF_FACTS_RECORDED_H
#define GPUPROF_FACTS_RECORDED_H

#include "analyzer/facts/facts.h"
#include "analyzer/measure/spans.h"

/* The window around a time, NULL without; the first that ends after it; what of [from_ns, to_ns)
 * is known in one (empty: end_ns = start_ns), and in all; what of the spans lies where it is. */
const struct recorded_window *recorded_at(const struct facts *f, int64_t ns);
size_t recorded_after(const struct facts *f, int64_t ns);
static inline struct span recorded_part(const struct recorded_window *r, int64_t from_ns,
                                        int64_t to_ns)
{
    int64_t low = r->known_ns > from_ns ? r->known_ns : from_ns;
    int64_t high = r->end_ns < to_ns ? r->end_ns : to_ns;
    return (struct span){low, high > low ? high : low};
}
int64_t recorded_length_ns(const struct facts *f); /* of the windows, or of the whole */
int64_t recorded_known_ns(const struct facts *f, int64_t from_ns, int64_t to_ns);
int64_t recorded_covered_ns(const struct facts *f, const struct spans *spans);

#endif
