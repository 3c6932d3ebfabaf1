/* Turns operations into kernels behind barriers. The operations of a group become one kernel for
 * each communicator and stream; collectives and pairs (sends and receives) get separate kernels. */
#include "shims/nccl/shim_nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 1024, NAMES = 256, THREADS = 544 };

static _Thread_local int depth;
static _Thread_local struct operation queued[GROUP];
static _Thread_local int queued_n;
static _Thread_local struct ncclComm *fresh[NCCL_RANKS];
static _Thread_local int fresh_n;

size_t type_bytes(ncclDataType_t type)
{
    static const unsigned char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return (unsigned)type < sizeof bytes ? bytes[type] : 0;
}

/* ---- names ---- */

/* Returns a copy of `text` that is never freed, because records point to it. */
static const char *intern(const char *text)
{
    static char *names[NAMES];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const char *found = "ncclDevKernel_Generic";
    pthread_mutex_lock(&lock);
    for (int i = 0; i < NAMES; i++) {
        if (!names[i])
            names[i] = strdup(text);
        if (names[i] && strcmp(names[i], text) == 0) {
            found = names[i];
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* The real library is built with named kernels for sums and one generic kernel for the other
 * reductions. */
static const char *kernel_name(const struct operation *o)
{
    static const char *const types[] = {"u8",  "u8",  "u32", "u32",  "u64",    "u64",
                                        "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
    static const char *const plain[] = {
        "AllReduce", "ReduceScatter", "AllGather", "Broadcast", "Reduce", "", "", ""};
    char stem[96], text[160];
    bool reduces =
        o->kind == KIND_ALL_REDUCE || o->kind == KIND_REDUCE_SCATTER || o->kind == KIND_REDUCE;
    if (o->kind >= KIND_ALL_TO_ALL)
        snprintf(stem, sizeof stem, "ncclDevKernel_SendRecv");
    else if (!reduces)
        snprintf(stem, sizeof stem, "ncclDevKernel_%s_RING_LL", plain[o->kind]);
    else if (o->op == ncclSum)
        snprintf(stem, sizeof stem, "ncclDevKernel_%s_Sum_%s_RING_LL", plain[o->kind],
                 types[o->type]);
    else
        snprintf(stem, sizeof stem, "ncclDevKernel_Generic");
    snprintf(text, sizeof text, "_Z%zu%s24ncclDevKernelArgsStorageILm4096EE", strlen(stem), stem);
    return intern(text);
}

/* ---- barriers ---- */

static void write_arrival(struct arrival *a, uint64_t sequence, int64_t start_ns, uint64_t what)
{
    a->start_ns = start_ns;
    a->what = what;
    atomic_store(&a->sequence, sequence);
}

static struct arrival *pair_place(const struct flight *f, int i, bool own)
{
    int peer = f->pair[i].peer, way = f->pair[i].way, me = f->comm->rank;
    int from = way == 0 ? me : peer, to = way == 0 ? peer : me;
    return &f->comm->region->pair[from][to][own ? way : !way][f->pair[i].sequence % NCCL_PLACES];
}

/* Returns true when all ranks that the kernel needs have arrived. Sets *last_ns to the latest
 * arrival and *agree to false if they called different operations. */
static bool all_here(const struct flight *f, int64_t *last_ns, bool *agree)
{
    struct region *r = f->comm->region;
    int n = f->pairs ? f->pair_n : f->comm->ranks;
    for (int i = 0; i < n; i++) {
        const struct arrival *a =
            f->pairs ? pair_place(f, i, false) : &r->all[f->sequence % NCCL_PLACES][i];
        if (atomic_load(&a->sequence) != (f->pairs ? f->pair[i].sequence : f->sequence))
            return false;
        *last_ns = a->start_ns > *last_ns ? a->start_ns : *last_ns;
        *agree = *agree && (f->pairs || a->what == f->what);
    }
    return true;
}

static bool arrive(void *arg, int64_t start_ns)
{
    const struct flight *f = arg;
    struct region *r = f->comm->region;
    if (f->comm->finished != f->sequence - 1)
        return false; /* the operations of a communicator run one after another */
    if (f->comm->failed)
        return true;
    data_put(f);
    if (!f->pairs)
        write_arrival(&r->all[f->sequence % NCCL_PLACES][f->comm->rank], f->sequence, start_ns,
                      f->what);
    for (int i = 0; i < f->pair_n; i++)
        write_arrival(pair_place(f, i, true), f->pair[i].sequence, start_ns, 0);
    int64_t last = 0;
    bool agree = true;
    if (f->pairs || all_here(f, &last, &agree))
        meet_ring(r);
    return true;
}

static bool ready(void *arg, int64_t *begin_ns)
{
    const struct flight *f = arg;
    struct ncclComm *c = f->comm;
    bool agree = true;
    if (c->failed) {
        *begin_ns = vg_now_ns();
    } else if (!all_here(f, begin_ns, &agree)) {
        return false;
    } else if (!agree) {
        snprintf(c->error, sizeof c->error, "ranks call different operations (number %llu)",
                 (unsigned long long)f->sequence);
        c->failed = ncclInvalidUsage;
    } else {
        data_take(f);
    }
    c->finished = f->sequence;
    return true;
}

static void done(void *arg)
{
    struct flight *f = arg;
    vg_awaited_end(f);
    comm_unref(f->comm);
    free(f->ops);
    free(f);
}

/* ---- launching ---- */

static enum vg_collective modelled(enum nccl_kind kind)
{
    static const enum vg_collective as[] = {
        VG_ALL_REDUCE, VG_REDUCE_SCATTER, VG_ALL_GATHER, VG_BROADCAST,
        VG_REDUCE,     VG_ALL_GATHER,     VG_PAIR,       VG_PAIR};
    return as[kind];
}

/* Bytes of the whole vector; some calls count only one rank's part. */
static double vector_bytes(const struct operation *o)
{
    bool part =
        o->kind == KIND_REDUCE_SCATTER || o->kind == KIND_ALL_GATHER || o->kind == KIND_ALL_TO_ALL;
    return (double)o->bytes * (part ? o->comm->ranks : 1);
}

static int64_t duration(const struct operation *const *ops, int n)
{
    const struct vg_profile *p = vg_profile(ops[0]->comm->device);
    int ranks = ops[0]->comm->ranks;
    double sent = 0, received = 0, total = 0;
    for (int i = 0; i < n; i++) {
        if (ops[i]->kind == KIND_SEND)
            sent += (double)ops[i]->bytes;
        else if (ops[i]->kind == KIND_RECV)
            received += (double)ops[i]->bytes;
        else
            total += vector_bytes(ops[i]);
    }
    if (ops[0]->kind >= KIND_SEND)
        total = sent > received ? sent : received;
    return vg_cost_collective(p, modelled(ops[0]->kind), ranks, total);
}

static unsigned channels(const struct operation *o, double bytes)
{
    enum { CHUNK = 65536 };
    double most = vg_profile(o->comm->device)->link_channels, wanted = bytes / CHUNK + 1;
    return (unsigned)(wanted < most ? wanted : most);
}

static struct flight *flight_new(const struct operation *const *ops, int n)
{
    struct flight *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->comm = ops[0]->comm;
    f->comm->refs++;
    f->sequence = ++f->comm->launched;
    f->pairs = ops[0]->kind >= KIND_SEND;
    for (int i = 0; i < n && !f->pairs; i++)
        f->what = (f->what * 31 + ops[i]->bytes) * 31 + (uint64_t)ops[i]->kind * 64 +
                  (uint64_t)ops[i]->peer;
    for (int i = 0; i < n && f->pairs; i++) {
        int way = ops[i]->kind == KIND_RECV, k = f->pair_n++;
        f->pair[k].peer = ops[i]->peer;
        f->pair[k].way = way;
        f->pair[k].sequence = ++f->comm->pairs[ops[i]->peer][way];
        data_keep_pair(f, k, ops[i]);
    }
    if (!f->pairs)
        data_keep(f, ops, n);
    return f;
}

/* What a captured kernel does at each launch of its graph. Never freed, because copies of the graph
 * share it. */
struct plan {
    int n;
    struct operation ops[];
};

static struct plan *plan_new(const struct operation *const *ops, int n)
{
    struct plan *p = malloc(sizeof *p + (size_t)n * sizeof *p->ops);
    if (!p)
        return NULL;
    p->n = n;
    for (int i = 0; i < n; i++)
        p->ops[i] = *ops[i];
    return p;
}

static void *plan_begin(const void *arg)
{
    const struct plan *p = arg;
    const struct operation *ops[2 * NCCL_RANKS];
    for (int i = 0; i < p->n; i++)
        ops[i] = &p->ops[i];
    return flight_new(ops, p->n);
}

static bool is_idle(const struct operation *o)
{
    return o->comm->ranks == 1 || o->bytes == 0;
}

/* With a single rank the data is only copied, if the result has a different address. */
static int copy_only(const struct operation *o)
{
    if (o->in == o->out || o->bytes == 0 || !o->out || !o->in)
        return 0;
    return vg_library_copy((struct vg_stream *)o->stream, o->out, o->in, o->bytes);
}

static ncclResult_t launch_all(const struct operation *const *ops, int n)
{
    int before = vg_current_device(), bad = 0;
    vg_set_current_device(ops[0]->comm->device);
    if (is_idle(ops[0])) {
        for (int i = 0; i < n && !bad; i++)
            bad = copy_only(ops[i]);
    } else {
        bool captured = vg_library_captures((struct vg_stream *)ops[0]->stream);
        struct plan *plan = captured ? plan_new(ops, n) : NULL;
        struct flight *f = captured ? NULL : flight_new(ops, n);
        struct vg_kernel k = {.name = kernel_name(ops[0]),
                              .grid = {channels(ops[0], vector_bytes(ops[0])), 1, 1},
                              .block = {THREADS, 1, 1},
                              .registers = 96,
                              .duration_ns = duration(ops, n)};
        struct vg_barrier barrier = {arrive, ready, done, f, NULL};
        if (captured)
            barrier = (struct vg_barrier){arrive, ready, done, plan, plan_begin};
        bad =
            barrier.arg ? vg_library_barrier((struct vg_stream *)ops[0]->stream, &k, &barrier) : 2;
        if (bad && f) {
            f->comm->launched--;
            done(f);
        }
    }
    vg_set_current_device(before);
    return bad ? meet_fail(ops[0]->comm, ncclUnhandledCudaError, "CUDA error %d", bad)
               : ncclSuccess;
}

ncclResult_t launch(const struct operation *o)
{
    ncclResult_t bad = comm_check(o->comm);
    if (bad)
        return bad;
    if (depth == 0)
        return launch_all((const struct operation *const[]){o}, 1);
    if (queued_n == GROUP)
        return meet_fail(o->comm, ncclInvalidUsage, "more than %d operations in a group", GROUP);
    queued[queued_n++] = *o;
    return ncclSuccess;
}

/* ---- groups ---- */

bool group_open(void)
{
    return depth > 0;
}

ncclResult_t group_await(struct ncclComm *c)
{
    if (depth == 0)
        return meet_wait(c);
    if (fresh_n == NCCL_RANKS)
        return meet_fail(c, ncclInvalidUsage, "more than %d communicators in a group", NCCL_RANKS);
    fresh[fresh_n++] = c;
    return ncclSuccess;
}

static bool belong_together(const struct operation *a, const struct operation *b)
{
    bool pairs = a->kind >= KIND_SEND;
    return a->comm == b->comm && a->stream == b->stream && pairs == (b->kind >= KIND_SEND) &&
           (pairs || a->kind == b->kind);
}

static ncclResult_t launch_queued(void)
{
    bool taken[GROUP] = {false};
    ncclResult_t result = ncclSuccess;
    for (int i = 0; i < queued_n && !result; i++) {
        const struct operation *together[2 * NCCL_RANKS];
        int n = 0;
        if (taken[i])
            continue;
        for (int k = i; k < queued_n && n < 2 * NCCL_RANKS; k++)
            if (!taken[k] && belong_together(&queued[i], &queued[k])) {
                taken[k] = true;
                together[n++] = &queued[k];
            }
        result = launch_all(together, n);
    }
    queued_n = 0;
    return result;
}

ncclResult_t ncclGroupStart(void)
{
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    ncclResult_t result = ncclSuccess;
    if (depth == 0)
        return meet_fail(NULL, ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
    if (--depth > 0)
        return ncclSuccess;
    mark_push("ncclGroupEnd", NULL);
    for (int i = 0; i < fresh_n && !result; i++)
        result = meet_wait(fresh[i]);
    fresh_n = 0;
    ncclResult_t bad = launch_queued();
    mark_pop();
    return result ? result : bad;
}

extern __typeof__(ncclGroupStart) pncclGroupStart __attribute__((alias("ncclGroupStart")));
extern __typeof__(ncclGroupEnd) pncclGroupEnd __attribute__((alias("ncclGroupEnd")));
