/* Lanes of one row of a timeline. Viewers want the slices of a row to nest or not to overlap; a
 * slice that does neither goes to the next lane. Pass slices by (start rising, end falling). Cost:
 * one comparison per slice and occupied lane; memory: the open slices. */
#ifndef GPUPROF_REPORT_CHROME_LANES_H
#define GPUPROF_REPORT_CHROME_LANES_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* Ends of the slices around the present one, the innermost last. */
struct open_ends VEC(int64_t);

struct lanes {
    struct VEC(struct open_ends) lane;
    bool nest;   /* slices may nest, as on host rows; not on GPU streams */
    size_t most; /* number of lanes; 0: no limit */
};

/* The lane for this slice, from 0; `most` if all are occupied; -1 if out of memory. */
int lanes_place(struct lanes *l, int64_t start_ns, int64_t end_ns);
void lanes_release(struct lanes *l);

#endif
