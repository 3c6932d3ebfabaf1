/* Packets of Perfetto: their sequences and clocks, interned texts, and what precedes all others. The numbers are those of its
 * messages; the names of message and field stand beside them. */
#include "report/trace/trace_perfetto.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { CLEARED = 1, NEEDS_STATE = 2 }; /* TracePacket.sequence_flags */
/* Clocks: two that Perfetto knows, and one of this sequence, on which a packet's time is the distance from the packet before. */
enum { CLOCK_REALTIME = 1, CLOCK_BOOTTIME = 6, CLOCK_STEPS = 64 };
enum { API_CUDA = 4 }; /* InternedGraphicsContext.api */

/* Writes a packet with x->fresh and that message. `step`: its time, in ns since the packet before that has one; < 0: none. */
void perfetto_packet(struct perfetto *x, int64_t step, unsigned field, const struct proto *message)
{
    struct proto *p = &x->packet;
    proto_clear(p);
    if (step >= 0)
        proto_int(p, 8, (uint64_t)step); /* timestamp */
    proto_int(p, 10, x->sequence);       /* trusted_packet_sequence_id */
    proto_int(p, 13, x->begun ? NEEDS_STATE : CLEARED);
    if (!x->begun) {
        proto_clear(&x->one);
        proto_int(&x->one, 58, CLOCK_STEPS); /* TracePacketDefaults.timestamp_clock_id */
        proto_message(p, 59, &x->one);       /* trace_packet_defaults */
    }
    x->begun = true;
    if (x->fresh.n)
        proto_message(p, 12, &x->fresh); /* interned_data */
    proto_message(p, field, message);
    proto_clear(&x->whole);
    proto_message(&x->whole, 1, p); /* Trace.packet */
    x->failed |= x->whole.failed;
    fwrite(x->whole.at, 1, x->whole.n, x->f);
    proto_clear(&x->fresh);
}

static void add_clock(struct proto *snapshot, int clock, int64_t at_ns)
{
    struct proto c = {0}; /* ClockSnapshot.Clock */
    proto_int(&c, 1, (uint64_t)clock);
    proto_int(&c, 2, (uint64_t)at_ns);
    if (clock == CLOCK_STEPS)
        proto_int(&c, 3, 1); /* is_incremental */
    proto_message(snapshot, 1, &c);
    proto_release(&c);
}

/* Begins a sequence of packets, whose clock is at the trace's base. */
static void begin_sequence(struct perfetto *x)
{
    struct proto snapshot = {0};
    x->sequence++;
    x->begun = false;
    x->now_ns = 0;
    add_clock(&snapshot, CLOCK_BOOTTIME, 0);
    if (x->sequence == 1 && x->realtime_ns > 0)
        add_clock(&snapshot, CLOCK_REALTIME, x->realtime_ns);
    add_clock(&snapshot, CLOCK_STEPS, 0);
    perfetto_packet(x, -1, 6, &snapshot); /* clock_snapshot */
    x->failed |= snapshot.failed;
    proto_release(&snapshot);
}

/* Call this before texts of an event at that time are interned. A clock cannot go back, as times do where a new row begins:
 * the row gets a sequence of its own. */
void perfetto_go_to(struct perfetto *x, int64_t at_ns)
{
    if (at_ns < x->now_ns)
        begin_sequence(x);
}

/* Writes x->event at that time. */
void perfetto_event(struct perfetto *x, int64_t at_ns, unsigned field)
{
    perfetto_packet(x, at_ns - x->now_ns, field, &x->event);
    x->now_ns = at_ns;
}

/* The number of a key in a map; a new one gets the number behind *last, and *is_new is set. 0 without memory. */
uint64_t perfetto_number(struct perfetto *x, struct keymap *m, struct key key, uint64_t *last,
                         bool *is_new)
{
    uint32_t known = keymap_get(m, key);
    *is_new = known == KEYMAP_NONE;
    if (!*is_new)
        return known;
    if (keymap_put(m, key, (uint32_t)++ * last) < 0) {
        x->failed = true;
        return 0;
    }
    return *last;
}

/* The key of a text in this sequence; `row` is that of a queue, else -1. */
static struct key text_key(const struct perfetto *x, enum interned kind, const char *text,
                           int64_t row)
{
    return (struct key){{kind, (int64_t)str_hash(text, strlen(text)), (int64_t)x->sequence, row}};
}

