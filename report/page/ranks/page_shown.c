/* Chooses, of many ranks, those that the page draws one by one: the analysed one, the late ones,
 * and by their waiting time the first, the last and some in between. The table and the heat map
 * have all ranks. */
#include "report/page/ranks/page_shown.h"

#include <stdlib.h>

struct waiting {
    int64_t ns;
    size_t index;
};

static int by_waiting(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static void show(const struct ranks *r, const char **why, size_t i, const char *text, size_t *left)
{
    if (i >= r->count || why[i] || *left == 0)
        return;
    why[i] = text;
    --*left;
}

/* The ranks that keep others waiting longest, for half a percent of the step or more. */
static void show_late(const struct facts *f, const char **why, size_t most, size_t *left)
{
    const struct ranks *r = &f->ranks;
    for (size_t n = 0; n < most; n++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < r->count; i++)
            if (!why[i] && r->at[i].late_ns * 200 >= f->step_ns &&
                (best == SIZE_MAX || r->at[i].late_ns > r->at[best].late_ns))
                best = i;
        if (best == SIZE_MAX)
            return;
        show(r, why, best, "comes late", left);
    }
}

static int show_quantiles(const struct ranks *r, const char **why, size_t *left)
{
    static const struct {
        int percent;
        const char *text;
    } quantiles[] = {{50, "median waiting"}, {100, "most waiting"}, {0, "least waiting"},
                     {95, "95 % wait less"}, {5, "5 % wait less"},  {75, "75 % wait less"},
                     {25, "25 % wait less"}};
    struct waiting *v = malloc((r->count + 1) * sizeof *v);
    if (!v)
        return -1;
    for (size_t i = 0; i < r->count; i++)
        v[i] = (struct waiting){r->at[i].wait_ns, i};
    qsort(v, r->count, sizeof *v, by_waiting);
    for (size_t q = 0; q < sizeof quantiles / sizeof *quantiles; q++)
        show(r, why, v[(r->count - 1) * (size_t)quantiles[q].percent / 100].index,
             quantiles[q].text, left);
    free(v);
    return 0;
}

const char **page_shown(const struct page *p)
{
    const struct facts *f = p->a->facts;
    const struct ranks *r = &f->ranks;
    size_t left = PAGE_RANKS, group = 0;
    const char **why = calloc(r->count + 1, sizeof *why);
    for (size_t i = 0; why && r->count <= PAGE_RANKS && i < r->count; i++)
        why[i] = "";
    if (!why || r->count <= PAGE_RANKS)
        return why;
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].process == f->steps.process)
            show(r, why, i, "analysed", &left);
    for (size_t i = 0; r->group_size && i < r->count; i++)
        if (r->in_group[i] && group++ % ((r->group_size + 2) / 3) == 0)
            show(r, why, i, "of the late group", &left);
    show_late(f, why, r->group_size ? 1 : 4, &left);
    if (show_quantiles(r, why, &left) == 0)
        return why;
    free(why);
    return NULL;
}

bool page_shows(const struct page *p, const char *const *why, uint32_t process)
{
    const struct ranks *r = &p->a->facts->ranks;
    int64_t rank = process < p->t->process_count ? p->t->processes[process].rank : -1;
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].process == process || (rank >= 0 && r->at[i].rank == rank))
            return why[i] != NULL;
    return true;
}
