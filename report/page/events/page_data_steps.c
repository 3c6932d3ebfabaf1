/* The steps, the gaps, and the places of the findings, within the timeline's data. */
#include "report/page/events/page_data.h"

#include "report/page/events/page_lanes.h"
#include "report/words/text.h"

void page_data_steps(struct data *d)
{
    enum { PARTS_UP_TO = 5000 };
    const struct advice *a = d->p->a;
    int64_t last = 0;
    json_str(&d->j, "unit", scope_words(a->facts)->unit);
    json_begin(&d->j, "steps", '{');
    json_begin(&d->j, "start", '[');
    for (size_t i = 0; i < d->steps->count; i++) {
        json_int(&d->j, NULL, d->steps->at[i].start_ns - last);
        last = d->steps->at[i].start_ns;
    }
    json_end(&d->j, ']');
    json_begin(&d->j, "number", '['); /* counted as `run --steps` does */
    for (size_t i = 0; i < d->steps->count; i++)
        json_int(&d->j, NULL, facts_step_number(a->facts, i));
    json_end(&d->j, ']');
    json_begin(&d->j, "length", '['); /* of the time that the step's parts divide */
    for (size_t i = 0; i < d->steps->count; i++)
        json_int(&d->j, NULL, d->steps->at[i].to_ns - d->steps->at[i].from_ns);
    json_end(&d->j, ']');
    json_begin(&d->j, "until", '['); /* from the step's start to the end of its GPU work */
    for (size_t i = 0; i < d->steps->count; i++)
        json_int(&d->j, NULL, d->steps->at[i].to_ns - d->steps->at[i].start_ns);
    json_end(&d->j, ']');
    json_begin(&d->j, "used", '[');
    for (size_t i = 0; i < d->steps->count; i++)
        json_int(&d->j, NULL, d->steps->at[i].used);
    json_end(&d->j, ']');
    json_begin(&d->j, "detail", '[');
    for (size_t i = 0; i < d->steps->count; i++)
        json_int(&d->j, NULL, d->detail[i]);
    json_end(&d->j, ']');
    json_begin(&d->j, "parts", '[');
    for (size_t i = 0;
         a->facts->step_parts && d->steps->count <= PARTS_UP_TO && i < d->steps->count; i++)
        for (int k = 0; k < PART_COUNT; k++)
            json_int(&d->j, NULL, a->facts->step_parts[i][k]);
    json_end(&d->j, ']');
    json_end(&d->j, '}');
}

void page_data_recorded(struct data *d)
{
    const struct facts *f = d->p->a->facts;
    json_begin(&d->j, "recorded", '['); /* begin and end of each window; empty: all is recorded */
    for (size_t i = 0; i < f->window_count; i++) {
        json_int(&d->j, NULL, f->windows[i].start_ns);
        json_int(&d->j, NULL,
                 f->windows[i].end_ns < d->t->end_ns ? f->windows[i].end_ns : d->t->end_ns);
    }
    json_end(&d->j, ']');
}

static bool gap_wanted(const struct data *d, const struct gap *g)
{
    if (d->window_to_ns > d->window_from_ns)
        return g->start_ns >= d->window_from_ns && g->start_ns < d->window_to_ns;
    return d->all || (g->step < d->steps->count && d->detail[g->step]);
}

void page_data_gaps(struct data *d)
{
    const struct advice *a = d->p->a;
    static const char *const keys[] = {"start", "length", "part"};
    char gpu[96];
    json_begin(&d->j, "gaps", '{');
    for (int column = 0; column < 3; column++) {
        int64_t last = 0;
        json_begin(&d->j, keys[column], '[');
        for (size_t i = 0; i < a->facts->gap_count; i++) {
            const struct gap *g = &a->facts->gaps[i];
            if (!gap_wanted(d, g))
                continue;
            json_int(&d->j, NULL,
                     column == 0   ? g->start_ns - last
                     : column == 1 ? g->end_ns - g->start_ns
                                   : g->part);
            last = g->start_ns;
        }
        json_end(&d->j, ']');
    }
    page_gpu_name(d->p, d->steps->process, d->steps->device, gpu, sizeof gpu);
    json_str(&d->j, "gpu", gpu);
    json_end(&d->j, '}');
}

/* The places that the findings show, in the order of the findings. */
void page_data_findings(struct data *d)
{
    const struct outcome *o;
    json_begin(&d->j, "findings", '[');
    for (size_t i = 0; (o = shown_finding(d->p->a, d->p->o, i)); i++)
        for (size_t k = 0; k < o->example_count; k++) {
            json_begin(&d->j, NULL, '{');
            json_int(&d->j, "rank", (int64_t)i + 1);
            json_str(&d->j, "title", o->title);
            json_str(&d->j, "text", o->examples[k].text);
            if (o->examples[k].caller)
                json_str(&d->j, "caller", o->examples[k].caller);
            json_int(&d->j, "start", o->examples[k].start_ns);
            json_int(&d->j, "length", o->examples[k].end_ns - o->examples[k].start_ns);
            json_end(&d->j, '}');
        }
    json_end(&d->j, ']');
}
