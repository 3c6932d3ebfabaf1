/* The steps, the gaps, and the places of the findings, within the timeline's data. */
#include "report/page/events/page_data.h"

#include "analyzer/facts/recorded.h"
#include "report/page/events/page_lanes.h"
#include "report/words/text.h"

enum { EXACT_UP_TO = 5000 }; /* steps; of more, only those whose events are on the page are exact */

static bool exact(const struct data *d, size_t i)
{
    return d->steps->count <= EXACT_UP_TO || d->detail[i];
}

static int64_t length(const struct step *s)
{
    return s->to_ns - s->from_ns;
}

/* The times of the exact steps: begins; from there to the end of their GPU work; and how much longer
 * a step is than from the end of the one before to its own, which is 0 but behind gaps. */
static void write_exact(struct data *d)
{
    int64_t last = 0;
    json_begin(&d->j, "start", '[');
    for (size_t i = 0; i < d->steps->count; i++) {
        if (!exact(d, i))
            continue;
        json_int(&d->j, NULL, d->steps->at[i].start_ns - last);
        last = d->steps->at[i].start_ns;
    }
    json_end(&d->j, ']');
    json_begin(&d->j, "until", '[');
    for (size_t i = 0; i < d->steps->count; i++)
        if (exact(d, i))
            json_int(&d->j, NULL, d->steps->at[i].to_ns - d->steps->at[i].start_ns);
    json_end(&d->j, ']');
    json_begin(&d->j, "longer", '[');
    last = 0;
    for (size_t i = 0; i < d->steps->count; i++) {
        if (!exact(d, i))
            continue;
        json_int(&d->j, NULL, last - d->steps->at[i].from_ns);
        last = d->steps->at[i].to_ns;
    }
    json_end(&d->j, ']');
}

/* The others' begins and lengths, in parts of the median step: enough for a bar, and for a length
 * that the page calls "about". */
static void write_about(struct data *d)
{
    enum { BEGIN = 64, LENGTH = 1000 };
    int64_t median = d->steps->median_ns > 0 ? d->steps->median_ns : 1, last = 0;
    int64_t begin = median / BEGIN + 1, grid = median / LENGTH + 1;
    json_int(&d->j, "beginGrid", begin);
    json_int(&d->j, "lengthGrid", grid);
    json_begin(&d->j, "aboutStart", '[');
    for (size_t i = 0; i < d->steps->count; i++) {
        int64_t at = (d->steps->at[i].start_ns - d->from_ns) / begin;
        if (exact(d, i))
            continue;
        json_int(&d->j, NULL, at - last);
        last = at;
    }
    json_end(&d->j, ']');
    json_begin(&d->j, "aboutLength", '[');
    for (size_t i = 0; i < d->steps->count; i++)
        if (!exact(d, i))
            json_int(&d->j, NULL, (length(&d->steps->at[i]) + grid / 2) / grid);
    json_end(&d->j, ']');
}

static void write_flags(struct data *d)
{
    json_begin(&d->j, "used", '[');
    for (size_t i = 0; i < d->steps->count; i++)
        json_int(&d->j, NULL, d->steps->at[i].used);
    json_end(&d->j, ']');
    json_begin(&d->j, "detail", '[');
    for (size_t i = 0; i < d->steps->count; i++)
        json_int(&d->j, NULL, d->detail[i]);
    json_end(&d->j, ']');
    json_begin(&d->j, "exact", '[');
    for (size_t i = 0; i < d->steps->count; i++)
        json_int(&d->j, NULL, exact(d, i));
    json_end(&d->j, ']');
}

void page_data_steps(struct data *d)
{
    const struct advice *a = d->p->a;
    int64_t last = 0;
    json_str(&d->j, "unit", scope_words(a->facts)->unit);
    json_int(&d->j, "run", page_run_steps(a)); /* steps of the run, recorded or not */
    json_begin(&d->j, "steps", '{');
    json_begin(&d->j, "number", '['); /* counted as `run --steps` does */
    for (size_t i = 0; i < d->steps->count; i++) {
        int64_t number = facts_step_number(a->facts, i);
        json_int(&d->j, NULL, number - last);
        last = number;
    }
    json_end(&d->j, ']');
    write_flags(d);
    write_exact(d);
    write_about(d);
    json_begin(&d->j, "parts", '[');
    for (size_t i = 0;
         a->facts->step_parts && d->steps->count <= EXACT_UP_TO && i < d->steps->count; i++)
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
