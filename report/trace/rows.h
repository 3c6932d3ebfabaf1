/* The rows of a timeline as viewers draw them: the items of a host thread (ranges, library calls,
 * API calls) or of a GPU stream, in drawing order, each with its lane.
 *
 * The clocks of host ranges and API calls agree to a fraction of a microsecond. Overlaps below
 * ROWS_SNAP_NS between them are cut in the picture (never in the profile), so that a call made
 * inside a range is drawn inside it.
 *
 * Cost: n log n in the slices of the row; memory: 24 bytes per slice of the largest row, and 4 per
 * GPU operation. */
#ifndef GPUPROF_REPORT_CHROME_ROWS_H
#define GPUPROF_REPORT_CHROME_ROWS_H

#include "analyzer/facts/facts.h"
#include "analyzer/timeline/timeline.h"
#include "base/vec.h"

enum { ROWS_SNAP_NS = 1000 };
/* The most lanes of a row: the ids of rows leave room for this many, and no viewer draws more. An
 * item that overlaps more others is left out, and counted. */
enum { ROWS_LANES = 1000 };

enum item_kind { ITEM_RANGE, ITEM_CALL, ITEM_API, ITEM_OP, ITEM_SYNC };

struct item {
    int64_t start_ns, end_ns;
    uint32_t index; /* into the timeline's array of that kind */
    uint16_t lane;
    uint8_t kind; /* enum item_kind */
};

struct items VEC(struct item);

struct rows {
    const struct timeline *t;
    uint32_t steps_of;      /* index of the process that has the steps */
    uint32_t *ops;          /* op indices, by stream and then by start */
    uint32_t *stream_first; /* by stream, with one more at the end */
    uint32_t *call_first;   /* by thread, with one more at the end */
    uint32_t *syncs;        /* sync indices, by stream; last those that name no stream */
    uint32_t *sync_first;   /* by stream, with two more at the end */
    size_t left_out;        /* items without a lane, in all rows made so far */
    int64_t *ahead_ns;      /* by process: its clock minus that of steps_of */
};

/* -1 if out of memory. */
int rows_open(struct rows *r, const struct timeline *t, uint32_t steps_of);
void rows_close(struct rows *r);
/* Puts all ranks on one clock, that of steps_of, as far as their collectives allow it. Without this
 * each item has the time of its own process. -1 if out of memory. */
int rows_align(struct rows *r, const struct facts *f);
/* The process's clock minus that of steps_of. */
int64_t rows_ahead(const struct rows *r, uint32_t process);

/* Replace the contents of `out` by sorted items (by start, longest first). -1 if out of memory.
 * Ranges named ProfilerStep# in the process `steps_of` are left out, because steps have a row of
 * their own. */
int rows_thread(struct rows *r, uint32_t thread, struct items *out);
int rows_stream(struct rows *r, uint32_t stream, struct items *out);
int rows_syncs(struct rows *r, uint32_t stream, struct items *out);
/* Waits of a process that name no stream. */
int rows_device_syncs(struct rows *r, uint32_t process, struct items *out);

uint32_t item_name(const struct timeline *t, const struct item *i); /* string id; 0 for a sync */

#endif
