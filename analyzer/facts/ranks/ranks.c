/* Measures several ranks. Aligns their clocks by the ends of matched collectives; then divides each
 * collective into waiting (until the last rank arrives) and transfer (after that). Ranks are
 * compared within the group of a collective: a tensor-parallel group, a data-parallel one. Every
 * figure is a sum over collectives, so that the summaries of several ranks can be added. Cost: one
 * pass over the ops, O(log n) per collective and rank. */
#include "analyzer/facts/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

static bool is_collective(const struct op *o)
{
    return o->kind == OP_KERNEL && o->class.family == FAMILY_COMM;
}

/* ---- who takes part ---- */

static int by_rank(const void *a, const void *b)
{
    const struct rank_facts *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->device > y->device) - (x->device < y->device);
}

/* Lists the GPUs that run collectives, sorted by rank; they are numbered by place if the recording
 * does not give each a different rank. -1: out of memory. */
static int find_members(struct facts *f, struct members *m)
{
    const struct timeline *t = f->tl;
    bool *seen = calloc(t->device_count + 1, sizeof *seen);
    m->at = arena_array(&f->arena, t->device_count, sizeof *m->at);
    if (!seen || !m->at) {
        free(seen);
        return -1;
    }
    for (uint32_t i = 0; i < t->op_count; i++)
        if (is_collective(&t->ops[i]) && !seen[tl_op_device(t, i)]) {
            const struct stream *s = &t->streams[t->ops[i].stream];
            seen[s->device] = true;
            m->at[m->n++] = (struct rank_facts){
                .rank = t->processes[s->process].rank, .process = s->process, .device = s->device};
        }
    free(seen);
    qsort(m->at, m->n, sizeof *m->at, by_rank);
    bool numbered = true;
    for (size_t i = 0; i < m->n; i++)
        numbered = numbered && m->at[i].rank >= 0 && (i == 0 || m->at[i].rank > m->at[i - 1].rank);
    for (size_t i = 0; !numbered && i < m->n; i++)
        m->at[i].rank = (int64_t)i;
    return 0;
}

/* ---- whose collectives are whose ---- */

struct gather {
    const struct timeline *t;
    struct members *m;
    uint32_t *member;   /* by device: index of the member, or TL_NONE */
    uint32_t *recorded; /* by op: index in timeline.collectives, or TL_NONE */
    bool *several;      /* by op: it has more than one row there, as the kernel of
                           an NCCL group call may */
    uint32_t *last;     /* by member: index of its newest line-up, or TL_NONE */
};

/* Fills `recorded` and `several`. -1: out of memory. */
static int recorded_collectives(struct gather *x)
{
    const struct timeline *t = x->t;
    x->recorded = malloc((t->op_count + 1) * sizeof *x->recorded);
    x->several = calloc(t->op_count + 1, sizeof *x->several);
    if (!x->recorded || !x->several)
        return -1;
    for (size_t i = 0; i < t->op_count; i++)
        x->recorded[i] = TL_NONE;
    for (uint32_t i = 0; i < t->collective_count; i++) {
        uint32_t op = t->collectives[i].op;
        if (op == TL_NONE)
            continue;
        x->several[op] = x->recorded[op] != TL_NONE;
        x->recorded[op] = i;
    }
    return 0;
}

/* The key of the group that a collective belongs to. It is the communicator, but for a lone send or
 * receive it also depends on the two ranks and the direction: sends and receives between different
 * pairs of ranks may run in any order, so they are matched per pair. */
static int64_t group_of(const struct gather *x, uint32_t op, const struct row_collective *c)
{
    const char *name = tl_text(x->t, c->name);
    bool sends = strcmp(name, "ncclSend") == 0;
    if (x->several[op] || c->ranks < 2 || !(sends || strcmp(name, "ncclRecv") == 0))
        return c->communicator;
    uint64_t from = (uint64_t)(sends ? c->rank : c->root) + 1,
             to = (uint64_t)(sends ? c->root : c->rank) + 1;
    return (int64_t)((uint64_t)c->communicator + from * 0x9e3779b97f4a7c15u +
                     to * 0xc2b2ae3d27d4eb4fu);
}

/* The member's line-up for this collective's group, added if it is new. NULL: out of memory. */
static struct lineup *line_of(struct gather *x, uint32_t member, uint32_t op,
                              const struct collective *c)
{
    struct members *m = x->m;
    bool recorded = c && c->row.communicator != 0 && c->row.communicator != -1;
    int64_t group =
        recorded ? group_of(x, op, &c->row) : x->t->streams[x->t->ops[op].stream].row.stream;
    for (uint32_t i = x->last[member]; i != TL_NONE; i = m->lines.at[i].next)
        if (m->lines.at[i].group == group && m->lines.at[i].recorded == recorded)
            return &m->lines.at[i];
    struct lineup *l = vec_push(&m->lines);
    if (!l)
        return NULL;
    *l = (struct lineup){.member = member,
                         .group = group,
                         .recorded = recorded,
                         .pairs = x->t->ops[op].comm == COMM_PAIR,
                         .name = c ? c->row.group_name : 0,
                         .next = x->last[member]};
    x->last[member] = (uint32_t)(m->lines.n - 1);
    return l;
}

