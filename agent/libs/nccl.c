/* NCCL says through NVTX what each call moves: domain "NCCL", one payload schema per function. */
#include "agent/core/ranges.h"

#include <string.h>

enum { SCHEMA_BASE = 16777216, SCHEMA_FIRST = 4, SCHEMA_LAST = 32, COMMS = 256 };

/* Payloads begin with {u64 communicator hash, u64 bytes}; NCCL before 2.2x left the hash out, which
 * shows in the size. */
static size_t full_size(uint64_t schema)
{
    enum { ALL_GATHER = 4, REDUCE_SCATTER = 7, ALL_TO_ALL = 16 };
    uint64_t id = schema - SCHEMA_BASE;
    if (id == ALL_GATHER || id >= ALL_TO_ALL)
        return 16;
    return 24;
}

void nccl_payload(struct open_range *r, const struct nvtx_payload *p)
{
    uint64_t word[2] = {0};
    if (!p || !p->data || p->schema < SCHEMA_BASE + SCHEMA_FIRST ||
        p->schema > SCHEMA_BASE + SCHEMA_LAST || p->size < sizeof word[0])
        return;
    bool hashed = p->size >= full_size(p->schema);
    memcpy(word, p->data, hashed ? sizeof word : sizeof word[0]);
    r->payload = hashed ? word[1] : word[0];
    r->comm = hashed && word[0] ? word[0] : UINT64_MAX;
}

/* Calls so far on one communicator, by one of its ranks. A full table gives 0 = not known. */
static uint64_t count_on(uint64_t comm)
{
    static struct {
        _Atomic uint64_t comm, calls;
    } table[COMMS];
    for (size_t i = 0; i < COMMS; i++) {
        size_t at = (size_t)((comm ^ comm >> 32) + i) % COMMS;
        uint64_t there = 0;
        if (atomic_load(&table[at].comm) != comm &&
            !atomic_compare_exchange_strong(&table[at].comm, &there, comm) && there != comm)
            continue;
        return atomic_fetch_add(&table[at].calls, 1) + 1;
    }
    return 0;
}

static __thread const struct nccl_call *hooked AGENT_TLS; /* the call that this thread is in */

void nccl_call_begin(const struct nccl_call *about)
{
    hooked = about;
}

bool nccl_call_end(void)
{
    bool written = !hooked;
    hooked = NULL;
    return written;
}

void nccl_call_fill(struct spool_rec_call *rec, const struct nccl_call *about, uint64_t comm,
                    int64_t bytes)
{
    int rank = about ? about->rank : -1;
    rec->family = SPOOL_CALL_COLLECTIVE;
    rec->algo = -1;
    rec->bytes = bytes;
    rec->comm = comm;
    /* a process may hold several ranks of one communicator: each counts its own calls */
    rec->sequence = comm ? count_on(comm + (uint64_t)(rank + 1) * 0x9e3779b97f4a7c15u) : 0;
    rec->in_type = about ? about->type : SPOOL_DT_UNKNOWN;
    rec->dim[0] = about ? about->ranks : -1;
    rec->dim[1] = rank;
    rec->dim[2] = about ? about->root : -1;
}

static uint64_t comm_of(const struct open_range *r)
{
    return r->comm != UINT64_MAX ? r->comm : hooked ? hooked->comm : 0;
}

void nccl_skip(const struct open_range *r)
{
    struct spool_rec_call none;
    nccl_call_fill(&none, hooked, comm_of(r), 0);
    hooked = NULL;
}

void nccl_record(struct thread *t, const struct open_range *r, int64_t end_ns)
{
    struct spool_rec_call *c = ring_reserve(t, SPOOL_REC_CALL, sizeof *c);
    if (!c) {
        nccl_skip(r);
        return;
    }
    c->head.start_ns = r->start_ns;
    c->head.end_ns = end_ns;
    c->function = r->name;
    nccl_call_fill(c, hooked, comm_of(r), (int64_t)r->payload);
    hooked = NULL;
    ring_commit(t);
}
