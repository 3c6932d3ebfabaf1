/* Finds which kernel each call of a communication library launched, and what it exchanges. */
#include "analyzer/timeline/build.h"
#include "wire/fact_keys.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 96 };

/* True if `word` occurs as a whole word in a name such as "mesh_dp_shard" or "DATA_PARALLEL_GROUP";
 * both must be in lower case. */
static bool has_word(const char *name, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = strstr(name, word); at; at = strstr(at + 1, word))
        if ((at == name || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[n]))
            return true;
    return false;
}

static bool has_any(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (has_word(name, *words))
            return true;
    return false;
}

/* PyTorch's meshes are named mesh_tp, mesh_dp_shard; Megatron's groups TENSOR_MODEL_PARALLEL_GROUP,
 * EXPERT_DATA_PARALLEL_GROUP; others tp, ep. A group with a word for data exchanges gradients,
 * whatever else its name says. */
static enum comm_kind comm_kind_of(const char *group, const char *collective)
{
    static const char *const pairs[] = {"send", "recv", "ncclsend", "ncclrecv", NULL};
    static const char *const data[] = {"data", "dp", "ddp", "fsdp", "default", "world", NULL};
    static const char *const model[] = {"tensor",    "tp",      "pipeline",   "pp", "context", "cp",
                                        "sequence",  "sp",      "expert",     "ep", "model",   "mp",
                                        "embedding", "ulysses", "embeddings", NULL};
    char low[2][LONGEST];
    const char *texts[] = {group, collective};
    for (int k = 0; k < 2; k++) {
        size_t n = 0;
        for (; texts[k][n] && n < LONGEST - 1; n++)
            low[k][n] = (char)tolower((unsigned char)texts[k][n]);
        low[k][n] = 0;
    }
    if (has_any(low[1], pairs))
        return COMM_PAIR;
    return has_any(low[0], model) && !has_any(low[0], data) ? COMM_MODEL : COMM_GRADIENTS;
}

/* ---- the kernel of a collective ---- */

