/* A buffer of the client's while CUPTI has it (shim_cupti_buffer.c), and what is written into it
 * (shim_cupti_write.c). All of it under the buffers' lock. */
#ifndef VGPU_SHIM_CUPTI_BUFFER_H
#define VGPU_SHIM_CUPTI_BUFFER_H

#include "shims/cupti/shim_cupti.h"

enum { HELD = 4 };

struct pending {
    size_t offset;
    struct timing t;
};

struct held {
    uint8_t record[256];
    size_t bytes;
    struct timing t;
    bool timed;
};

struct buffer {
    uint8_t *data;
    size_t size, used, records, max_records;
    struct pending *pending; /* in the order of submission */
    size_t pending_first, pending_end, pending_cap;
    struct held held[HELD]; /* disorder: records waiting to be written later */
    size_t held_count;
    struct slot *slot; /* who writes into it; NULL = full */
    struct buffer *next;
};

struct slot { /* of a thread, or of all */
    struct buffer *current;
    bool requesting;
};

uint64_t buffer_random(void);
bool buffer_has_room(const struct buffer *b, size_t stride);
/* False: no memory, the record is lost. */
bool buffer_write(struct buffer *b, const struct held *h);
bool buffer_write_disordered(struct buffer *b, const struct held *h);
size_t buffer_write_held(struct buffer *b); /* returns how many were lost */
/* Fills in the times of work that has ended by `now`. All = also behind work that still runs. */
void buffer_settle(struct buffer *b, int64_t now, bool all);

#endif
