/* A client's buffer while CUPTI fills it (shim_cupti_buffer.c), and the writing of records into it
 * (shim_cupti_write.c). The buffers' lock protects all of it. */
#ifndef VGPU_SHIM_CUPTI_BUFFER_H
#define VGPU_SHIM_CUPTI_BUFFER_H

#include "shims/cupti/shim_cupti.h"

enum { HELD = 4 };

struct pending {
    size_t offset;
    struct timing t;
    bool written; /* its times */
};

struct held {
    uint8_t record[512];
    size_t bytes;
    struct timing t;
    bool timed;
};

struct buffer {
    CUpti_SubscriberHandle client;
    uint64_t thread; /* that asked for it */
    uint8_t *data;
    size_t size, used, records, max_records;
    struct pending *pending; /* records without times yet, in the order of submission */
    size_t pending_first, pending_end, pending_cap;
    struct held held[HELD]; /* for disorder=1: records that are written later */
    size_t held_count;
    struct slot *slot; /* the slot that writes into it; NULL: the buffer is full */
    struct buffer *next;
};

struct slot { /* where one thread, or all threads, get their current buffer */
    struct buffer *current;
    bool requesting;
};

uint64_t buffer_random(void);
bool buffer_has_room(const struct buffer *b, size_t stride);
/* Both return false if the record is lost for lack of memory. */
bool buffer_write(struct buffer *b, const struct held *h);
bool buffer_write_disordered(struct buffer *b, const struct held *h);
size_t buffer_write_held(struct buffer *b); /* returns how many records were lost */
/* Fills in the times of work that has ended by `now`. all: also of work that was submitted behind
 * work that still runs. */
void buffer_settle(struct buffer *b, int64_t now, bool all);

#endif