/* Messages of InternedData begin with iid = 1 and the text = 2. */
uint64_t perfetto_intern(struct perfetto *x, enum interned kind, const char *text)
{
    bool is_new;
    uint64_t iid =
        perfetto_number(x, &x->interned, text_key(x, kind, text, -1), &x->last[kind], &is_new);
    if (!is_new)
        return iid;
    proto_clear(&x->one);
    proto_int(&x->one, 1, iid);
    proto_text(&x->one, 2, text);
    proto_message(&x->fresh, kind, &x->one);
    return iid;
}

/* `row`: -1 for what runs; else a queue, which is told from others of its name by its row. */
uint64_t perfetto_stage(struct perfetto *x, const char *name, int64_t row, int category)
{
    bool is_new;
    uint64_t iid = perfetto_number(x, &x->interned, text_key(x, INTERNED_STAGE, name, row),
                                   &x->last[INTERNED_STAGE], &is_new);
    if (!is_new)
        return iid;
    proto_clear(&x->one);
    proto_int(&x->one, 1, iid);
    proto_text(&x->one, 2, name);
    proto_int(&x->one, 4, (uint64_t)category);
    proto_message(&x->fresh, INTERNED_STAGE, &x->one);
    return iid;
}

/* A context is told by the pid of its process. */
void perfetto_context(struct perfetto *x, int64_t owner)
{
    bool is_new;
    struct key key = {{INTERNED_CONTEXT, owner, (int64_t)x->sequence}};
    perfetto_number(x, &x->interned, key, &x->last[INTERNED_CONTEXT], &is_new);
    if (!is_new)
        return;
    proto_clear(&x->one);
    proto_int(&x->one, 1, (uint64_t)owner); /* iid */
    proto_int(&x->one, 2, (uint64_t)owner); /* pid */
    proto_int(&x->one, 3, API_CUDA);
    proto_message(&x->fresh, INTERNED_CONTEXT, &x->one);
}

/* A FieldDescriptorProto; label 1: optional, 3: repeated; type 4: uint64, 11: message. */
static void describe_field(struct proto *m, unsigned field, const char *name, uint64_t number,
                           uint64_t label, const char *type_name)
{
    struct proto d = {0};
    proto_text(&d, 1, name);
    if (type_name)
        proto_text(&d, 2, ".perfetto.protos.TrackEvent"); /* extendee */
    proto_int(&d, 3, number);
    proto_int(&d, 4, label);
    proto_int(&d, 5, type_name ? 11 : 4);
    if (type_name)
        proto_text(&d, 6, type_name);
    proto_message(m, field, &d);
    proto_release(&d);
}

/* Describes GpuCorrelation, as protos/perfetto/trace/gpu/gpu_track_event.proto does. Version 52 of Perfetto does not know it,
 * and would count each use as an error. */
static void describe_correlation(struct perfetto *x)
{
    struct proto file = {0}, message = {0}, set = {0};
    proto_text(&file, 1, "protos/perfetto/trace/gpu/gpu_track_event.proto");
    proto_text(&file, 2, "perfetto.protos"); /* package */
    proto_text(&message, 1, "GpuCorrelation");
    describe_field(&message, 2, "render_stage_submission_event_ids", 1, 3, NULL);
    describe_field(&message, 2, "render_stage_wait_event_ids", 2, 3, NULL);
    proto_message(&file, 4, &message); /* message_type */
    proto_clear(&message);
    proto_text(&message, 1, "GpuTrackEvent");
    describe_field(&message, 6, "gpu_correlation", GPU_CORRELATION, 1,
                   ".perfetto.protos.GpuCorrelation"); /* extension */
    proto_message(&file, 4, &message);
    proto_message(&set, 1, &file); /* FileDescriptorSet.file */
    proto_clear(&x->event);
    proto_message(&x->event, 1, &set); /* ExtensionDescriptor.extension_set */
    perfetto_packet(x, -1, 72, &x->event);
    proto_release(&file);
    proto_release(&message);
    proto_release(&set);
}

void perfetto_begin(struct perfetto *x, FILE *f, int64_t realtime_ns)
{
    *x = (struct perfetto){.f = f, .realtime_ns = realtime_ns};
    begin_sequence(x);
    describe_correlation(x);
}
