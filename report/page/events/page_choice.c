/* Chooses the events on the page: all, or those of whole steps. Steps that the page mentions, or
 * has a button for, come first. */
#include "report/page/events/page_data.h"

#include "report/page/ranks/page_shown.h"
#include "report/words/text.h"

#include <stdlib.h>
#include <string.h>

/* The step in which a host event began; TL_NONE before the first step. */
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

/* The step whose time on the GPU contains this moment; TL_NONE: none. */
static uint32_t gpu_step_of(const struct steps *s, int64_t at_ns)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->at[mid].to_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->count && s->at[low].from_ns <= at_ns ? (uint32_t)low : TL_NONE;
}

static uint32_t process_of(const struct data *d, size_t op)
{
    return d->t->streams[d->t->ops[op].stream].process;
}

static uint32_t op_step(const struct data *d, size_t op)
{
    if (d->steps->op_step && process_of(d, op) == d->steps->process)
        return d->steps->op_step[op];
    return step_of(d->steps, d->t->ops[op].start_ns);
}

static uint32_t item_step(const struct data *d, const struct item *i)
{
    return i->kind == ITEM_OP ? op_step(d, i->index) : step_of(d->steps, i->start_ns);
}

static bool in_window(const struct data *d, int64_t at_ns)
{
    return at_ns >= d->window_from_ns && at_ns < d->window_to_ns;
}

bool data_wanted(const struct data *d, const struct item *i)
{
    uint32_t step = d->all ? TL_NONE : item_step(d, i);
    if (d->window_to_ns > d->window_from_ns)
        return in_window(d, i->start_ns);
    return d->all || (step < d->steps->count && d->detail[step]);
}

static bool has_events(const struct page *p, uint32_t step, int64_t start_ns)
{
    const struct data *d = p->data;
    if (d->window_to_ns > d->window_from_ns)
        return in_window(d, start_ns);
    if (d->all || step < d->steps->count)
        return d->all || d->detail[step];
    uint32_t host = step_of(d->steps, start_ns), gpu = gpu_step_of(d->steps, start_ns);
    return (host != TL_NONE && d->detail[host]) || (gpu != TL_NONE && d->detail[gpu]);
}

static uint32_t longest(const struct page *p, const struct kernel_total *k)
{
    const struct data *d = p->data;
    return has_events(p, op_step(d, k->longest), p->t->ops[k->longest].start_ns)
               ? k->longest
               : d->longest[k->name];
}

static uint32_t step_of_op(const struct page *p, uint32_t op)
{
    return op_step(p->data, op);
}

const struct page_events data_events = {
    .has = has_events, .longest = longest, .step_of = step_of_op};

static void count_step(struct data *d, uint32_t step)
{
    if (step < d->steps->count)
        d->events[step]++;
}

/* True if the lanes of a process are on the page. */
bool data_shows(const struct data *d, uint32_t process)
{
    return page_shows(d->p, d->shown, process);
}

bool data_shows_thread(const struct data *d, uint32_t thread)
{
    return data_shows(d, d->t->threads[thread].process);
}

/* Number of events in the lanes on the page. */
static size_t count_shown(const struct data *d)
{
    const struct timeline *t = d->t;
    size_t n = 0;
    for (size_t i = 0; i < t->stream_count; i++)
        n += data_shows(d, t->streams[i].process) ? t->streams[i].ops : 0;
    for (uint32_t i = 0; i < t->thread_count; i++)
        n += data_shows_thread(d, i) ? t->threads[i].apis + t->threads[i].ranges : 0;
    return n + t->call_count;
}

