/* Writes what a trace contains as packets of Perfetto: tracks, slices, their arguments and counters. The numbers are those of its
 * messages; the names of message and field stand beside them. */
#include "report/trace/trace_perfetto.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_COUNTER = 4 }; /* TrackEvent.type */
enum { STAGE_OTHER = 0, STAGE_COMPUTE = 2 }; /* InternedGpuRenderStageSpecification.category */
enum { ORDER_EXPLICIT = 3 };                 /* TrackDescriptor.child_ordering */

/* ---- tracks ---- */

/* The uuid of a track: of a process (tid = -1, name ""), a row (""), or a counter or span of that name. */
static uint64_t track_of(struct perfetto *x, int64_t pid, int64_t tid, const char *name,
                         bool *is_new)
{
    struct key key = {{pid, tid, *name ? (int64_t)str_hash(name, strlen(name)) : 0}};
    return perfetto_number(x, &x->tracks, key, &x->last_track, is_new);
}

/* Begins a TrackDescriptor in x->event. */
static void begin_track(struct perfetto *x, uint64_t uuid, uint64_t parent, const char *name,
                        int64_t sort)
{
    proto_clear(&x->event);
    proto_int(&x->event, 1, uuid);
    if (name)
        proto_text(&x->event, 2, name);
    if (parent)
        proto_int(&x->event, 5, parent);      /* parent_uuid */
    proto_int(&x->event, 12, (uint64_t)sort); /* sibling_order_rank */
}

static void end_track(struct perfetto *x)
{
    perfetto_packet(x, -1, 60, &x->event); /* track_descriptor */
}

static void write_process(void *w, int64_t pid, bool is_gpu, const char *name, int64_t sort)
{
    struct perfetto *x = w;
    bool is_new;
    begin_track(x, track_of(x, pid, -1, "", &is_new), 0, is_gpu ? name : NULL, sort);
    if (!is_gpu) {
        proto_clear(&x->one); /* ProcessDescriptor */
        proto_int(&x->one, 1, (uint64_t)pid);
        proto_text(&x->one, 6, name); /* process_name */
        proto_message(&x->event, 3, &x->one);
    }
    proto_int(&x->event, 11, ORDER_EXPLICIT); /* child_ordering */
    end_track(x);
}

static void write_row(void *w, int64_t pid, int64_t tid, enum lane_of kind, const char *name,
                      int64_t sort)
{
    struct perfetto *x = w;
    struct perfetto_row *r = vec_push(&x->row);
    char *copy = arena_printf(&x->arena, "%s", name);
    if (!r || !copy || keymap_get(&x->rows, (struct key){{pid, tid}}) != KEYMAP_NONE ||
        keymap_put(&x->rows, (struct key){{pid, tid}}, (uint32_t)x->row.n - 1) < 0) {
        x->failed |= !r || !copy;
        return;
    }
    *r = (struct perfetto_row){.name = copy, .pid = pid, .tid = tid, .sort = sort, .kind = kind};
}

static struct perfetto_row *row_at(struct perfetto *x, int64_t pid, int64_t tid)
{
    uint32_t at = keymap_get(&x->rows, (struct key){{pid, tid}});
    return at == KEYMAP_NONE ? NULL : &x->row.at[at];
}

/* The uuid of a slice's row. The row is described when its first slice comes, as streams of GPU work need no description. */
static uint64_t track_of_row(struct perfetto *x, int64_t pid, int64_t tid)
{
    bool is_new;
    uint64_t uuid = track_of(x, pid, tid, "", &is_new), process = track_of(x, pid, -1, "", &is_new);
    struct perfetto_row *r = row_at(x, pid, tid);
    if (!r || r->described)
        return uuid;
    r->described = true;
    bool thread = r->kind == LANE_OF_THREAD;
    begin_track(x, uuid, process, thread ? NULL : r->name, r->sort);
    if (thread) {
        proto_clear(&x->one); /* ThreadDescriptor */
        proto_int(&x->one, 1, (uint64_t)pid);
        proto_int(&x->one, 2, (uint64_t)tid);
        proto_text(&x->one, 5, r->name); /* thread_name */
        proto_message(&x->event, 4, &x->one);
    }
    end_track(x);
    return uuid;
}

/* ---- slices ---- */

/* A call and the operation that it launched. */
static void correlate(struct perfetto *x, uint32_t launches)
{
    proto_clear(&x->one);            /* GpuCorrelation */
    proto_int(&x->one, 1, launches); /* render_stage_submission_event_ids */
    proto_message(&x->event, GPU_CORRELATION, &x->one);
}

