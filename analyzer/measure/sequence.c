/* Builds the sequence of a process's operations in launch order, gives equal operations equal
 * tokens, and marks the first operation behind each update of the parameters. */
#include "analyzer/measure/sequence.h"

#include "analyzer/measure/launched.h"
#include "analyzer/measure/limits.h"
#include "analyzer/timeline/idmap.h"
#include "analyzer/timeline/sort.h"
#include "base/order.h"
#include "base/vec.h"

#include <string.h>

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 31;
}

static uint64_t token_of(const struct timeline *t, const struct op *o, bool names_only)
{
    const char *name = tl_text(t, o->full_name);
    uint64_t h = mix(str_hash(name, strlen(name)), o->kind);
    if (names_only)
        return h;
    if (o->kind != OP_KERNEL)
        return mix(mix(h, o->copy_kind), (uint64_t)o->bytes);
    h = mix(mix(h, o->grid[0]), (uint64_t)o->grid[1] << 32 | o->grid[2]);
    return mix(h, (uint64_t)o->block[0] << 32 | (uint64_t)o->block[1] << 16 | o->block[2]);
}

/* Something that the host launched. */
struct event {
    int64_t time, gpu_ns;
    uint64_t hash;
    enum token_role role;
};

struct events VEC(struct event);

static int add_event(struct events *v, struct event event)
{
    struct event *e = vec_push(v);
    if (e)
        *e = event;
    return e ? 0 : -1;
}

static enum token_role role_of(const struct op *o)
{
    if (o->kind == OP_KERNEL)
        switch (o->class.family) {
        case FAMILY_OPTIMIZER:
            return ROLE_UPDATE;
        case FAMILY_GEMM:
        case FAMILY_CONV:
            return ROLE_PRODUCT;
        case FAMILY_ATTENTION:
        case FAMILY_NORM:
        case FAMILY_SOFTMAX:
            return ROLE_NORM;
        default:
            return ROLE_WORK;
        }
    bool host = o->copy_kind == COPY_H2D || o->copy_kind == COPY_D2H;
    return o->kind == OP_COPY && host ? ROLE_COPY : ROLE_MOVE;
}

/* Returns when each operation was launched; NULL without memory. Operations launched before the
 * recording are left out, unless they are nearly all there is: only their GPU time is known, while
 * all other operations are ordered by their host time, which is much earlier if the host runs
 * ahead. Mixed, each operation of a step would seem to occur twice in it. */
static int64_t *launches_of(const struct timeline *t, uint32_t process)
{
    int64_t *launch = malloc((t->op_count + 1) * sizeof *launch);
    size_t before = 0, all = 0;
    if (!launch || launched_find(t, launch) < 0) {
        free(launch);
        return NULL;
    }
    for (uint32_t i = 0; i < t->op_count; i++)
        if (t->streams[t->ops[i].stream].process == process) {
            all++;
            before += launch[i] == LAUNCHED_BEFORE;
        }
    for (uint32_t i = 0; (all - before) * MEASURE_BEFORE < all && i < t->op_count; i++)
        if (t->ops[i].api == TL_NONE)
            launch[i] = t->ops[i].start_ns;
    return launch;
}

/* Collects GPU operations and graph launches whose nodes were not recorded. Without any GPU record
 * it collects the calls that would have launched work. */
static int gather(struct events *v, const struct timeline *t, const struct sequence_of *of)
{
    int64_t *launch = launches_of(t, of->process);
    int rc = launch ? 0 : -1;
    for (uint32_t i = 0; rc == 0 && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        bool wanted = t->streams[o->stream].process == of->process &&
                      (of->device == TL_NONE || t->streams[o->stream].device == of->device);
        if (wanted && launch[i] != LAUNCHED_BEFORE && !tl_migrates(o))
            rc = add_event(v, (struct event){launch[i], o->end_ns - o->start_ns,
                                             token_of(t, o, of->names_only), role_of(o)});
    }
    free(launch);
    if (rc < 0)
        return -1;
    bool calls_only = v->n == 0;
    for (size_t i = 0; i < t->api_count; i++) {
        const struct api *a = &t->apis[i];
        bool launches = a->kind == API_GRAPH_LAUNCH ||
                        (calls_only && a->kind >= API_LAUNCH && a->kind <= API_MEMSET);
        if (!launches || a->ops || t->threads[a->thread].process != of->process)
            continue;
        const char *name = tl_text(t, a->name);
        if (add_event(v, (struct event){a->start_ns, 0, str_hash(name, strlen(name)), ROLE_WORK}) <
            0)
            return -1;
    }
    return 0;
}

/* Numbers the tokens. `keys` is the launch order; NULL if the events are in order already. */
static int number_tokens(struct sequence *s, const struct events *v, const struct sort_key *keys)
{
    struct idmap ids = {0};
    int rc = 0;
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        const struct event *e = &v->at[keys ? keys[i].index : i];
        uint32_t id = idmap_get(&ids, (int64_t)e->hash);
        if (id == UINT32_MAX) {
            id = s->tokens++;
            s->role[id] = (uint8_t)e->role;
            rc = idmap_put(&ids, (int64_t)e->hash, id);
        }
        s->token[i] = id;
        s->time[i] = e->time;
        s->gpu_ns[i] = e->gpu_ns;
    }
    idmap_release(&ids);
    return rc;
}

/* Finds the first stretch from one optimizer kernel to the next whose length is at least `low` and
 * below `high`. Returns false if there is none. */
