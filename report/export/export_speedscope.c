/* speedscope's own format: one profile per row and lane; frames are shared by name. Its importer of
 * Chrome traces is quadratic, and takes frames with different arguments for different ones. */
#include "report/trace/rows.h"
#include "report/export.h"
#include "report/json/json_write.h"
#include "report/words/text.h"

#include <stdlib.h>
#include <string.h>

struct speedscope {
    struct json j;
    const struct timeline *t;
    struct rows rows;
    struct items items;
    struct VEC(uint32_t) open; /* indices into items */
    uint32_t *frame;           /* by string id: frame number + 1 */
    int64_t base_ns, end_ns;
};

/* Begin and end of all processes on the clock of the steps; the begin is the profile's start, or
 * earlier. */
static void find_bounds(struct speedscope *s)
{
    s->end_ns = s->t->end_ns;
    s->base_ns = s->t->start_ns < 0 ? s->t->start_ns : 0;
    for (uint32_t i = 0; i < s->t->process_count; i++) {
        int64_t ahead_ns = rows_ahead(&s->rows, i);
        if (s->t->start_ns - ahead_ns < s->base_ns)
            s->base_ns = s->t->start_ns - ahead_ns;
        if (s->t->end_ns - ahead_ns > s->end_ns)
            s->end_ns = s->t->end_ns - ahead_ns;
    }
}

static void use_frame(struct speedscope *s, uint32_t name, uint32_t *n)
{
    if (s->frame[name])
        return;
    s->frame[name] = ++*n;
    json_newline(&s->j);
    json_begin(&s->j, NULL, '{');
    json_str(&s->j, "name", *tl_text(s->t, name) ? tl_text(s->t, name) : "(no name)");
    json_end(&s->j, '}');
}

static void write_frames(struct speedscope *s)
{
    const struct timeline *t = s->t;
    uint32_t n = 0;
    json_begin(&s->j, "shared", '{');
    json_begin(&s->j, "frames", '[');
    for (size_t i = 0; i < t->op_count; i++)
        use_frame(s, t->ops[i].name, &n);
    for (size_t i = 0; i < t->api_count; i++)
        use_frame(s, t->apis[i].name, &n);
    for (size_t i = 0; i < t->range_count; i++)
        use_frame(s, t->ranges[i].name, &n);
    for (size_t i = 0; i < t->call_count; i++)
        use_frame(s, t->calls[i].row.function, &n);
    json_end(&s->j, ']');
    json_end(&s->j, '}');
}

static void write_event(struct speedscope *s, const char *type, const struct item *x, int64_t at_ns)
{
    json_newline(&s->j);
    json_begin(&s->j, NULL, '{');
    json_str(&s->j, "type", type);
    json_int(&s->j, "frame", (int64_t)s->frame[item_name(s->t, x)] - 1);
    json_int(&s->j, "at", at_ns - s->base_ns);
    json_end(&s->j, '}');
}

static void close_until(struct speedscope *s, int64_t at_ns)
{
    while (s->open.n) {
        const struct item *x = &s->items.at[s->open.at[s->open.n - 1]];
        if (x->end_ns > at_ns)
            return;
        write_event(s, "C", x, x->end_ns);
        s->open.n--;
    }
}

static int write_lane(struct speedscope *s, uint16_t lane, const char *name)
{
    json_newline(&s->j);
    json_begin(&s->j, NULL, '{');
    json_str(&s->j, "type", "evented");
    json_str(&s->j, "name", name);
    json_str(&s->j, "unit", "nanoseconds");
    json_int(&s->j, "startValue", 0);
    json_int(&s->j, "endValue", s->end_ns - s->base_ns);
    json_begin(&s->j, "events", '[');
    for (size_t i = 0; i < s->items.n; i++) {
        const struct item *x = &s->items.at[i];
        if (x->lane != lane)
            continue;
        close_until(s, x->start_ns);
        write_event(s, "O", x, x->start_ns);
        uint32_t *top = vec_push(&s->open);
        if (!top)
            return -1;
        *top = (uint32_t)i;
    }
    close_until(s, INT64_MAX);
    json_end(&s->j, ']');
    json_end(&s->j, '}');
    return 0;
}

