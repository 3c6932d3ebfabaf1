/* Lanes of one row of a timeline: viewers want the slices of a row to nest or to be apart, so a
 * slice that does neither goes to the next lane. Feed slices by (start rising, end falling).
 * Cost: a compare per slice and lane that is taken; memory: the open slices. */
#ifndef GPUPROF_REPORT_CHROME_LANES_H
#define GPUPROF_REPORT_CHROME_LANES_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* Ends of the slices around the present one, innermost last. */
struct open_ends VEC(int64_t);

struct lanes {
    struct VEC(struct open_ends) lane;
    bool nest;   /* slices may stand inside one another: host rows. Off: GPU streams */
    size_t most; /* lanes; 0: as many as it takes */
};

/* The lane for this slice, from 0; `most` where all are taken; -1 when out of memory. */
int lanes_place(struct lanes *l, int64_t start_ns, int64_t end_ns);
void lanes_release(struct lanes *l);

#endif
