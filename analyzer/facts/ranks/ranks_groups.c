/* Makes one row for each kind of group. Groups are of one kind if the program gives
 * them the same name or, without names, if they have as many ranks with the same
 * distance between rank numbers. */
#include "analyzer/facts/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

struct kind {
    uint32_t name;
    bool pairs;
    int64_t stride;
    struct rank_group sums;
    int64_t lowest; /* the lowest rank of all its groups */
    size_t places;  /* number of ranks, over all its groups */
};

struct kinds VEC(struct kind);

/* The rank number of the i-th matched line-up in the group; -1: there are fewer. */
static int64_t rank_in(const struct members *m, const struct group *g, size_t i)
{
    for (size_t k = g->first; k < g->first + g->count; k++)
        if (m->lines.at[k].matched && i-- == 0)
            return m->at[m->lines.at[k].member].rank;
    return -1;
}

static size_t ranks_in(const struct members *m, const struct group *g)
{
    size_t n = 0;
    for (size_t k = g->first; k < g->first + g->count; k++)
        n += m->lines.at[k].matched;
    return n;
}

/* "0 to 3", "0, 8, 16, 24", "0, 8, 16, ..., 120": the ranks of a group. NULL: out of memory. */
static const char *words(const struct members *m, const struct group *g, size_t n,
                         struct arena *arena)
{
    enum { LISTED = 6 };
    bool run = n > 2;
    int64_t first = rank_in(m, g, 0), last = rank_in(m, g, n - 1);
    for (size_t i = 1; run && i < n; i++)
        run = rank_in(m, g, i) == first + (int64_t)i;
    if (run)
        return arena_printf(arena, "%lld to %lld", (long long)first, (long long)last);
    const char *text = arena_printf(arena, "%lld", (long long)first);
    for (size_t i = 1; text && i < n && (n <= LISTED || i < LISTED / 2); i++)
        text = arena_printf(arena, "%s, %lld", text, (long long)rank_in(m, g, i));
    return text && n > LISTED ? arena_printf(arena, "%s, ..., %lld", text, (long long)last) : text;
}

static struct kind *kind_of(struct kinds *kinds, const struct members *m, const struct group *g,
                            size_t ranks)
{
    const struct lineup *r = group_reference(m, g);
    int64_t stride = rank_in(m, g, 1) - rank_in(m, g, 0);
    for (size_t i = 0; i < kinds->n; i++) {
        struct kind *k = &kinds->at[i];
        bool alike = k->sums.ranks == ranks && k->stride == stride;
        if (k->name == r->name && k->pairs == r->pairs && (r->name || alike))
            return k;
    }
    struct kind *k = vec_push(kinds);
    if (k)
        *k = (struct kind){.name = r->name,
                           .pairs = r->pairs,
                           .stride = stride,
                           .sums = {.ranks = ranks, .pairs = r->pairs}};
    return k;
}

/* Adds a group to its kind. Groups of one rank, or without matched collectives, do not
 * count. -1: out of memory. */
static int add(struct facts *f, const struct members *m, const struct group *g, struct kinds *kinds)
{
    size_t ranks = ranks_in(m, g);
    if (ranks < 2 || g->collectives == 0)
        return 0;
    struct kind *k = kind_of(kinds, m, g, ranks);
    if (!k)
        return -1;
    struct rank_group *s = &k->sums;
    if (s->groups++ == 0 || rank_in(m, g, 0) < k->lowest) {
        k->lowest = rank_in(m, g, 0);
        s->members = words(m, g, ranks, &f->arena);
        if (!s->members)
            return -1;
    }
    s->ranks = s->ranks == ranks ? ranks : 0;
    k->places += ranks;
    s->collectives += g->collectives;
    s->comm_ns += g->comm_ns;
    s->wait_ns += g->wait_ns;
    s->late_ns = g->late_ns > s->late_ns ? g->late_ns : s->late_ns;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct rank_group *x = a, *y = b;
    return (x->comm_ns < y->comm_ns) - (x->comm_ns > y->comm_ns);
}

/* The name that the hook recorded for groups with that many ranks and that distance.
 * NULL: no name, or several. */
static const char *told(const struct facts *f, const struct kind *k)
{
    const struct timeline *t = f->tl;
    const char *name = NULL;
    for (size_t i = 0; i < t->meta_count; i++) {
        int64_t ranks, apart;
        const char *one = timeline_group_of_meta(t, &t->metas[i], &ranks, &apart);
        if (!one || ranks != (int64_t)k->sums.ranks || apart != k->stride)
            continue;
        if (name && strcmp(name, one) != 0)
            return NULL;
        name = one;
    }
    return name && strcmp(name, TL_NO_GROUP_NAME) != 0 ? name : NULL;
}

/* Publishes the kinds. comm_ns and wait_ns become means per used step and rank, late_ns per used
 * step. -1: out of memory. */
static int hand_over(struct facts *f, const struct kinds *kinds)
{
    struct ranks *r = &f->ranks;
    int64_t used = (int64_t)(f->steps.used ? f->steps.used : 1);
    r->groups = arena_array(&f->arena, kinds->n + 1, sizeof *r->groups);
    if (!r->groups)
        return -1;
    for (size_t i = 0; i < kinds->n; i++) {
        const struct kind *k = &kinds->at[i];
        struct rank_group *g = &r->groups[r->group_kinds++];
        *g = k->sums;
        g->name = k->name ? tl_text(f->tl, k->name) : k->pairs ? NULL : told(f, k);
        g->comm_ns /= used * (int64_t)k->places;
        g->wait_ns /= used * (int64_t)k->places;
        g->late_ns /= used;
    }
    if (r->group_kinds)
        qsort(r->groups, r->group_kinds, sizeof *r->groups, by_time);
    return 0;
}

int groups_summarise(struct facts *f, const struct members *m)
{
    struct kinds kinds = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->groups.n; i++)
        rc = add(f, m, &m->groups.at[i], &kinds);
    if (rc == 0)
        rc = hand_over(f, &kinds);
    vec_release(&kinds);
    return rc;
}
