/* The lanes of the page's timeline: their order, by rank, and their names. */
#ifndef GPUPROF_REPORT_PAGE_EVENTS_PAGE_LANES_H
#define GPUPROF_REPORT_PAGE_EVENTS_PAGE_LANES_H

#include "report/page/page.h"

struct lane_order {
    int64_t rank;   /* -1: no rank */
    uint32_t index; /* of the stream or thread */
};

/* The streams, or with `threads` the threads; malloc'ed, NULL without memory. */
struct lane_order *page_lane_order(const struct timeline *t, bool threads, uint32_t *count);
/* By process: do streams of more than one GPU have work? malloc'ed, NULL without memory. */
bool *page_several_gpus(const struct timeline *t);
/* "GPU", with its number if the process uses several, and with the rank before it. */
void page_gpu_name(const struct page *p, uint32_t process, uint32_t device, char *out, size_t n);
void page_stream_name(const struct page *p, uint32_t stream, char *out, size_t n);
void page_thread_name(const struct page *p, uint32_t thread, char *out, size_t n);

#endif
