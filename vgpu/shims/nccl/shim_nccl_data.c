/* The data of small operations. Programs use small collectives to check that all ranks agree
 * (sizes, shapes, flags, pickled objects), so operations that fit the mail are really gathered and
 * reduced. For larger ones only the time passes, as for large copies. Each rank puts its input into
 * shared memory when it arrives and reads the others' inputs when all have arrived. Half-precision
 * numbers are not reduced: their output stays as it was. */
#include "shims/nccl/shim_nccl.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that one rank puts into the mail. */
static size_t part(const struct operation *o)
{
    bool whole = o->kind == KIND_REDUCE_SCATTER || o->kind == KIND_ALL_TO_ALL;
    return o->bytes * (whole ? (size_t)o->comm->ranks : 1);
}

static size_t mail_room(void)
{
    double option = vg_option("copy", NCCL_MAIL);
    return option < NCCL_MAIL ? (size_t)option : NCCL_MAIL;
}

void data_keep_pair(struct flight *f, int i, const struct operation *o)
{
    if (o->bytes > mail_room())
        return;
    f->pair[i].in = o->in;
    f->pair[i].out = o->out;
    f->pair[i].bytes = o->bytes;
    vg_awaited_add(f, o->in ? o->in : o->out, o->bytes);
}

void data_keep(struct flight *f, const struct operation *const *ops, int n)
{
    size_t room = mail_room();
    f->ops = calloc((size_t)n, sizeof *f->ops);
    for (int i = 0; f->ops && i < n; i++)
        /* Every rank makes the same choice, because sizes and order agree. */
        if (part(ops[i]) <= room) {
            bool all = ops[i]->kind == KIND_ALL_GATHER || ops[i]->kind == KIND_ALL_TO_ALL;
            room -= part(ops[i]);
            f->ops[f->ops_n++] = *ops[i];
            vg_awaited_add(f, ops[i]->in, part(ops[i]));
            vg_awaited_add(f, ops[i]->out, ops[i]->bytes * (all ? (size_t)ops[i]->comm->ranks : 1));
        }
}

static char *mail(const struct flight *f, int rank)
{
    return f->comm->region->mail[f->sequence % NCCL_PLACES][rank];
}

static char *pair_mail(const struct flight *f, int i)
{
    int me = f->comm->rank, peer = f->pair[i].peer;
    bool sends = f->pair[i].way == 0;
    return f->comm->region
        ->pair_mail[f->pair[i].sequence % NCCL_PLACES][sends ? me : peer][sends ? peer : me];
}

void data_put(const struct flight *f)
{
    for (int i = 0; i < f->pair_n; i++)
        if (f->pair[i].way == 0 && f->pair[i].in)
            memcpy(pair_mail(f, i), f->pair[i].in, f->pair[i].bytes);
    char *to = f->ops ? mail(f, f->comm->rank) : NULL;
    for (int i = 0; i < f->ops_n; i++) {
        if (f->ops[i].in)
            memcpy(to, f->ops[i].in, part(&f->ops[i]));
        to += part(&f->ops[i]);
    }
}

/* ---- reductions ---- */

#define REDUCE(name, type)                                                                         \
    static void name(type *to, const type *from, size_t n, ncclRedOp_t op)                         \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = op == ncclProd  ? (type)(to[i] * from[i])                                      \
                    : op == ncclMax ? (to[i] > from[i] ? to[i] : from[i])                          \
                    : op == ncclMin ? (to[i] < from[i] ? to[i] : from[i])                          \
                                    : (type)(to[i] + from[i]);                                     \
    }                                                                                              \
    static void name##_mean(type *to, size_t n, int ranks)                                         \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = (type)(to[i] / (type)ranks);                                                   \
    }

REDUCE(reduce_i8, int8_t)
REDUCE(reduce_u8, uint8_t)
REDUCE(reduce_i32, int32_t)
REDUCE(reduce_u32, uint32_t)
REDUCE(reduce_i64, int64_t)
REDUCE(reduce_u64, uint64_t)
REDUCE(reduce_f32, float)
REDUCE(reduce_f64, double)