/* The thread's first CUDA call that starts at this time or later; its calls are sorted. */
static size_t first_api(const struct build *b, const struct thread *t, int64_t at_ns)
{
    size_t low = t->first_api, high = low + t->apis;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (b->apis.at[mid].start_ns < at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static uint32_t kernel_of(const struct build *b, size_t api)
{
    uint32_t op = b->apis.at[api].op;
    return op != TL_NONE && b->ops.at[op].kind == OP_KERNEL ? op : TL_NONE;
}

/* True if ncclGroupEnd runs on the thread at that time: it launches all that was
 * called since ncclGroupStart. */
static bool ends_group(const struct build *b, const struct thread *t, int64_t at_ns)
{
    enum { NESTED = 8 };
    size_t low = t->first_range, high = low + t->ranges;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (b->ranges.at[mid].start_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    for (size_t n = 0; n < NESTED && low > t->first_range; n++) {
        const struct range *r = &b->ranges.at[--low];
        if (r->end_ns >= at_ns && strcmp(tl_text(&b->t, r->name), "ncclGroupEnd") == 0)
            return true;
    }
    return false;
}

void build_join_collectives(struct build *b)
{
    /* most CUDA calls between the end of a collective's call and the call that launches it */
    enum { AHEAD = 512 };
    for (size_t i = 0; i < b->collectives.n; i++) {
        struct collective *c = &b->collectives.at[i];
        if (c->row.kernel > 0 || c->thread == TL_NONE)
            continue;
        const struct thread *t = &b->threads.at[c->thread];
        size_t end = t->first_api + (size_t)t->apis, api = first_api(b, t, c->row.start_ns);
        for (int beyond = 0; api < end && kernel_of(b, api) == TL_NONE; api++) {
            beyond += b->apis.at[api].start_ns > c->row.end_ns;
            if (beyond > AHEAD)
                end = api;
        }
        if (api >= end)
            continue;
        int64_t launched_ns = b->apis.at[api].start_ns;
        bool own = launched_ns <= c->row.end_ns;
        /* a group of one rank launches nothing */
        if (own || (c->row.ranks != 1 && ends_group(b, t, launched_ns)))
            c->op = kernel_of(b, api);
    }
}

/* ---- the program's names of groups ---- */

const char *timeline_group_of_meta(const struct timeline *t, const struct row_meta *m,
                                   int64_t *ranks, int64_t *apart)
{
    static const char key[] = FACT_TORCH_GROUP ".";
    int at = 0;
    if (strncmp(tl_text(t, m->key), key, sizeof key - 1) != 0)
        return NULL;
    const char *text = tl_text(t, m->value);
    bool told = sscanf(text, "%" SCNd64 " %" SCNd64 " %n", ranks, apart, &at) == 2 && at;
    return told && text[at] ? text + at : NULL;
}

/* The recorded name of the process' groups with that many ranks; 0: none, or
 * several different names. */
static uint32_t told_name(struct build *b, int64_t process, int64_t ranks)
{
    const char *name = NULL;
    for (size_t i = 0; i < b->metas.n; i++) {
        int64_t of, apart;
        const struct row_meta *m = &b->metas.at[i];
        const char *told =
            m->process == process ? timeline_group_of_meta(&b->t, m, &of, &apart) : NULL;
        if (!told || of != ranks)
            continue;
        if (name && strcmp(name, told) != 0)
            return 0;
        name = told;
    }
    if (!name || strcmp(name, TL_NO_GROUP_NAME) == 0)
        return 0;
    uint32_t id = str_intern(&b->t.strings, name, strlen(name));
    return id == STR_NONE ? 0 : id;
}

/* For gpuprof's own recordings, since NCCL does not know names. Collectives of one communicator
 * often follow each other, so a small cache avoids most searches. */
void build_name_groups(struct build *b)
{
    enum { KEPT = 64 };
    struct kept {
        int64_t process, ranks;
        uint32_t name;
    } kept[KEPT] = {{0}};
    for (size_t i = 0; i < b->collectives.n; i++) {
        struct row_collective *c = &b->collectives.at[i].row;
        if (c->group_name || c->ranks < 2)
            continue;
        struct kept *k = &kept[((uint64_t)c->process * 31 + (uint64_t)c->ranks) % KEPT];
        if (k->process != c->process || k->ranks != c->ranks)
            *k = (struct kept){c->process, c->ranks, told_name(b, c->process, c->ranks)};
        c->group_name = k->name;
    }
}

/* ---- what a collective exchanges ---- */

static void mark_collective(const struct build *b, struct op *o, const struct row_collective *c)
{
    o->comm = (uint8_t)comm_kind_of(tl_text(&b->t, c->group_name), tl_text(&b->t, c->name));
    o->class = (struct kernel_class){.family = FAMILY_COMM, .dtype = o->class.dtype};
}

/* Treats a group of sends and receives as an exchange of all ranks with all if it contains a send
 * to the own rank, or more partners than a pipeline stage has neighbours: users of NCCL write
 * all-to-all in this way. -1: out of memory. */
static int mark_exchanges(struct build *b)
{
    enum { NEIGHBOURS = 2 };
    uint8_t *ways = calloc(b->ops.n + 1, 2); /* by op: number of sends and of receives */
    for (size_t i = 0; ways && i < b->collectives.n; i++) {
        const struct collective *c = &b->collectives.at[i];
        const char *name = tl_text(&b->t, c->row.name);
        bool sends = strcmp(name, "ncclSend") == 0;
        if (c->op == TL_NONE || b->ops.at[c->op].comm != COMM_PAIR ||
            !(sends || strcmp(name, "ncclRecv") == 0))
            continue;
        bool itself = c->row.ranks > 1 && c->row.root == c->row.rank;
        if (itself || ++ways[2 * (size_t)c->op + sends] > NEIGHBOURS)
            b->ops.at[c->op].comm = COMM_GRADIENTS;
    }
    free(ways);
    return ways ? 0 : -1;
}

/* A kernel that belongs to a recorded collective counts as communication, whatever its name. */
int build_mark_collectives(struct build *b)
{
    struct idmap kernels = {0};
    int rc = 0;
    for (uint32_t i = 0; i < b->collectives.n && rc == 0; i++) {
        const struct collective *c = &b->collectives.at[i];
        if (c->op != TL_NONE)
            mark_collective(b, &b->ops.at[c->op], &c->row);
        else if (c->row.kernel > 0 && idmap_get(&kernels, c->row.kernel) == TL_NONE)
            rc = idmap_put(&kernels, c->row.kernel, i);
    }
    for (uint32_t i = 0; kernels.n && i < b->ops.n && rc == 0; i++) {
        uint32_t k = TL_NONE;
        if (b->ops.at[i].kind == OP_KERNEL)
            k = idmap_get(&kernels, b->ops.at[i].row);
        if (k == TL_NONE)
            continue;
        b->collectives.at[k].op = i;
        mark_collective(b, &b->ops.at[i], &b->collectives.at[k].row);
    }
    idmap_release(&kernels);
    return rc == 0 && b->collectives.n ? mark_exchanges(b) : rc;
}