static void count_events_of_steps(struct data *d)
{
    const struct timeline *t = d->t;
    for (size_t i = 0; i < t->op_count; i++)
        if (data_shows(d, process_of(d, i)))
            count_step(d, op_step(d, i));
    for (size_t i = 0; i < t->api_count; i++)
        if (data_shows_thread(d, t->apis[i].thread))
            count_step(d, step_of(d->steps, t->apis[i].start_ns));
    for (size_t i = 0; i < t->range_count; i++)
        if (data_shows_thread(d, t->ranges[i].thread))
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

/* If no whole step fits: the beginning of the median step, for as long as there is room for its
 * events. */
static void choose_window(struct data *d, size_t room)
{
    uint32_t step = page_step_at(d->p->a, 0.5);
    if (step == TL_NONE || d->events[step] == 0)
        return;
    const struct step *s = &d->steps->at[step];
    double share = 0.8 * (double)room / (double)d->events[step];
    d->window_from_ns = s->start_ns;
    d->window_to_ns = s->start_ns + (int64_t)((double)(s->end_ns - s->start_ns) * share);
}

/* Takes the steps that the findings show, on the host or on the GPU. */
static void take_examples(struct data *d, size_t *left)
{
    const struct advice *a = d->p->a;
    for (size_t i = 0; i < a->ranked_count; i++)
        for (size_t k = 0; k < a->ranked[i]->example_count; k++) {
            take_step(d, step_of(d->steps, a->ranked[i]->examples[k].start_ns), left);
            take_step(d, gpu_step_of(d->steps, a->ranked[i]->examples[k].start_ns), left);
        }
}

/* Takes the steps to which buttons lead: long steps, long gaps, the longest call of each kernel. */
static int take_buttons(struct data *d, size_t *left)
{
    const struct totals *totals = &d->p->a->facts->totals;
    size_t shown[PAGE_OUTLIERS], all, n = page_long_steps(d->p->a, shown, &all);
    for (size_t i = 0; i < n; i++)
        take_step(d, (uint32_t)shown[i], left);
    const struct gap **gaps = page_longest_gaps(d->p, &n);
    for (size_t i = 0; gaps && i < n && i < PAGE_GAPS; i++)
        take_step(d, gaps[i]->step, left);
    for (size_t i = 0; i < totals->kernel_count && i < PAGE_KERNELS; i++)
        if (totals->kernels[i].count > 0)
            take_step(d, op_step(d, totals->kernels[i].longest), left);
    int rc = gaps ? 0 : -1;
    free(gaps);
    return rc;
}

/* For each kernel, the longest call on the page, if the page does not have all events. */
static void find_longest(struct data *d)
{
    const struct timeline *t = d->t;
    for (size_t i = 0; i < t->op_count; i++) {
        const struct op *op = &t->ops[i];
        uint32_t *best = &d->longest[op->name];
        if (op->kind == OP_KERNEL && process_of(d, i) == d->steps->process &&
            has_events(d->p, op_step(d, i), op->start_ns) &&
            (*best == TL_NONE ||
             op->end_ns - op->start_ns > t->ops[*best].end_ns - t->ops[*best].start_ns))
            *best = (uint32_t)i;
    }
}

static void forget(struct data *d)
{
    memset(d->detail, 0, d->steps->count);
    memset(d->events, 0, d->steps->count * sizeof *d->events);
    d->window_from_ns = d->window_to_ns = 0;
    for (uint32_t i = 0; i < d->t->strings.n; i++)
        d->longest[i] = TL_NONE;
}

int data_choose(struct data *d, size_t most)
{
    const struct advice *a = d->p->a;
    size_t room = most < PAGE_SOME ? most : PAGE_SOME, left = room;
    forget(d);
    d->chosen = count_shown(d);
    d->all = d->chosen <= most;
    if (d->all) {
        memset(d->detail, 1, d->steps->count);
        return 0;
    }
    count_events_of_steps(d);
    take_step(d, page_step_at(a, 0.5), &left);
    for (size_t i = 0; i < d->after_count; i++)
        take_step(d, d->after[i].step.step, &left);
    take_examples(d, &left);
    take_step(d, page_step_at(a, 0.95), &left);
    take_step(d, page_step_at(a, 1), &left);
    if (take_buttons(d, &left))
        return -1;
    for (size_t i = 0; i < d->steps->count; i++)
        if (d->steps->at[i].used)
            take_step(d, (uint32_t)i, &left);
    if (left == room)
        choose_window(d, room);
    d->chosen = left == room ? room : room - left;
    find_longest(d);
    return 0;
}
