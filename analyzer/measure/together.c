#include "analyzer/measure/together.h"

#include <stdlib.h>
#include <string.h>

enum { ALIKE_PCT = 30, SLACK_NS = 1000000000, KERNELS_TELL = 8 };

struct file {
    int64_t rank, world;           /* -1 = not known; rank of the first process that has one */
    int64_t start_ns, end_ns;      /* start > end: nothing is known of its time */
    uint32_t device;               /* name, 0 = not known */
    int64_t communicator;          /* the first recorded, 0 = none */
    uint64_t *kernels, *exchanges; /* a bit for each name */
    size_t kernel_names, processes;
};

struct files {
    const struct timeline *t;
    struct arena *arena;
    struct file *at;
    uint32_t *of_process; /* file by process, TL_NONE */
    size_t n, words;
};

/* ---- what is known of each file ---- */

static void add_time(struct file *f, int64_t start_ns, int64_t end_ns)
{
    f->start_ns = start_ns < f->start_ns ? start_ns : f->start_ns;
    f->end_ns = end_ns > f->end_ns ? end_ns : f->end_ns;
}

static void take_processes(struct files *x)
{
    const struct timeline *t = x->t;
    for (size_t i = 0; i < t->meta_count; i++) {
        const struct row_meta *m = &t->metas[i];
        uint32_t p = timeline_process_index(t, m->process);
        char *end;
        unsigned long file = strtoul(tl_text(t, m->value), &end, 10);
        if (strcmp(tl_text(t, m->key), IMPORT_FILE_KEY) == 0 && p != TL_NONE && file < x->n)
            x->of_process[p] = (uint32_t)file;
    }
    for (size_t p = 0; p < t->process_count; p++) {
        const struct row_process *r = &t->processes[p];
        struct file *f = x->of_process[p] == TL_NONE ? NULL : &x->at[x->of_process[p]];
        if (!f)
            continue;
        f->processes++;
        f->rank = f->rank < 0 ? r->rank : f->rank;
        f->world = r->world_size > f->world ? r->world_size : f->world;
        if (r->end_ns > r->start_ns)
            add_time(f, r->start_ns, r->end_ns);
    }
    for (size_t i = 0; i < t->device_count; i++) {
        uint32_t p = timeline_process_index(t, t->devices[i].process);
        if (p != TL_NONE && x->of_process[p] != TL_NONE && !x->at[x->of_process[p]].device)
            x->at[x->of_process[p]].device = t->devices[i].name;
    }
}

static bool set_bit(uint64_t *bits, uint32_t i)
{
    bool was = bits[i / 64] >> i % 64 & 1;
    bits[i / 64] |= (uint64_t)1 << i % 64;
    return !was;
}

static void take_work(struct files *x)
{
    const struct timeline *t = x->t;
    for (size_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        uint32_t file = x->of_process[t->streams[o->stream].process];
        if (file == TL_NONE)
            continue;
        struct file *f = &x->at[file];
        add_time(f, o->start_ns, o->end_ns);
        if (o->kind != OP_KERNEL)
            continue;
        if (o->class.family == FAMILY_COMM)
            set_bit(f->exchanges, o->full_name);
        else
            f->kernel_names += set_bit(f->kernels, o->full_name);
    }
    for (size_t i = 0; i < t->collective_count; i++) {
        const struct row_collective *c = &t->collectives[i].row;
        uint32_t p = timeline_process_index(t, c->process);
        if (p != TL_NONE && x->of_process[p] != TL_NONE && c->communicator > 0 &&
            !x->at[x->of_process[p]].communicator)
            x->at[x->of_process[p]].communicator = c->communicator;
    }
}

/* ---- two of them ---- */

static size_t shared(const uint64_t *a, const uint64_t *b, size_t words)
{
    size_t n = 0;
    for (size_t i = 0; i < words; i++)
        n += (size_t)__builtin_popcountll(a[i] & b[i]);
    return n;
}

static bool apart_in_time(const struct file *a, const struct file *b)
{
    bool known = a->start_ns <= a->end_ns && b->start_ns <= b->end_ns;
    int64_t gap = a->start_ns > b->start_ns ? a->start_ns - b->end_ns : b->start_ns - a->end_ns;
    return known && gap > SLACK_NS;
}

