/* Which rank is late when: a table of ranks and steps, and one of ranks and places in the step.
 * With one group the lateness is the time behind the median rank; with several groups it is the
 * time that the rank is charged with. Long runs, and steps with many collectives, share columns.
 * Cost: one addition per arrival. */
#include "analyzer/facts/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 128 };

static int open_table(struct facts *f, struct rank_heat *h, size_t rows, size_t of)
{
    h->of = of;
    h->per = (of + COLUMNS - 1) / COLUMNS;
    h->columns = h->per ? (of + h->per - 1) / h->per : 0;
    h->late_ns = arena_array(&f->arena, rows * h->columns + 1, sizeof *h->late_ns);
    return h->late_ns ? 0 : -1;
}

/* Numbers the collectives of the analysed process within each used step, in m->place; *most: the
 * largest count in one step. */
static int number_places(const struct facts *f, struct members *m, size_t *most)
{
    const struct timeline *t = f->tl;
    uint32_t *n = calloc(f->steps.count + 1, sizeof *n);
    m->place = malloc((t->op_count + 1) * sizeof *m->place);
    *most = 0;
    for (size_t i = 0; n && m->place && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        uint32_t step = f->steps.op_step[i];
        m->place[i] = TL_NONE;
        if (o->kind != OP_KERNEL || o->class.family != FAMILY_COMM || step == TL_NONE ||
            !f->steps.at[step].used || t->streams[o->stream].process != f->steps.process)
            continue;
        m->place[i] = n[step]++;
        *most = n[step] > *most ? n[step] : *most;
    }
    free(n);
    return n && m->place ? 0 : -1;
}

int heat_open(struct facts *f, struct members *m)
{
    size_t most;
    return number_places(f, m, &most) < 0 ||
                   open_table(f, &f->ranks.by_step, m->n, f->steps.count) < 0 ||
                   open_table(f, &f->ranks.by_place, m->n, most) < 0
               ? -1
               : 0;
}

void heat_add(struct facts *f, const struct members *m, const struct arrival *v, size_t n)
{
    struct ranks *r = &f->ranks;
    int64_t middle = v[(n - 1) / 2].start_ns;
    size_t own = 0;
    while (own < n && m->place[v[own].op] == TL_NONE)
        own++;
    if (own == n)
        return;
    size_t step = f->steps.op_step[v[own].op] / r->by_step.per;
    size_t place = m->place[v[own].op] / r->by_place.per;
    for (size_t i = n / 2; i < n; i++) {
        int64_t late = v[i].start_ns > middle ? v[i].start_ns - middle : 0;
        r->by_step.late_ns[v[i].member * r->by_step.columns + step] += late;
        r->by_place.late_ns[v[i].member * r->by_place.columns + place] += late;
    }
}

void heat_charge(struct facts *f, uint32_t member, uint32_t step, uint32_t place, int64_t ns)
{
    struct ranks *r = &f->ranks;
    if (step == TL_NONE || step >= f->steps.count || r->by_place.of == 0)
        return;
    place = place < r->by_place.of ? place : (uint32_t)r->by_place.of - 1;
    r->by_step.late_ns[member * r->by_step.columns + step / r->by_step.per] += ns;
    r->by_place.late_ns[member * r->by_place.columns + place / r->by_place.per] += ns;
}

/* Moves a row of the table. */
static void keep_row(struct rank_heat *h, size_t from, size_t to)
{
    memmove(h->late_ns + to * h->columns, h->late_ns + from * h->columns,
            h->columns * sizeof *h->late_ns);
}

void heat_keep_row(struct facts *f, size_t from, size_t to)
{
    if (from == to)
        return;
    keep_row(&f->ranks.by_step, from, to);
    keep_row(&f->ranks.by_place, from, to);
}

/* Divides by_step by the number of used steps in each column, and by_place by
 * that of all used steps. */
void heat_close(struct facts *f)
{
    struct ranks *r = &f->ranks;
    struct rank_heat *h = &r->by_step;
    int64_t used = (int64_t)(f->steps.used ? f->steps.used : 1);
    for (size_t column = 0; column < h->columns; column++) {
        int64_t n = 0;
        for (size_t i = column * h->per; i < (column + 1) * h->per && i < h->of; i++)
            n += f->steps.at[i].used;
        for (size_t row = 0; row < r->count && n > 1; row++)
            h->late_ns[row * h->columns + column] /= n;
    }
    for (size_t i = 0; i < r->count * r->by_place.columns; i++)
        r->by_place.late_ns[i] /= used;
}
