/* The data behind the timeline: columns of integers, packed. Starts count from the end of the event
 * before, and launches from the launch before, which gzip compresses well. They are not read before the script draws them. */
#include "report/page/events/page_data.h"

#include "report/page/events/packed.h"
#include "report/page/events/page_lanes.h"
#include "report/page/events/page_more.h"
#include "report/page/ranks/page_shown.h"

#include <stdlib.h>
#include <string.h>

/* Classes of host events, behind the parts of a step. */
enum { CLASS_RANGE = PART_COUNT, CLASS_CALL, CLASS_API };

static uint32_t name_number(struct data *d, uint32_t id)
{
    if (d->name[id] == 0) {
        d->listed[d->names] = id;
        d->name[id] = ++d->names;
    }
    return d->name[id] - 1;
}

static int event_class(const struct data *d, const struct item *i)
{
    if (i->kind == ITEM_RANGE)
        return CLASS_RANGE;
    if (i->kind == ITEM_CALL)
        return CLASS_CALL;
    if (i->kind == ITEM_API)
        return CLASS_API;
    const struct op *op = &d->t->ops[i->index];
    if (op->kind != OP_KERNEL)
        return PART_COPY;
    return op->class.family == FAMILY_COMM ? PART_COMM : PART_COMPUTE;
}

/* Number + 1 of the launch that the event is, or that launched it; 0: none. */
static int64_t launch_of(const struct data *d, const struct item *i)
{
    if (i->kind == ITEM_API)
        return d->t->apis[i->index].op == TL_NONE ? 0 : (int64_t)i->index + 1;
    if (i->kind == ITEM_OP && d->t->ops[i->index].api != TL_NONE)
        return (int64_t)d->t->ops[i->index].api + 1;
    return 0;
}

/* Number of the event's further text; equal texts share one. 0: none. */
static int64_t more_number(struct data *d, const struct item *i)
{
    struct text b;
    uint32_t id = str_intern(&d->mores, b.s, strlen(page_more(&b, d->t, i)));
    return id == STR_NONE ? 0 : id;
}

enum column { COLUMN_START, COLUMN_LENGTH, COLUMN_NAME, COLUMN_CLASS, COLUMN_LAUNCH, COLUMN_MORE };

/* A number of a launch as a step from the last one: 0 for none, n + 1 for n >= 0, n for n < 0. Many
 * events between launches have none, and would cost as much as the launches. */
static int64_t launch_step(int64_t number, int64_t *last)
{
    int64_t step = number - *last;
    if (!number)
        return 0;
    *last = number;
    return step < 0 ? step : step + 1;
}

static void write_column(struct data *d, const char *key, enum column column)
{
    int64_t last = 0;
    json_begin(&d->j, key, '[');
    for (size_t k = 0; k < d->items.n; k++) {
        const struct item *i = &d->items.at[k];
        int64_t v = column == COLUMN_START    ? i->start_ns
                    : column == COLUMN_LENGTH ? i->end_ns - i->start_ns
                    : column == COLUMN_NAME   ? name_number(d, item_name(d->t, i))
                    : column == COLUMN_CLASS  ? event_class(d, i)
                    : column == COLUMN_MORE   ? more_number(d, i)
                                              : launch_of(d, i);
        json_int(&d->j, NULL,
                 column == COLUMN_START    ? v - last
                 : column == COLUMN_LAUNCH ? launch_step(v, &last)
                                           : v);
        if (column == COLUMN_START)
            last = i->end_ns;
    }
    json_end(&d->j, ']');
}

static void write_row(struct data *d, const char *name, const char *gpu, uint32_t thread)
{
    size_t n = 0;
    for (size_t i = 0; i < d->items.n; i++)
        if (data_wanted(d, &d->items.at[i]))
            d->items.at[n++] = d->items.at[i];
    d->items.n = n;
    if (!n)
        return;
    json_begin(&d->j, NULL, '{');
    json_str(&d->j, "name", name);
    json_str(&d->j, "kind", thread == TL_NONE ? "gpu" : "host");
    if (gpu)
        json_str(&d->j, "gpu", gpu);
    write_column(d, "start", COLUMN_START);
    write_column(d, "length", COLUMN_LENGTH);
    write_column(d, "text", COLUMN_NAME);
    write_column(d, "class", COLUMN_CLASS);
    write_column(d, "launch", COLUMN_LAUNCH);
    write_column(d, "more", COLUMN_MORE);
    page_data_after_row(d, thread);
    json_end(&d->j, '}');
}

static int write_lanes(struct data *d, bool threads)
{
    char name[224], gpu[96];
    uint32_t n;
    int rc = 0;
    struct lane_order *order = page_lane_order(d->t, threads, &n);
    if (!order)
        return -1;
    for (uint32_t k = 0; k < n && rc == 0; k++) {
        uint32_t i = order[k].index;
        if (!(threads ? data_shows_thread(d, i) : data_shows(d, d->t->streams[i].process)))
            continue;
        rc = threads ? rows_thread(&d->rows, i, &d->items) : rows_stream(&d->rows, i, &d->items);
        if (rc)
            break;
        (threads ? page_thread_name : page_stream_name)(d->p, i, name, sizeof name);
        if (!threads)
            page_gpu_name(d->p, d->t->streams[i].process, d->t->streams[i].device, gpu, sizeof gpu);
        write_row(d, name, threads ? NULL : gpu, threads ? i : TL_NONE);
    }
    free(order);
    return rc;
}