/* Returns false for a type that is not reduced. */
static bool reduce(void *to, const void *from, size_t n, ncclDataType_t type, ncclRedOp_t op)
{
    switch (type) {
#define CASE(nccl, name)                                                                           \
    case nccl:                                                                                     \
        name(to, from, n, op);                                                                     \
        return true;
        CASE(ncclInt8, reduce_i8)
        CASE(ncclUint8, reduce_u8)
        CASE(ncclInt32, reduce_i32)
        CASE(ncclUint32, reduce_u32)
        CASE(ncclInt64, reduce_i64)
        CASE(ncclUint64, reduce_u64)
        CASE(ncclFloat32, reduce_f32)
        CASE(ncclFloat64, reduce_f64)
#undef CASE
    default:
        return false;
    }
}

static void mean(void *to, size_t n, ncclDataType_t type, int ranks)
{
    switch (type) {
#define CASE(nccl, name)                                                                           \
    case nccl:                                                                                     \
        name##_mean(to, n, ranks);                                                                 \
        return;
        CASE(ncclInt8, reduce_i8)
        CASE(ncclUint8, reduce_u8)
        CASE(ncclInt32, reduce_i32)
        CASE(ncclUint32, reduce_u32)
        CASE(ncclInt64, reduce_i64)
        CASE(ncclUint64, reduce_u64)
        CASE(ncclFloat32, reduce_f32)
        CASE(ncclFloat64, reduce_f64)
#undef CASE
    default:
        return;
    }
}

/* Reduces one operation. Its part starts at `at` in each rank's mail, `skip` bytes before the
 * elements that this rank needs. The parts are copied first, because they need not be aligned for
 * their type. */
static void take_reduced(const struct flight *f, const struct operation *o, size_t at, size_t skip)
{
    size_t n = o->bytes / type_bytes(o->type);
    _Alignas(8) char sum[NCCL_MAIL], other[NCCL_MAIL];
    memcpy(sum, mail(f, 0) + at + skip, o->bytes);
    for (int rank = 1; rank < f->comm->ranks; rank++) {
        memcpy(other, mail(f, rank) + at + skip, o->bytes);
        if (!reduce(sum, other, n, o->type, o->op))
            return;
    }
    if (o->op == ncclAvg)
        mean(sum, n, o->type, f->comm->ranks);
    memcpy(o->out, sum, o->bytes);
}

static void take(const struct flight *f, const struct operation *o, size_t at)
{
    int me = f->comm->rank;
    switch (o->kind) {
    case KIND_ALL_REDUCE:
        take_reduced(f, o, at, 0);
        return;
    case KIND_REDUCE:
        if (me == o->peer)
            take_reduced(f, o, at, 0);
        return;
    case KIND_REDUCE_SCATTER:
        take_reduced(f, o, at, (size_t)me * o->bytes);
        return;
    case KIND_BROADCAST:
        memcpy(o->out, mail(f, o->peer) + at, o->bytes);
        return;
    case KIND_ALL_GATHER:
    case KIND_ALL_TO_ALL:
        for (int rank = 0; rank < f->comm->ranks; rank++)
            memcpy((char *)o->out + (size_t)rank * o->bytes,
                   mail(f, rank) + at + (o->kind == KIND_ALL_TO_ALL ? (size_t)me * o->bytes : 0),
                   o->bytes);
        return;
    case KIND_SEND:
    case KIND_RECV:
        return;
    }
}

void data_take(const struct flight *f)
{
    size_t at = 0;
    for (int i = 0; i < f->pair_n; i++)
        if (f->pair[i].way == 1 && f->pair[i].out)
            memcpy(f->pair[i].out, pair_mail(f, i), f->pair[i].bytes);
    for (int i = 0; i < f->ops_n; i++) {
        if (f->ops[i].out)
            take(f, &f->ops[i], at);
        at += part(&f->ops[i]);
    }
    vg_awaited_end(f);
}
