/* The steps after the best findings' changes, within the timeline's data, as differences to the
 * recorded steps. Most events only move, and together with their neighbours, so gzip makes the
 * differences tiny. The script places what a thread did between the moments that the replay
 * knows. */
#include "report/page/events/page_data.h"

#include "report/words/text.h"

int page_data_after_find(struct data *d, struct err *e)
{
    const struct outcome *best[PAGE_AFTER], *o;
    size_t n = 0;
    while (n < PAGE_AFTER && (o = shown_finding(d->p->a, d->p->o, n)))
        best[n++] = o;
    int found = advice_after(d->p->a, best, n, d->after, e);
    d->after_count = found > 0 ? (size_t)found : 0;
    return found < 0 ? -1 : 0;
}

static int64_t rank_of(const struct data *d, const struct outcome *one)
{
    const struct outcome *o;
    for (size_t i = 0; (o = shown_finding(d->p->a, d->p->o, i)); i++)
        if (o == one)
            return (int64_t)i + 1;
    return 0;
}

/* True if the step's recorded events are on the page. */
static bool has_recorded(const struct data *d, const struct after *one)
{
    return one->step.step < d->steps->count && d->detail[one->step.step];
}

void page_data_after(struct data *d)
{
    json_begin(&d->j, "after", '[');
    for (size_t i = 0; i < d->after_count; i++) {
        const struct after *one = &d->after[i];
        if (!has_recorded(d, one))
            continue;
        json_begin(&d->j, NULL, '{');
        json_int(&d->j, "rank", rank_of(d, one->outcome));
        json_str(&d->j, "title", one->outcome->title);
        json_int(&d->j, "step", one->step.step);
        json_int(&d->j, "from", one->step.from_ns);
        json_int(&d->j, "was", one->step.was_ns - one->step.from_ns);
        json_int(&d->j, "is", one->step.to_ns - one->step.from_ns);
        json_int(&d->j, "hostFrom", d->steps->at[one->step.step].start_ns);
        json_int(&d->j, "hostTo", d->steps->at[one->step.step].end_ns);
        json_end(&d->j, '}');
    }
    json_end(&d->j, ']');
}

enum { COLUMNS = 3 };

/* For a stream: the numbers of the operations that remain, how far each moves, and how much longer
 * it takes. */
static void write_ops(struct data *d, const struct after *one, int column)
{
    int64_t number = 0, last = 0, start_ns, end_ns;
    for (size_t k = 0; k < d->items.n; k++) {
        const struct item *i = &d->items.at[k];
        number++;
        if (i->kind != ITEM_OP || !replayed_op(&one->step, i->index, &start_ns, &end_ns))
            continue;
        int64_t v = column == 0   ? number - 1
                    : column == 1 ? start_ns - i->start_ns
                                  : end_ns - start_ns - (i->end_ns - i->start_ns);
        json_int(&d->j, NULL, column == 2 ? v : v - last);
        last = v;
    }
}

/* For a thread: its moments, how far each moves, and the numbers of the moments before which other
 * threads now do the work. */
static void write_moments(struct data *d, const struct after *one, int column, uint32_t thread)
{
    const struct replayed_step *r = &one->step;
    int64_t number = 0, last = 0;
    for (size_t k = 0; k < r->moment_count; k++) {
        const struct moment *m = &r->moments[k];
        if (m->thread != thread)
            continue;
        number++;
        int64_t v = column == 0   ? m->was_ns - r->from_ns
                    : column == 1 ? m->is_ns - m->was_ns
                                  : number - 1;
        if (column < 2 || m->elsewhere)
            json_int(&d->j, NULL, v - last);
        last = column < 2 || m->elsewhere ? v : last;
    }
}

void page_data_after_row(struct data *d, uint32_t thread)
{
    json_begin(&d->j, "after", '[');
    for (size_t i = 0; i < d->after_count; i++) {
        if (!has_recorded(d, &d->after[i]))
            continue;
        json_begin(&d->j, NULL, '[');
        for (int column = 0; column < COLUMNS; column++) {
            json_begin(&d->j, NULL, '[');
            if (thread == TL_NONE)
                write_ops(d, &d->after[i], column);
            else
                write_moments(d, &d->after[i], column, thread);
            json_end(&d->j, ']');
        }
        json_end(&d->j, ']');
    }
    json_end(&d->j, ']');
}
