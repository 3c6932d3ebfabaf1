/* Perfetto's own format: a sequence of TracePackets (protos/perfetto/trace of https://github.com/google/perfetto, whose names of
 * fields stand beside their numbers in trace_perfetto.c). GPU operations are render stages, which its GPU views read; calls,
 * ranges, steps and findings are track events. A call names the operation that it launched (GpuCorrelation).
 * Cost: a packet for each operation and counter value, two for each other slice; names are written once. */
#ifndef GPUPROF_REPORT_TRACE_TRACE_PERFETTO_H
#define GPUPROF_REPORT_TRACE_TRACE_PERFETTO_H

#include "base/arena.h"
#include "base/keymap.h"
#include "base/vec.h"
#include "report/trace/proto.h"
#include "report/trace/trace.h"

/* Interned texts, each kind with numbers of its own: fields of InternedData. */
enum interned {
    INTERNED_CATEGORY = 1,
    INTERNED_NAME = 2,
    INTERNED_KEY = 3, /* of a debug annotation */
    INTERNED_CONTEXT = 23,
    INTERNED_STAGE = 24, /* a hardware queue, or what runs in it */
    INTERNED_TEXT = 29,  /* value of a debug annotation */
    INTERNED_KINDS
};

struct perfetto_row {
    char *name;
    int64_t pid, tid, sort;
    enum lane_of kind;
    bool described; /* its TrackDescriptor is written */
};

struct perfetto {
    FILE *f;
    struct arena arena;
    struct keymap interned, rows, tracks;
    uint64_t last[INTERNED_KINDS]; /* the last number of each kind */
    struct VEC(struct perfetto_row) row;
    uint64_t last_track, sequence;
    struct proto fresh; /* InternedData that the next packet brings */
    struct proto whole, packet, event, args, one;
    struct VEC(int64_t) ends; /* of the open slices of the present row, the innermost last */
    int64_t now_ns,
        realtime_ns; /* time of the last packet, since the base; the base's, since 1970 */
    uint64_t track;  /* of the slice that is being written */
    bool in_stage;   /* that slice is a GPU operation */
    bool begun, failed;
};

extern const struct trace_format trace_perfetto;

/* Writes what precedes all packets: realtime_ns is the time of day at the trace's base, in ns since 1970, or 0. */
void perfetto_begin(struct perfetto *x, FILE *f, int64_t realtime_ns);
/* 0, or -1 if out of memory. Releases the writer. */
int perfetto_end(struct perfetto *x);

/* Private to the format (perfetto_packets.c). */

enum { GPU_CORRELATION = 3000 }; /* an extension of TrackEvent */

/* Writes a packet with x->fresh and that message. `step`: its time, in ns since the packet before that has one; < 0: none. */
void perfetto_packet(struct perfetto *x, int64_t step, unsigned field, const struct proto *message);
/* Call this before texts of an event at that time are interned: a row gets a sequence of its own. */
void perfetto_go_to(struct perfetto *x, int64_t at_ns);
void perfetto_event(struct perfetto *x, int64_t at_ns, unsigned field); /* writes x->event */
/* The number of a key in a map; a new one gets the number behind *last, and *is_new is set. 0 without memory. */
uint64_t perfetto_number(struct perfetto *x, struct keymap *m, struct key key, uint64_t *last,
                         bool *is_new);
/* Texts get a number in this sequence. A stage is what runs (row -1), or a queue, told from others of its name by its row. */
uint64_t perfetto_intern(struct perfetto *x, enum interned kind, const char *text);
uint64_t perfetto_stage(struct perfetto *x, const char *name, int64_t row, int category);
void perfetto_context(struct perfetto *x, int64_t owner); /* is told by the pid of its process */

#endif
