/* Decides which of several files contain ranks of one run: collects what each file shows of its
 * rank, GPU, time and kernels, then compares the files in pairs. */
#include "analyzer/measure/together.h"

#include "analyzer/measure/limits.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* A set of names: a bit for each; bits behind the last word are 0. */
struct names VEC(uint64_t);

struct file {
    int64_t rank, world;      /* -1 = not known; the rank is that of the first process that has
                                 one */
    int64_t start_ns, end_ns; /* start > end: its time is not known */
    uint32_t device;          /* name of the GPU; 0 = not known */
    int64_t communicator;     /* the first one recorded; 0 = none */
    struct names kernels, exchanges;
    size_t kernel_names, processes;
};

struct together {
    struct arena *arena;
    struct file *at;
    size_t n;
    struct str_table texts; /* names of kernels and devices */
};

/* A timeline, and which file each of its processes comes from. */
struct taken {
    struct together *x;
    const struct timeline *t;
    uint32_t *of_process; /* by process: its file, or TL_NONE */
    uint32_t *text;       /* by the timeline's string id: our id + 1; 0 = not looked up yet */
};

struct together *together_open(struct arena *arena, size_t files)
{
    struct together *x = calloc(1, sizeof *x);
    if (!x || str_table_init(&x->texts) < 0) {
        free(x);
        return NULL;
    }
    x->arena = arena;
    x->n = files;
    x->at = calloc(files + 1, sizeof *x->at);
    for (size_t i = 0; x->at && i < files; i++)
        x->at[i] =
            (struct file){.rank = -1, .world = -1, .start_ns = INT64_MAX, .end_ns = INT64_MIN};
    if (x->at)
        return x;
    together_close(x);
    return NULL;
}

void together_close(struct together *x)
{
    if (!x)
        return;
    for (size_t i = 0; x->at && i < x->n; i++) {
        vec_release(&x->at[i].kernels);
        vec_release(&x->at[i].exchanges);
    }
    free(x->at);
    str_table_release(&x->texts);
    free(x);
}

/* ---- what is known of each file ---- */

static void add_time(struct file *f, int64_t start_ns, int64_t end_ns)
{
    f->start_ns = start_ns < f->start_ns ? start_ns : f->start_ns;
    f->end_ns = end_ns > f->end_ns ? end_ns : f->end_ns;
}

/* Returns our id for a string of the timeline; STR_NONE without memory. */
static uint32_t text_of(struct taken *k, uint32_t id)
{
    if (!k->text[id]) {
        const char *s = tl_text(k->t, id);
        uint32_t ours = str_intern(&k->x->texts, s, strlen(s));
        if (ours == STR_NONE)
            return STR_NONE;
        k->text[id] = ours + 1;
    }
    return k->text[id] - 1;
}

static struct file *file_of(const struct taken *k, uint32_t process)
{
    return process == TL_NONE || k->of_process[process] == TL_NONE
               ? NULL
               : &k->x->at[k->of_process[process]];
}

static void find_files(struct taken *k, size_t file)
{
    const struct timeline *t = k->t;
    for (size_t p = 0; p < t->process_count; p++)
        k->of_process[p] = file == TOGETHER_ALL ? TL_NONE : (uint32_t)file;
    for (size_t i = 0; file == TOGETHER_ALL && i < t->meta_count; i++) {
        const struct row_meta *m = &t->metas[i];
        uint32_t p = timeline_process_index(t, m->process);
        char *end;
        unsigned long number = strtoul(tl_text(t, m->value), &end, 10);
        if (strcmp(tl_text(t, m->key), IMPORT_FILE_KEY) == 0 && p != TL_NONE && number < k->x->n)
            k->of_process[p] = (uint32_t)number;
    }
}

/* Notes rank, world size, time and GPU of each process's file. Returns -1 without memory. */
static int take_processes(struct taken *k)
{
    const struct timeline *t = k->t;
    for (uint32_t p = 0; p < t->process_count; p++) {
        const struct row_process *r = &t->processes[p];
        struct file *f = file_of(k, p);
        if (!f)
            continue;
        f->processes++;
        f->rank = f->rank < 0 ? r->rank : f->rank;
        f->world = r->world_size > f->world ? r->world_size : f->world;
        if (r->end_ns > r->start_ns)
            add_time(f, r->start_ns, r->end_ns);
    }
    for (size_t i = 0; i < t->device_count; i++) {
        struct file *f = file_of(k, timeline_process_index(t, t->devices[i].process));
        if (f && !f->device && (f->device = text_of(k, t->devices[i].name)) == STR_NONE)
            return -1;
    }
    return 0;
}