static int write_rows(struct data *d)
{
    json_begin(&d->j, "rows", '[');
    if (write_lanes(d, false) || write_lanes(d, true))
        return -1;
    json_end(&d->j, ']');
    json_begin(&d->j, "names", '[');
    for (uint32_t i = 0; i < d->names; i++)
        json_str(&d->j, NULL, tl_text(d->t, d->listed[i]));
    json_end(&d->j, ']');
    json_begin(&d->j, "mores", '[');
    for (uint32_t i = 0; i < d->mores.n; i++)
        json_str(&d->j, NULL, str_text(&d->mores, i));
    json_end(&d->j, ']');
    return 0;
}

static int write_all(struct data *d)
{
    uint32_t median = page_step_at(d->p->a, 0.5);
    json_begin(&d->j, NULL, '{');
    json_int(&d->j, "chosen", median == TL_NONE ? 0 : median);
    json_bool(&d->j, "all", d->all);
    json_begin(&d->j, "window", '[');
    if (d->window_to_ns > d->window_from_ns) {
        json_int(&d->j, NULL, d->window_from_ns);
        json_int(&d->j, NULL, d->window_to_ns);
    }
    json_end(&d->j, ']');
    json_int(&d->j, "from", d->from_ns);
    json_int(&d->j, "to", d->to_ns);
    json_begin(&d->j, "partTitles", '[');
    for (int i = 0; i < PART_COUNT; i++)
        json_str(&d->j, NULL, analysis_part_title(d->p->a->facts, i));
    json_end(&d->j, ']');
    page_data_steps(d);
    page_data_unrecorded(d);
    page_data_gaps(d);
    page_data_findings(d);
    page_data_after(d);
    if (write_rows(d))
        return -1;
    json_end(&d->j, '}');
    json_end_document(&d->j);
    return 0;
}

static int fill(struct data *d, struct page *p)
{
    *d = (struct data){.p = p, .t = p->t, .steps = &p->a->facts->steps};
    size_t steps = p->a->facts->steps.count + 1, names = (size_t)p->t->strings.n + 1;
    d->name = calloc(names, sizeof *d->name);
    d->listed = calloc(names, sizeof *d->listed);
    d->events = calloc(steps, sizeof *d->events);
    d->detail = calloc(steps, sizeof *d->detail);
    d->longest = malloc(names * sizeof *d->longest);
    for (size_t i = 0; d->longest && i < names; i++)
        d->longest[i] = TL_NONE;
    d->shown = page_shown(p);
    page_data_span(d);
    p->several_gpus = d->several_gpus = page_several_gpus(p->t);
    return !d->shown || !d->several_gpus || str_table_init(&d->mores) ||
                   rows_open(&d->rows, p->t, p->a->facts->steps.process) ||
                   rows_align(&d->rows, p->a->facts) || !d->name || !d->listed || !d->events ||
                   !d->detail || !d->longest
               ? -1
               : 0;
}

void page_data_close(struct data *d)
{
    if (!d)
        return;
    rows_close(&d->rows);
    str_table_release(&d->mores);
    vec_release(&d->items);
    advice_after_release(d->after, d->after_count);
    free(d->shown);
    free(d->several_gpus);
    free(d->name);
    free(d->listed);
    free(d->events);
    free(d->detail);
    free(d->longest);
    free(d);
}

static int write_packed(struct data *d, FILE *to)
{
    FILE *packed = packed_open(to);
    if (!packed)
        return -1;
    json_start(&d->j, packed);
    d->j.shown = true;
    int rc = write_all(d);
    return fclose(packed) || rc ? -1 : 0;
}

/* The bytes that the data take on the page; 0: out of memory. */
static size_t packed_size(struct data *d)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    int rc = f ? write_packed(d, f) : -1;
    if (f && fclose(f))
        rc = -1;
    free(text);
    return rc ? 0 : n;
}

/* Chooses events, fewer until they fit. How well they pack depends on how their times vary. */
static int choose(struct data *d)
{
    enum { SURE = 40000, TRIES = 6 }; /* so few fit in any case */
    size_t most = PAGE_EVENTS;
    for (int i = 0; i < TRIES; i++) {
        size_t bytes;
        if (data_choose(d, most))
            return -1;
        if (d->chosen + d->steps->count <= SURE)
            return 0;
        if (!(bytes = packed_size(d)))
            return -1;
        if (bytes <= PAGE_BYTES)
            return 0;
        most = (size_t)(0.95 * (double)d->chosen * PAGE_BYTES / (double)bytes);
    }
    return 0;
}

int page_data_open(struct page *p, struct err *e)
{
    struct data *d = calloc(1, sizeof *d);
    p->data = d;
    p->events = &data_events;
    int rc = d && fill(d, p) == 0 ? page_data_after_find(d, e) : err_no_memory(e);
    if (rc == 0 && choose(d) < 0)
        rc = err_no_memory(e);
    if (rc == 0)
        return 0;
    page_data_close(d);
    p->data = NULL;
    return rc;
}

int page_data_write(const struct page *p, struct err *e)
{
    struct data *d = p->data;
    int rc = write_packed(d, p->f);
    if (rc && export_done(p->f, e))
        return -1;
    return rc ? err_no_memory(e) : 0;
}
