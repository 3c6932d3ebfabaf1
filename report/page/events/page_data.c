/* The data behind the timeline: columns of whole numbers, packed. Starts are differences to the one
 * before, which gzip likes. Nothing of it is read before the script draws it as text. */
#include "report/page/events/page_data.h"

#include "report/page/events/packed.h"
#include "report/page/events/page_lanes.h"
#include "report/page/events/page_more.h"
#include "report/page/ranks/page_shown.h"

#include <stdlib.h>
#include <string.h>

/* Classes of events below the parts of a step: host ones. */
enum { CLASS_RANGE = PART_COUNT, CLASS_CALL, CLASS_API };

/* The step in which something began; TL_NONE before the first. */
static uint32_t step_of(const struct steps *s, int64_t at_ns)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->at[mid].start_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? (uint32_t)low - 1 : TL_NONE;
}

static uint32_t item_step(const struct data *d, const struct item *i)
{
    const struct timeline *t = d->t;
    if (i->kind == ITEM_OP && d->steps->op_step &&
        t->streams[t->ops[i->index].stream].process == d->steps->process)
        return d->steps->op_step[i->index];
    return step_of(d->steps, i->start_ns);
}

static bool wanted(const struct data *d, const struct item *i)
{
    uint32_t step = d->all ? TL_NONE : item_step(d, i);
    if (d->window_to_ns > d->window_from_ns)
        return i->start_ns >= d->window_from_ns && i->start_ns < d->window_to_ns;
    return d->all || (step != TL_NONE && step < d->steps->count && d->detail[step]);
}

static void count_step(struct data *d, uint32_t step)
{
    if (step < d->steps->count)
        d->events[step]++;
}

/* Whether the lanes of a process are on the page. */
static bool shows(const struct data *d, uint32_t process)
{
    return page_shows(d->p, d->shown, process);
}

static bool shows_thread(const struct data *d, uint32_t thread)
{
    return shows(d, d->t->threads[thread].process);
}

/* Of the lanes on the page. */
static size_t count_shown(const struct data *d)
{
    const struct timeline *t = d->t;
    size_t n = 0;
    for (size_t i = 0; i < t->stream_count; i++)
        n += shows(d, t->streams[i].process) ? t->streams[i].ops : 0;
    for (uint32_t i = 0; i < t->thread_count; i++)
        n += shows_thread(d, i) ? t->threads[i].apis + t->threads[i].ranges : 0;
    return n + t->call_count;
}

static void count_events_of_steps(struct data *d)
{
    const struct timeline *t = d->t;
    for (size_t i = 0; i < t->op_count; i++)
        count_step(d, d->steps->op_step ? d->steps->op_step[i]
                                        : step_of(d->steps, t->ops[i].start_ns));
    for (size_t i = 0; i < t->api_count; i++)
        count_step(d, step_of(d->steps, t->apis[i].start_ns));
    for (size_t i = 0; i < t->range_count; i++)
        count_step(d, step_of(d->steps, t->ranges[i].start_ns));
    for (size_t i = 0; i < t->call_count; i++)
        count_step(d, step_of(d->steps, t->calls[i].row.start_ns));
}

static void take_step(struct data *d, uint32_t step, size_t *left)
{
    if (step >= d->steps->count || d->detail[step] || d->events[step] > *left)
        return;
    d->detail[step] = true;
    *left -= d->events[step];
}

/* No step fits: the beginning of the median one, as long as its events may suffice. */
static void choose_window(struct data *d)
{
    uint32_t step = page_step_at(d->p->a, 0.5);
    if (step == TL_NONE || d->events[step] == 0)
        return;
    const struct step *s = &d->steps->at[step];
    double share = 0.8 * PAGE_EVENTS / (double)d->events[step];
    d->window_from_ns = s->start_ns;
    d->window_to_ns = s->start_ns + (int64_t)((double)(s->end_ns - s->start_ns) * share);
}

/* Whole steps, those first that the page speaks of. */
static void choose_steps(struct data *d)
{
    const struct advice *a = d->p->a;
    size_t left = PAGE_EVENTS;
    d->all = count_shown(d) <= PAGE_EVENTS;
    if (d->all) {
        memset(d->detail, 1, d->steps->count);
        return;
    }
    count_events_of_steps(d);
    take_step(d, page_step_at(a, 0.5), &left);
    for (size_t i = 0; i < d->after_count; i++)
        take_step(d, d->after[i].step.step, &left);
    for (size_t i = 0; i < a->ranked_count; i++)
        for (size_t k = 0; k < a->ranked[i]->example_count; k++)
            take_step(d, step_of(d->steps, a->ranked[i]->examples[k].start_ns), &left);
    take_step(d, page_step_at(a, 0.95), &left);
    take_step(d, page_step_at(a, 1), &left);
    for (size_t i = 0; i < d->steps->count; i++)
        if (d->steps->at[i].used)
            take_step(d, (uint32_t)i, &left);
    if (left == PAGE_EVENTS)
        choose_window(d);
}

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

/* The launch that an event is, or comes from: its number + 1. */
static int64_t launch_of(const struct data *d, const struct item *i)
{
    if (i->kind == ITEM_API)
        return d->t->apis[i->index].op == TL_NONE ? 0 : (int64_t)i->index + 1;
    if (i->kind == ITEM_OP && d->t->ops[i->index].api != TL_NONE)
        return (int64_t)d->t->ops[i->index].api + 1;
    return 0;
}

