/* The steps, the gaps, and the places of the findings, within the timeline's data. */
#include "report/page/events/page_data.h"

#include "analyzer/facts/recorded.h"
#include "report/page/events/page_lanes.h"
#include "report/words/text.h"

void page_data_steps(struct data *d)
{
    enum { PARTS_UP_TO = 5000 };
    const struct advice *a = d->p->a;
    int64_t last = 0;
    json_str(&d->j, "unit", scope_words(a->facts)->unit);
    json_int(&d->j, "run", page_run_steps(a)); /* steps of the run, recorded or not */
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

/* True if the block has steps of the analysed process outside of all windows. */
static bool block_wanted(const struct data *d, const struct row_step_block *b)
{
    const struct facts *f = d->p->a->facts;
    if (!f->window_count || b->steps < 1 || b->end_ns <= b->start_ns ||
        b->process != d->t->processes[d->steps->process].id)
        return false;
    const struct recorded_window *r = recorded_at(f, b->start_ns);
    return !r || b->end_ns > r->end_ns;
}

/* Of what was not recorded: the times of the steps, neighbours summed up. */
static void write_blocks(struct data *d)
{
    static const char *const keys[] = {"start", "length", "first", "steps", "min", "max"};
    json_begin(&d->j, "blocks", '{');
    for (int column = 0; column < 6; column++) {
        int64_t last = 0;
        json_begin(&d->j, keys[column], '[');
        for (size_t i = 0; i < d->t->step_block_count; i++) {
            const struct row_step_block *b = &d->t->step_blocks[i];
            if (!block_wanted(d, b))
                continue;
            const int64_t v[] = {b->start_ns,   b->end_ns - b->start_ns,
                                 b->first_step, b->steps,
                                 b->min_ns,     b->max_ns};
            bool difference = column == 0 || column == 2;
            json_int(&d->j, NULL, difference ? v[column] - last : v[column]);
            last = v[column];
        }
        json_end(&d->j, ']');
    }
    json_end(&d->j, '}');
}

void page_data_unrecorded(struct data *d)
{
    static const char *const keys[] = {"from", "to", "known", "first", "last"};
    const struct facts *f = d->p->a->facts;
    size_t n = f->window_count ? f->window_count + 1 : 0;
    json_begin(&d->j, "unrecorded", '{');
    for (int column = 0; column < 5; column++) {
        json_begin(&d->j, keys[column], '[');
        for (size_t i = 0; i < n; i++) {
            struct unrecorded u = recorded_gap(f, i, d->from_ns, d->to_ns);
            const int64_t v[] = {u.from_ns, u.to_ns, u.known_ns, u.first_step, u.last_step};
            if (u.to_ns > u.from_ns)
                json_int(&d->j, NULL, v[column]);
        }
        json_end(&d->j, ']');
    }
    json_end(&d->j, '}');
    write_blocks(d);
}

/* The run, from its first record or step to the last. */
void page_data_span(struct data *d)
{
    d->from_ns = d->t->start_ns;
    d->to_ns = d->t->end_ns;
    for (size_t i = 0; i < d->t->step_block_count; i++) {
        const struct row_step_block *b = &d->t->step_blocks[i];
        if (!block_wanted(d, b))
            continue;
        d->from_ns = b->start_ns < d->from_ns ? b->start_ns : d->from_ns;
        d->to_ns = b->end_ns > d->to_ns ? b->end_ns : d->to_ns;
    }
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