/* Keeps the line-up's recorded numbers only while they follow each other without a hole. */
static void number_line(struct lineup *l, const struct collective *c)
{
    int64_t sequence = c ? c->row.sequence : 0;
    if (l->ops.n == 1)
        l->first_sequence = sequence > 0 ? sequence : 0;
    else if (l->first_sequence && sequence != l->first_sequence + (int64_t)l->ops.n - 1)
        l->first_sequence = 0;
}

static int gather_op(struct gather *x, uint32_t i)
{
    const struct op *o = &x->t->ops[i];
    uint32_t k = x->member[tl_op_device(x->t, i)];
    if (k == TL_NONE || o->kind != OP_KERNEL)
        return 0;
    if (!is_collective(o))
        return spans_add(&x->m->compute[k], o->start_ns, o->end_ns);
    const struct collective *c =
        x->recorded[i] == TL_NONE ? NULL : &x->t->collectives[x->recorded[i]];
    struct lineup *l = line_of(x, k, i, c);
    uint32_t *slot = l ? vec_push(&l->ops) : NULL;
    if (!slot)
        return -1;
    *slot = i;
    number_line(l, c);
    return 0;
}

/* True if every rank has a single line-up and no communicator is recorded. Without recorded
 * communicators a line-up stands for a stream, since each communicator runs on a stream of its own,
 * which has the same number on every rank of one program. With one such stream per rank all share
 * one communicator, even if the streams' numbers differ. */
static bool one_group(const struct members *m)
{
    bool one = true;
    for (size_t i = 0; one && i < m->lines.n; i++)
        one = !m->lines.at[i].recorded && m->lines.at[i].next == TL_NONE;
    return one;
}

static int by_group(const void *a, const void *b)
{
    const struct lineup *x = a, *y = b;
    if (x->recorded != y->recorded)
        return x->recorded < y->recorded ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->member > y->member) - (x->member < y->member);
}

static int cut_groups(struct members *m)
{
    if (m->lines.n)
        qsort(m->lines.at, m->lines.n, sizeof *m->lines.at, by_group);
    for (size_t i = 0; i < m->lines.n; i++) {
        const struct lineup *l = &m->lines.at[i];
        bool more = i && l->group == l[-1].group && l->recorded == l[-1].recorded;
        struct group *g = more ? &m->groups.at[m->groups.n - 1] : vec_push(&m->groups);
        if (!g)
            return -1;
        g->first = more ? g->first : i;
        g->count++;
    }
    return 0;
}

/* Fills the line-ups by group, and the times when each member computes. -1: out of memory. */
static int line_up(const struct timeline *t, struct members *m)
{
    struct gather x = {.t = t,
                       .m = m,
                       .member = malloc((t->device_count + 1) * sizeof *x.member),
                       .last = malloc((m->n + 1) * sizeof *x.last)};
    int rc = x.member && x.last ? recorded_collectives(&x) : -1;
    for (size_t i = 0; rc == 0 && i < t->device_count; i++)
        x.member[i] = TL_NONE;
    for (uint32_t i = 0; rc == 0 && i < m->n; i++) {
        x.member[m->at[i].device] = i;
        x.last[i] = TL_NONE;
    }
    for (uint32_t i = 0; rc == 0 && i < t->op_count; i++)
        rc = gather_op(&x, i);
    for (size_t i = 0; rc == 0 && i < m->n; i++)
        rc = spans_index(&m->compute[i]);
    if (rc == 0 && one_group(m))
        for (size_t i = 0; i < m->lines.n; i++)
            m->lines.at[i].group = 0;
    free(x.member);
    free(x.recorded);
    free(x.several);
    free(x.last);
    return rc < 0 ? rc : cut_groups(m);
}

static int match_all(const struct timeline *t, struct members *m)
{
    for (size_t g = 0; g < m->groups.n; g++) {
        const struct group *of = &m->groups.at[g];
        for (size_t i = of->first; i < of->first + of->count; i++)
            if (lineup_match(t, group_reference(m, of), &m->lines.at[i]) < 0)
                return -1;
    }
    return clocks_join(m);
}

/* ---- the pass ---- */

static void release(struct members *m)
{
    for (size_t i = 0; m->compute && i < m->n; i++)
        spans_release(&m->compute[i]);
    for (size_t i = 0; i < m->lines.n; i++)
        vec_release(&m->lines.at[i].ops);
    vec_release(&m->lines);
    vec_release(&m->groups);
    vec_release(&m->meets);
    vec_release(&m->waits);
    free(m->place);
    free(m->clock);
    free(m->compute);
}

int ranks_measure(struct facts *f, struct err *e)
{
    struct members m = {0};
    f->ranks = (struct ranks){.late = TL_NONE, .worst_op = TL_NONE};
    int rc = find_members(f, &m);
    if (rc == 0 && m.n < 2)
        return 0; /* a single rank waits for no other */
    m.compute = calloc(m.n + 1, sizeof *m.compute);
    if (rc == 0)
        rc = m.compute ? line_up(f->tl, &m) : -1;
    if (rc == 0)
        rc = match_all(f->tl, &m);
    if (rc == 0)
        rc = heat_open(f, &m);
    if (rc == 0)
        rc = meet_all(f, &m);
    if (rc == 0)
        rc = groups_summarise(f, &m);
    if (rc == 0)
        rc = ranks_summarise(f, &m);
    if (rc == 0)
        rc = punctual_waits(f, &m);
    if (rc == 0)
        rc = ranks_explain(f, &m);
    release(&m);
    return rc < 0 ? err_no_memory(e) : 0;
}