/* What speaks against b beside a; NULL: nothing. */
static const char *against(const struct files *x, const struct file *a, const struct file *b)
{
    const struct timeline *t = x->t;
    size_t least = a->kernel_names < b->kernel_names ? a->kernel_names : b->kernel_names;
    if (a->world > 0 && b->world > 0 && a->world != b->world)
        return arena_printf(x->arena, "of a run of %lld ranks, not %lld", (long long)b->world,
                            (long long)a->world);
    if (a->device && b->device && strcmp(tl_text(t, a->device), tl_text(t, b->device)) != 0)
        return arena_printf(x->arena, "on another GPU: %s", tl_text(t, b->device));
    if (apart_in_time(a, b))
        return "recorded at another time";
    if (least >= KERNELS_TELL && shared(a->kernels, b->kernels, x->words) * 100 < least * ALIKE_PCT)
        return "of another program: its kernels are others";
    if (a->rank >= 0 && b->rank >= 0 && a->rank == b->rank)
        return arena_printf(x->arena, "rank %lld once more", (long long)b->rank);
    return NULL;
}

static bool linked(const struct files *x, const struct file *a, const struct file *b)
{
    return (a->communicator && a->communicator == b->communicator) ||
           (a->world > 1 && a->world == b->world && a->rank >= 0 && b->rank >= 0) ||
           shared(a->exchanges, b->exchanges, x->words) > 0;
}

/* ---- groups ---- */

/* Whether file k may join those of `group`; *why: what speaks against it. */
static bool joins(const struct files *x, const size_t *group_of, size_t group, size_t k,
                  const char **why)
{
    bool any = false;
    *why = NULL;
    for (size_t i = 0; i < x->n && !*why; i++)
        if (i != k && group_of[i] == group) {
            *why = against(x, &x->at[i], &x->at[k]);
            any = any || linked(x, &x->at[i], &x->at[k]);
        }
    if (!*why && !any)
        *why = "nothing shows that it exchanges data with the others";
    return !*why;
}

static int group_files(const struct files *x, struct file_role *roles)
{
    size_t *group_of = malloc((x->n + 1) * sizeof *group_of);
    size_t *members = calloc(x->n + 1, sizeof *members), groups = 0, best = 0;
    const char *why;
    if (!group_of || !members) {
        free(group_of);
        free(members);
        return -1;
    }
    for (size_t i = 0; i < x->n; i++)
        group_of[i] = SIZE_MAX;
    for (size_t i = 0; i < x->n; i++) {
        size_t g = 0;
        while (g < groups && !joins(x, group_of, g, i, &why))
            g++;
        groups += g == groups;
        group_of[i] = g;
        members[g]++;
    }
    for (size_t g = 1; g < groups; g++)
        best = members[g] > members[best] ? g : best;
    for (size_t i = 0; i < x->n; i++) {
        roles[i] = (struct file_role){.taken = group_of[i] == best};
        if (!roles[i].taken)
            joins(x, group_of, best, i, &roles[i].why);
    }
    int taken = (int)members[best];
    free(group_of);
    free(members);
    return taken;
}

int together_find(const struct timeline *t, struct arena *arena, size_t files,
                  struct file_role *roles)
{
    struct files x = {.t = t, .arena = arena, .n = files, .words = t->strings.n / 64 + 1};
    x.at = arena_array(arena, files + 1, sizeof *x.at);
    x.of_process = arena_array(arena, t->process_count + 1, sizeof *x.of_process);
    uint64_t *bits = calloc(2 * files * x.words + 1, sizeof *bits);
    int taken = -1;
    if (x.at && x.of_process && bits) {
        for (size_t i = 0; i < files; i++)
            x.at[i] = (struct file){.rank = -1,
                                    .world = -1,
                                    .start_ns = INT64_MAX,
                                    .end_ns = INT64_MIN,
                                    .kernels = bits + 2 * i * x.words,
                                    .exchanges = bits + (2 * i + 1) * x.words};
        for (size_t i = 0; i < t->process_count; i++)
            x.of_process[i] = TL_NONE;
        take_processes(&x);
        take_work(&x);
        taken = group_files(&x, roles);
    }
    free(bits);
    return taken;
}