/* A text of its own for each distinct one; 0: there is nothing more to say. */
static int64_t more_number(struct data *d, const struct item *i)
{
    struct text b;
    uint32_t id = str_intern(&d->mores, b.s, strlen(page_more(&b, d->t, i)));
    return id == STR_NONE ? 0 : id;
}

enum column { COLUMN_START, COLUMN_LENGTH, COLUMN_NAME, COLUMN_CLASS, COLUMN_LAUNCH, COLUMN_MORE };

static void write_column(struct data *d, const char *key, enum column column)
{
    int64_t last = 0;
    json_begin(&d->j, key, '[');
    for (size_t k = 0; k < d->items.n; k++) {
        const struct item *i = &d->items.at[k];
        if (!wanted(d, i))
            continue;
        int64_t v = column == COLUMN_START    ? i->start_ns
                    : column == COLUMN_LENGTH ? i->end_ns - i->start_ns
                    : column == COLUMN_NAME   ? name_number(d, item_name(d->t, i))
                    : column == COLUMN_CLASS  ? event_class(d, i)
                    : column == COLUMN_MORE   ? more_number(d, i)
                                              : launch_of(d, i);
        bool difference = column == COLUMN_START || column == COLUMN_LAUNCH;
        json_int(&d->j, NULL, difference ? v - last : v);
        last = v;
    }
    json_end(&d->j, ']');
}

static void write_row(struct data *d, const char *name, uint32_t thread)
{
    bool any = false;
    for (size_t i = 0; i < d->items.n && !any; i++)
        any = wanted(d, &d->items.at[i]);
    if (!any)
        return;
    json_begin(&d->j, NULL, '{');
    json_str(&d->j, "name", name);
    json_str(&d->j, "kind", thread == TL_NONE ? "gpu" : "host");
    write_column(d, "start", COLUMN_START);
    write_column(d, "length", COLUMN_LENGTH);
    write_column(d, "text", COLUMN_NAME);
    write_column(d, "class", COLUMN_CLASS);
    write_column(d, "launch", COLUMN_LAUNCH);
    write_column(d, "more", COLUMN_MORE);
    page_data_after_row(d, thread, wanted);
    json_end(&d->j, '}');
}

static int write_lanes(struct data *d, bool threads)
{
    char name[224];
    uint32_t n;
    int rc = 0;
    struct lane_order *order = page_lane_order(d->t, threads, &n);
    if (!order)
        return -1;
    for (uint32_t k = 0; k < n && rc == 0; k++) {
        uint32_t i = order[k].index;
        if (!(threads ? shows_thread(d, i) : shows(d, d->t->streams[i].process)))
            continue;
        rc = threads ? rows_thread(&d->rows, i, &d->items) : rows_stream(&d->rows, i, &d->items);
        if (rc)
            break;
        (threads ? page_thread_name : page_stream_name)(d->p, i, name, sizeof name);
        write_row(d, name, threads ? i : TL_NONE);
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
    json_int(&d->j, "from", d->t->start_ns);
    json_int(&d->j, "to", d->t->end_ns);
    json_begin(&d->j, "partTitles", '[');
    for (int i = 0; i < PART_COUNT; i++)
        json_str(&d->j, NULL, analysis_part_title(d->p->a->facts, i));
    json_end(&d->j, ']');
    page_data_steps(d);
    page_data_gaps(d);
    page_data_findings(d);
    page_data_after(d);
    if (write_rows(d))
        return -1;
    json_end(&d->j, '}');
    json_end_document(&d->j);
    return 0;
}

static int open_data(struct data *d, const struct page *p)
{
    *d = (struct data){.p = p, .t = p->t, .steps = &p->a->facts->steps};
    size_t steps = p->a->facts->steps.count + 1, names = (size_t)p->t->strings.n + 1;
    d->name = calloc(names, sizeof *d->name);
    d->listed = calloc(names, sizeof *d->listed);
    d->events = calloc(steps, sizeof *d->events);
    d->detail = calloc(steps, sizeof *d->detail);
    d->shown = page_shown(p);
    return !d->shown || str_table_init(&d->mores) ||
                   rows_open(&d->rows, p->t, p->a->facts->steps.process) ||
                   rows_align(&d->rows, p->a->facts) || !d->name || !d->listed || !d->events ||
                   !d->detail
               ? -1
               : 0;
}

static void close_data(struct data *d)
{
    rows_close(&d->rows);
    str_table_release(&d->mores);
    vec_release(&d->items);
    advice_after_release(d->after, d->after_count);
    free(d->shown);
    free(d->name);
    free(d->listed);
    free(d->events);
    free(d->detail);
}

static int write_packed(struct data *d, struct err *e)
{
    FILE *packed = packed_open(d->p->f);
    if (!packed)
        return err_no_memory(e);
    choose_steps(d);
    json_start(&d->j, packed);
    d->j.shown = true;
    int rc = write_all(d);
    if (fclose(packed) && rc == 0)
        return export_done(d->p->f, e);
    return rc ? err_no_memory(e) : 0;
}

int page_data(const struct page *p, struct err *e)
{
    struct data d;
    int rc = open_data(&d, p) ? err_no_memory(e) : page_data_after_find(&d, e);
    if (rc == 0)
        rc = write_packed(&d, e);
    close_data(&d);
    return rc;
}