static void begin_event(struct perfetto *x, uint64_t track, const struct slice *s)
{
    uint64_t name = perfetto_intern(x, INTERNED_NAME, s->name),
             cat = perfetto_intern(x, INTERNED_CATEGORY, s->cat);
    proto_clear(&x->event);
    proto_int(&x->event, 3, cat); /* category_iids */
    proto_int(&x->event, 9, TYPE_BEGIN);
    proto_int(&x->event, 10, name); /* name_iid */
    proto_int(&x->event, 11, track);
    if (s->launches)
        correlate(x, s->launches);
}

static void dim3(struct perfetto *x, struct proto *launch, unsigned field, uint64_t a, uint64_t b,
                 uint64_t c)
{
    proto_clear(&x->one); /* Dim3 */
    proto_int(&x->one, 1, a);
    proto_int(&x->one, 2, b);
    proto_int(&x->one, 3, c);
    proto_message(launch, field, &x->one);
}

static void begin_stage(struct perfetto *x, const struct slice *s)
{
    struct perfetto_row *r = row_at(x, s->pid, s->tid);
    bool kernel = s->op->kind == OP_KERNEL;
    uint64_t queue = perfetto_stage(x, r ? r->name : "stream", r ? r - x->row.at : 0, STAGE_OTHER);
    uint64_t stage = perfetto_stage(x, s->name, -1, kernel ? STAGE_COMPUTE : STAGE_OTHER);
    perfetto_context(x, s->owner);
    proto_clear(&x->event);
    proto_int(&x->event, 1, (uint64_t)s->index + 1); /* event_id */
    proto_int(&x->event, 2, (uint64_t)(s->end_ns - s->start_ns));
    proto_int(&x->event, 5, (uint64_t)s->owner);        /* context */
    proto_int(&x->event, 10, (uint32_t)s->correlation); /* submission_id */
    proto_int(&x->event, 11, (uint64_t)s->pid);         /* gpu_id */
    proto_int(&x->event, 13, queue);                    /* hw_queue_iid */
    proto_int(&x->event, 14, stage);                    /* stage_iid */
    if (!kernel)
        return;
    proto_clear(&x->args); /* ComputeKernelLaunch */
    dim3(x, &x->args, 1, s->op->grid[0], s->op->grid[1], s->op->grid[2]);
    dim3(x, &x->args, 2, s->op->block[0], s->op->block[1], s->op->block[2]);
    proto_message(&x->event, 21, &x->args);
}

/* Ends the slices of the present row that end by then, the innermost first. */
static void end_slices(struct perfetto *x, int64_t by_ns)
{
    while (x->ends.n && x->ends.at[x->ends.n - 1] <= by_ns) {
        proto_clear(&x->event);
        proto_int(&x->event, 9, TYPE_END);
        proto_int(&x->event, 11, x->track);
        perfetto_event(x, x->ends.at[--x->ends.n], 11); /* track_event */
    }
}

static void end_row(struct perfetto *x)
{
    end_slices(x, INT64_MAX);
}

static void put_end(struct perfetto *x, int64_t end_ns)
{
    int64_t *end = vec_push(&x->ends);
    if (end)
        *end = end_ns;
    x->failed |= !end;
}

static void write_slice(void *w, const struct slice *s)
{
    struct perfetto *x = w;
    uint64_t track = s->op ? 0 : track_of_row(x, s->pid, s->tid);
    end_slices(x, track == x->track ? s->start_ns : INT64_MAX);
    perfetto_go_to(x, s->start_ns);
    x->track = track;
    x->in_stage = s->op != NULL;
    if (s->op)
        begin_stage(x, s);
    else
        begin_event(x, track, s);
}

static void write_slice_end(void *w, const struct slice *s, const char *color)
{
    struct perfetto *x = w;
    (void)color;
    perfetto_event(x, s->start_ns, s->op ? 53 : 11); /* gpu_render_stage_event, track_event */
    if (!s->op)
        put_end(x, s->end_ns);
}

/* ---- arguments: of a render stage texts, of other slices annotations ---- */

/* Begins an annotation in x->args. */
static void begin_arg(struct perfetto *x, const char *key)
{
    uint64_t name = perfetto_intern(x, INTERNED_KEY, key);
    proto_clear(&x->args);
    proto_int(&x->args, 1, name); /* name_iid */
}

static void end_arg(struct perfetto *x)
{
    proto_message(&x->event, 4, &x->args); /* debug_annotations */
}

static void extra(struct perfetto *x, const char *key, const char *value)
{
    proto_clear(&x->one); /* ExtraData */
    proto_text(&x->one, 1, key);
    proto_text(&x->one, 2, value);
    proto_message(&x->event, 6, &x->one);
}