static bool stretch_of(const struct sequence *s, uint32_t low, uint32_t high, uint32_t *from,
                       uint32_t *to)
{
    uint32_t last = TL_NONE;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->role[s->token[i]] != ROLE_UPDATE)
            continue;
        if (last != TL_NONE && i - last >= low && i - last < high) {
            *from = last;
            *to = i;
            return true;
        }
        last = i;
    }
    return false;
}

/* Returns 1 if stretches of `wide` and more operations contain everything that a stretch of `least`
 * operations contains: then the shorter one is a step, and the wider ones are steps with a
 * validation before them. Else 0; -1 without memory. */
static int is_step(const struct sequence *s, uint32_t least, uint32_t wide)
{
    uint32_t a, b, from, to;
    if (!stretch_of(s, least, least + 1, &a, &b) || !stretch_of(s, wide, UINT32_MAX, &from, &to))
        return 0;
    bool *held = calloc((size_t)s->tokens + 1, sizeof *held);
    if (!held)
        return -1;
    for (uint32_t i = from; i < to; i++)
        held[s->token[i]] = true;
    bool all = true;
    for (uint32_t i = a + 1; i < b; i++)
        all &= held[s->token[i]];
    free(held);
    return all;
}

/* Returns the least distance between optimizer kernels of two different updates. Distances come in
 * two sizes: a few operations within an update, and many from one update to the next. The widest
 * gap between sorted distances separates the two, unless the distance below it is a step already.
 * 0: there is no gap, so each kernel is an update. -1 without memory. */
static int64_t least_between_updates(const struct sequence *s, uint32_t *distance, size_t n)
{
    double widest = MEASURE_APART;
    uint32_t least = 0;
    qsort(distance, n, sizeof *distance, order_uint32);
    for (size_t i = 0; i + 1 < n && distance[i] <= MEASURE_WITHIN; i++) {
        if ((double)distance[i + 1] / distance[i] <= widest)
            continue;
        int step = least ? is_step(s, least, distance[i + 1]) : 0;
        if (step)
            return step < 0 ? -1 : (int64_t)least;
        widest = (double)distance[i + 1] / distance[i];
        least = distance[i + 1];
    }
    return least;
}

/* Gives the first operation behind each update a token of its own. Returns -1 without memory. */
static int mark_updates(struct sequence *s)
{
    uint32_t *distance = malloc((s->n + 1) * sizeof *distance), last = TL_NONE;
    size_t n = 0;
    if (!distance)
        return -1;
    s->update = TL_NONE;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->role[s->token[i]] == ROLE_UPDATE) {
            if (last != TL_NONE)
                distance[n++] = i - last;
            last = i;
        }
    int64_t least = least_between_updates(s, distance, n);
    free(distance);
    if (least < 0 || last == TL_NONE)
        return least < 0 ? -1 : 0;
    s->update = s->tokens++;
    s->role[s->update] = ROLE_WORK;
    uint32_t next = UINT32_MAX; /* the next optimizer kernel */
    for (uint32_t i = (uint32_t)s->n; i-- > 0;) {
        bool updates = s->role[s->token[i]] == ROLE_UPDATE;
        if (updates && i + 1 < s->n && next != i + 1 && next - i >= least)
            s->token[i + 1] = s->update;
        next = updates ? i : next;
    }
    return 0;
}

static int index_positions(struct sequence *s)
{
    s->first = calloc((size_t)s->tokens + 2, sizeof *s->first);
    s->position = malloc((s->n + 1) * sizeof *s->position);
    if (!s->first || !s->position)
        return -1;
    for (size_t i = 0; i < s->n; i++)
        s->first[s->token[i] + 2]++;
    for (uint32_t x = 2; x < s->tokens + 2; x++)
        s->first[x] += s->first[x - 1];
    for (size_t i = 0; i < s->n; i++)
        s->position[s->first[s->token[i] + 1]++] = (uint32_t)i;
    return 0;
}

/* Fills *keys with the order by time, or leaves it NULL if the events are in order already. Returns
 * -1 without memory. */
static int put_in_order(const struct events *v, struct sort_key **keys)
{
    size_t i = 1;
    while (i < v->n && v->at[i - 1].time <= v->at[i].time)
        i++;
    if (i >= v->n)
        return 0;
    *keys = malloc(v->n * sizeof **keys);
    for (i = 0; *keys && i < v->n; i++)
        (*keys)[i] = (struct sort_key){.time = v->at[i].time, .index = (uint32_t)i};
    return *keys && sort_keys(*keys, v->n) >= 0 ? 0 : -1;
}

void sequence_release(struct sequence *s)
{
    free(s->token);
    free(s->time);
    free(s->gpu_ns);
    free(s->role);
    free(s->first);
    free(s->position);
    *s = (struct sequence){0};
}

int sequence_build(struct sequence *s, const struct timeline *t, const struct sequence_of *of)
{
    struct events v = {0};
    struct sort_key *keys = NULL;
    int rc = gather(&v, t, of);
    *s = (struct sequence){.n = v.n};
    if (rc == 0) {
        s->token = malloc((v.n + 1) * sizeof *s->token);
        s->time = malloc((v.n + 1) * sizeof *s->time);
        s->gpu_ns = malloc((v.n + 1) * sizeof *s->gpu_ns);
        s->role = malloc((v.n + 2) * sizeof *s->role);
        rc = s->token && s->time && s->gpu_ns && s->role ? put_in_order(&v, &keys) : -1;
    }
    if (rc == 0)
        rc = number_tokens(s, &v, keys);
    if (rc == 0)
        rc = mark_updates(s);
    free(keys);
    vec_release(&v);
    return rc == 0 ? index_positions(s) : -1;
}
