/* Steps of the whole run, including those between windows. Neighbouring steps are summed up in
 * blocks; if there are too many blocks, each two become one. */
#include "analyzer/collector/spool/spool.h"

enum { BLOCKS_MAX = 2048 };

static void halve(struct spool *s)
{
    size_t n = s->blocks.n / 2;
    for (size_t i = 0; i < n; i++) {
        struct row_step_block a = s->blocks.at[2 * i];
        const struct row_step_block *b = &s->blocks.at[2 * i + 1];
        a.steps += b->steps;
        a.end_ns = b->end_ns;
        a.min_ns = b->min_ns < a.min_ns ? b->min_ns : a.min_ns;
        a.max_ns = b->max_ns > a.max_ns ? b->max_ns : a.max_ns;
        s->blocks.at[i] = a;
    }
    s->blocks.n = n;
    s->block_steps *= 2;
}

/* Adds a step to the newest block or, if that is full, to a new one. */
static void add(struct spool *s, int64_t number, int64_t start_ns, int64_t end_ns)
{
    struct row_step_block *b = s->blocks.n ? &s->blocks.at[s->blocks.n - 1] : NULL;
    int64_t length = spool_minus(end_ns, start_ns);
    if (!b || b->steps >= s->block_steps) {
        if (s->blocks.n == BLOCKS_MAX)
            halve(s);
        if (!s->block_steps)
            s->block_steps = 1;
        b = vec_push(&s->blocks);
        if (!b)
            return;
        *b = (struct row_step_block){.process = s->process,
                                     .first_step = number,
                                     .start_ns = start_ns,
                                     .min_ns = length,
                                     .max_ns = length};
    }
    b->steps++;
    b->end_ns = end_ns;
    b->min_ns = length < b->min_ns ? length : b->min_ns;
    b->max_ns = length > b->max_ns ? length : b->max_ns;
}

void spool_add_step(struct spool *s, const struct spool_rec_range *r)
{
    int64_t start = spool_time(s, r->head.start_ns), end = spool_time(s, r->head.end_ns);
    if (s->steps && start <= s->last_step_ns)
        return; /* overlapping marks, or a damaged record */
    if (s->steps)
        add(s, s->steps, s->last_step_ns, start);
    s->steps++;
    s->last_step_ns = start;
    s->last_step_end_ns = end > start ? end : start;
}

void spool_put_steps(struct spool *s, struct spool_out *out)
{
    if (s->steps)
        add(s, s->steps, s->last_step_ns, s->last_step_end_ns);
    for (size_t i = 0; i < s->blocks.n; i++) {
        s->blocks.at[i].id = ++out->ids[ROW_STEP_BLOCK];
        spool_put(out, ROW_STEP_BLOCK, &s->blocks.at[i]);
    }
}
