/* One clock for all ranks. The line-ups of a group give the offsets between its ranks' clocks;
 * groups that share a rank connect their clocks. As in Kruskal's algorithm, line-ups with the least
 * scatter are taken first. Cost: O(n log n) in line-ups. */
#include "analyzer/facts/ranks/ranks.h"

#include <stdlib.h>

struct edge {
    uint32_t from, to; /* indices of members */
    int64_t offset_ns; /* the clock of `to` minus that of `from` */
    int64_t spread_ns;
};

struct tree { /* union-find over the members whose clock offsets are known */
    uint32_t *parent;
    int64_t *offset_ns; /* the member's clock minus its parent's */
};

static int by_spread(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->spread_ns != y->spread_ns)
        return x->spread_ns < y->spread_ns ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* Returns the root of a member; *offset: its clock minus the root's. Shortens
 * the path for later calls. */
static uint32_t root_of(struct tree *t, uint32_t i, int64_t *offset)
{
    *offset = 0;
    while (t->parent[i] != i) {
        uint32_t up = t->parent[i];
        if (t->parent[up] != up) {
            t->offset_ns[i] += t->offset_ns[up];
            t->parent[i] = t->parent[up];
        }
        *offset += t->offset_ns[i];
        i = t->parent[i];
    }
    return i;
}

/* Connects the trees of both members; does nothing if they are connected already. */
static void join(struct tree *t, const struct edge *e)
{
    int64_t from, to;
    uint32_t a = root_of(t, e->from, &from), b = root_of(t, e->to, &to);
    if (a == b)
        return;
    t->parent[b] = a;
    t->offset_ns[b] = from + e->offset_ns - to;
}

static size_t collect(const struct members *m, struct edge *edges)
{
    size_t n = 0;
    for (size_t g = 0; g < m->groups.n; g++) {
        const struct group *of = &m->groups.at[g];
        const struct lineup *r = group_reference(m, of);
        for (const struct lineup *l = r + 1; l < r + of->count; l++)
            if (l->matched)
                edges[n++] = (struct edge){r->member, l->member, l->offset_ns, l->spread_ns};
    }
    qsort(edges, n, sizeof *edges, by_spread);
    return n;
}

/* Fills m->clock and offset_ns. The first member of each tree gets offset 0. */
static void hand_over(struct members *m, struct tree *t, uint32_t *first)
{
    for (uint32_t i = 0; i < m->n; i++)
        first[i] = TL_NONE;
    for (uint32_t i = 0; i < m->n; i++) {
        int64_t own, its;
        uint32_t root = root_of(t, i, &own);
        first[root] = first[root] == TL_NONE ? i : first[root];
        root_of(t, first[root], &its);
        m->clock[i] = root;
        m->at[i].offset_ns = own - its;
    }
}

int clocks_join(struct members *m)
{
    struct edge *edges = malloc((m->lines.n + 1) * sizeof *edges);
    struct tree t = {calloc(m->n + 1, sizeof *t.parent), calloc(m->n + 1, sizeof *t.offset_ns)};
    uint32_t *first = malloc((m->n + 1) * sizeof *first);
    m->clock = calloc(m->n + 1, sizeof *m->clock);
    int rc = edges && t.parent && t.offset_ns && first && m->clock ? 0 : -1;
    if (rc == 0) {
        for (uint32_t i = 0; i < m->n; i++)
            t.parent[i] = i;
        size_t n = collect(m, edges);
        for (size_t i = 0; i < n; i++)
            join(&t, &edges[i]);
        hand_over(m, &t, first);
    }
    free(edges);
    free(t.parent);
    free(t.offset_ns);
    free(first);
    return rc;
}