static int write_row(struct speedscope *s, const char *name)
{
    uint16_t lanes = 0;
    for (size_t i = 0; i < s->items.n; i++)
        if (s->items.at[i].lane + 1 > lanes)
            lanes = (uint16_t)(s->items.at[i].lane + 1);
    for (uint16_t lane = 0; lane < lanes; lane++) {
        char full[128];
        snprintf(full, sizeof full, "%s%s", name, lane ? " (overlap)" : "");
        if (write_lane(s, lane, full))
            return -1;
    }
    return 0;
}

/* "rank 3, " if there are several processes. */
static const char *rank_of(const struct timeline *t, uint32_t process, char *out, size_t n)
{
    *out = 0;
    if (t->process_count > 1 && process < t->process_count && t->processes[process].rank >= 0)
        snprintf(out, n, "rank %lld, ", (long long)t->processes[process].rank);
    return out;
}

static int write_profiles(struct speedscope *s, bool is_virtual)
{
    char name[96], rank[32];
    for (uint32_t i = 0; i < s->t->stream_count; i++) {
        snprintf(name, sizeof name, "%s%s stream %lld",
                 rank_of(s->t, s->t->streams[i].process, rank, sizeof rank),
                 is_virtual ? "virtual GPU" : "GPU", (long long)s->t->streams[i].row.stream);
        if (rows_stream(&s->rows, i, &s->items) || write_row(s, name))
            return -1;
    }
    for (uint32_t i = 0; i < s->t->thread_count; i++) {
        snprintf(name, sizeof name, "%sthread %lld",
                 rank_of(s->t, s->t->threads[i].process, rank, sizeof rank),
                 (long long)s->t->threads[i].row.tid);
        if (rows_thread(&s->rows, i, &s->items) || write_row(s, name))
            return -1;
    }
    return 0;
}

static int write_document(struct speedscope *s, const struct advice *a,
                          const struct export_options *o)
{
    char title[300];
    snprintf(title, sizeof title, "%s%.200s",
             facts_virtual(a->facts) ? "(virtual GPU, nothing measured) " : "",
             o->title ? o->title : "gpuprof");
    json_begin(&s->j, NULL, '{');
    json_str(&s->j, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_str(&s->j, "exporter", "gpuprof " GPUPROF_VERSION);
    json_str(&s->j, "name", title);
    write_frames(s);
    json_newline(&s->j);
    json_begin(&s->j, "profiles", '[');
    if (write_profiles(s, facts_virtual(a->facts)))
        return -1;
    json_end(&s->j, ']');
    json_end(&s->j, '}');
    return 0;
}

static int speedscope_analysis(const struct advice *a, const struct export_options *o, FILE *f,
                               struct err *e)
{
    struct speedscope s = {.t = a->facts->tl};
    int rc = -1;
    json_start(&s.j, f);
    s.frame = calloc(a->facts->tl->strings.n + 1, sizeof *s.frame);
    bool ready = s.frame && rows_open(&s.rows, a->facts->tl, a->facts->steps.process) == 0 &&
                 rows_align(&s.rows, a->facts) == 0;
    if (ready)
        find_bounds(&s);
    if (!ready || write_document(&s, a, o))
        err_set(e, "out of memory");
    else if (json_end_document(&s.j) == 0 || export_done(f, e) == 0)
        rc = 0;
    rows_close(&s.rows);
    vec_release(&s.items);
    vec_release(&s.open);
    free(s.frame);
    return rc;
}

const struct exporter export_speedscope = {
    .name = "speedscope",
    .suffix = ".speedscope.json",
    .help = "speedscope's own format",
    .analysis = speedscope_analysis,
};