/* Returns 1 if the bit was not set before, 0 if it was, -1 without memory. */
static int set_bit(struct names *bits, uint32_t i)
{
    uint32_t word = i / 64;
    while (bits->n <= word)
        if (!vec_push(bits))
            return -1;
    bool was = bits->at[word] >> i % 64 & 1;
    bits->at[word] |= (uint64_t)1 << i % 64;
    return !was;
}

/* Notes which kernels and collectives each file contains, and when. Returns -1 without memory. */
static int take_work(struct taken *k)
{
    const struct timeline *t = k->t;
    for (size_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        struct file *f = file_of(k, t->streams[o->stream].process);
        if (!f)
            continue;
        add_time(f, o->start_ns, o->end_ns);
        if (o->kind != OP_KERNEL)
            continue;
        bool exchange = o->class.family == FAMILY_COMM;
        uint32_t name = text_of(k, o->full_name);
        int added = name == STR_NONE ? -1 : set_bit(exchange ? &f->exchanges : &f->kernels, name);
        if (added < 0)
            return -1;
        f->kernel_names += added && !exchange;
    }
    for (size_t i = 0; i < t->collective_count; i++) {
        const struct row_collective *c = &t->collectives[i].row;
        struct file *f = file_of(k, timeline_process_index(t, c->process));
        if (f && c->communicator > 0 && !f->communicator)
            f->communicator = c->communicator;
    }
    return 0;
}

int together_add(struct together *x, const struct timeline *t, size_t file)
{
    struct taken k = {.x = x, .t = t};
    k.of_process = malloc((t->process_count + 1) * sizeof *k.of_process);
    k.text = calloc(t->strings.n + 1, sizeof *k.text);
    int rc = k.of_process && k.text ? 0 : -1;
    if (rc == 0) {
        find_files(&k, file);
        rc = take_processes(&k) < 0 || take_work(&k) < 0 ? -1 : 0;
    }
    free(k.of_process);
    free(k.text);
    return rc;
}

/* ---- two of them ---- */

static size_t shared(const struct names *a, const struct names *b)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n && i < b->n; i++)
        n += (size_t)__builtin_popcountll(a->at[i] & b->at[i]);
    return n;
}

static bool apart_in_time(const struct file *a, const struct file *b)
{
    if (a->start_ns > a->end_ns || b->start_ns > b->end_ns) /* a file without records */
        return false;
    int64_t gap = a->start_ns > b->start_ns ? a->start_ns - b->end_ns : b->start_ns - a->end_ns;
    return gap > MEASURE_SLACK_NS;
}

/* Returns why files a and b cannot be ranks of one run, or NULL. */
static const char *against(const struct together *x, const struct file *a, const struct file *b)
{
    size_t least = a->kernel_names < b->kernel_names ? a->kernel_names : b->kernel_names;
    if (a->world > 0 && b->world > 0 && a->world != b->world)
        return arena_printf(x->arena, "of a run of %lld ranks, not %lld", (long long)b->world,
                            (long long)a->world);
    if (a->device && b->device && a->device != b->device)
        return arena_printf(x->arena, "on another GPU: %s", str_text(&x->texts, b->device));
    if (apart_in_time(a, b))
        return "recorded at another time";
    if (least >= MEASURE_KERNELS &&
        shared(&a->kernels, &b->kernels) * 100 < least * MEASURE_ALIKE_PCT)
        return "of another program: its kernels are others";
    if (a->rank >= 0 && b->rank >= 0 && a->rank == b->rank)
        return arena_printf(x->arena, "rank %lld once more", (long long)b->rank);
    return NULL;
}

static bool linked(const struct file *a, const struct file *b)
{
    return (a->communicator && a->communicator == b->communicator) ||
           (a->world > 1 && a->world == b->world && a->rank >= 0 && b->rank >= 0) ||
           shared(&a->exchanges, &b->exchanges) > 0;
}

/* ---- groups ---- */

/* Returns true if file k may join the files of `group`; otherwise *why says why not. */
static bool joins(const struct together *x, const size_t *group_of, size_t group, size_t k,
                  const char **why)
{
    bool any = false;
    *why = NULL;
    for (size_t i = 0; i < x->n && !*why; i++)
        if (i != k && group_of[i] == group) {
            *why = against(x, &x->at[i], &x->at[k]);
            any = any || linked(&x->at[i], &x->at[k]);
        }
    if (!*why && !any)
        *why = "nothing shows that it exchanges data with the others";
    return !*why;
}

int together_roles(const struct together *x, struct file_role *roles)
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
    struct together *x = together_open(arena, files);
    int taken = x && together_add(x, t, TOGETHER_ALL) == 0 ? together_roles(x, roles) : -1;
    together_close(x);
    return taken;
}