static void write_text(void *w, const char *key, const char *v)
{
    struct perfetto *x = w;
    if (x->in_stage) {
        extra(x, key, v ? v : "");
        return;
    }
    uint64_t text = perfetto_intern(x, INTERNED_TEXT, v ? v : "");
    begin_arg(x, key);
    proto_int(&x->args, 17, text); /* string_value_iid */
    end_arg(x);
}

static void write_integer(void *w, const char *key, int64_t v)
{
    struct perfetto *x = w;
    if (x->in_stage) {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)v);
        extra(x, key, text);
        return;
    }
    begin_arg(x, key);
    proto_int(&x->args, 4, (uint64_t)v); /* int_value */
    end_arg(x);
}

static void write_real(void *w, const char *key, double v, int decimals)
{
    struct perfetto *x = w;
    if (x->in_stage) {
        char text[64];
        snprintf(text, sizeof text, "%.*f", decimals, v);
        extra(x, key, text);
        return;
    }
    begin_arg(x, key);
    proto_double(&x->args, 5, v);
    end_arg(x);
}

static void write_ms(void *w, const char *key, int64_t ns)
{
    write_real(w, key, (double)ns / 1e6, 6);
}

static void write_flag(void *w, const char *key, bool v)
{
    struct perfetto *x = w;
    if (x->in_stage) {
        extra(x, key, v ? "true" : "false");
        return;
    }
    begin_arg(x, key);
    proto_int(&x->args, 2, v);
    end_arg(x);
}

static void write_shape(void *w, const char *key, const int64_t *dim, size_t n)
{
    char text[256] = "[";
    size_t at = 1;
    for (size_t i = 0; i < n && at < sizeof text - 24; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld", i ? ", " : "",
                               (long long)dim[i]);
    snprintf(text + at, sizeof text - at, "]");
    write_text(w, key, text);
}

static void write_counter(void *w, int64_t pid, int64_t at_ns, const char *name, const char *unit,
                          int64_t value)
{
    struct perfetto *x = w;
    bool is_new, known;
    uint64_t uuid = track_of(x, pid, -2, name, &is_new);
    if (is_new) {
        begin_track(x, uuid, track_of(x, pid, -1, "", &known), name, 0);
        proto_clear(&x->one);         /* CounterDescriptor */
        proto_text(&x->one, 6, unit); /* unit_name */
        proto_message(&x->event, 8, &x->one);
        end_track(x);
    }
    end_row(x);
    perfetto_go_to(x, at_ns);
    proto_clear(&x->event);
    proto_int(&x->event, 9, TYPE_COUNTER);
    proto_int(&x->event, 11, uuid);
    proto_int(&x->event, 30, (uint64_t)value); /* counter_value */
    perfetto_event(x, at_ns, 11);
}

/* Spans of one name of one thread have a track of their own, where they do not overlap. */
static void write_span(void *w, int64_t id, const struct slice *s, int64_t loader)
{
    struct perfetto *x = w;
    bool is_new, known;
    uint64_t uuid = track_of(x, s->pid, s->tid, s->name, &is_new);
    (void)id;
    if (is_new) {
        struct perfetto_row *r = row_at(x, s->pid, s->tid);
        const char *name =
            arena_printf(&x->arena, "%s%s%s", s->name, r ? ", " : "", r ? r->name : "");
        begin_track(x, uuid, track_of(x, s->pid, -1, "", &known), name, r ? r->sort : 0);
        end_track(x);
    }
    end_row(x);
    perfetto_go_to(x, s->start_ns);
    x->in_stage = false;
    x->track = uuid;
    begin_event(x, uuid, s);
    write_integer(x, "loader", loader);
    write_slice_end(x, s, NULL);
    end_row(x);
}

const struct trace_format trace_perfetto = {
    .process = write_process,
    .row = write_row,
    .slice = write_slice,
    .integer = write_integer,
    .real = write_real,
    .ms = write_ms,
    .text = write_text,
    .flag = write_flag,
    .shape = write_shape,
    .slice_end = write_slice_end,
    .counter = write_counter,
    .span = write_span,
};

int perfetto_end(struct perfetto *x)
{
    end_row(x);
    int rc = x->failed ? -1 : 0;
    keymap_release(&x->interned);
    keymap_release(&x->rows);
    keymap_release(&x->tracks);
    vec_release(&x->row);
    vec_release(&x->ends);
    arena_release(&x->arena);
    proto_release(&x->fresh);
    proto_release(&x->packet);
    proto_release(&x->whole);
    proto_release(&x->event);
    proto_release(&x->args);
    proto_release(&x->one);
    return rc;
}
