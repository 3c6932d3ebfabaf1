/* Records NCCL's collectives from NCCL's own NVTX ranges: in the domain "NCCL" each function has a
 * payload schema that says what the call moves. Also shows how far each rank is. */
#include "agent/libs/nccl.h"

#include <string.h>

#include "agent/core/clock.h"
#include "agent/core/instrument.h"

enum { SCHEMA_BASE = 16777216, SCHEMA_FIRST = 4, SCHEMA_LAST = 32, COMMS = 256 };

/* Size of a function's payload, which begins with {u64 communicator hash, u64 bytes}. NCCL before
 * 2.2x left the hash out, so its payloads are shorter. */
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

/* Counts a call of one rank on one communicator and returns its number, from 1; 0: unknown, the
 * table is full. */
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

/* The hooked call that this thread is in. */
static __thread const struct nccl_call *hooked AGENT_TLS;

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

/* ---- how far this rank is, for the collector to see ---- */

/* A process may hold several ranks of one communicator, and each counts its own calls. */
static uint64_t key_of(uint64_t comm, int rank)
{
    return comm + (uint64_t)(rank + 1) * 0x9e3779b97f4a7c15u;
}

/* The rank's entry in the spool's header. NULL: the table is full. */
static struct spool_comm *entry_of(uint64_t comm, int rank)
{
    uint64_t key = key_of(comm, rank);
    for (size_t i = 0; key && i < SPOOL_COMMS; i++) {
        struct spool_comm *e = &agent.spool->comms[(size_t)((key ^ key >> 32) + i) % SPOOL_COMMS];
        uint64_t there = 0;
        if (atomic_load_explicit(&e->key, memory_order_relaxed) == key)
            return e;
        if (!atomic_compare_exchange_strong(&e->key, &there, key) && there != key)
            continue;
        atomic_store(&e->rank, rank);
        atomic_store(&e->comm, comm);
        return e;
    }
    return NULL;
}

static bool sends(uint32_t name)
{
    const char *text = name ? strings_text(name) : "";
    return strcmp(text, "ncclSend") == 0 || strcmp(text, "ncclRecv") == 0;
}

static void show_begun(struct spool_comm *e, uint64_t begun, int64_t now_ns,
                       const struct nccl_call *about)
{
    if (about)
        atomic_store_explicit(&e->ranks, about->ranks, memory_order_relaxed);
    atomic_store_explicit(&e->begun_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&e->begun, begun, memory_order_release);
}

static void show_ended(uint64_t comm, const struct nccl_call *about, uint64_t sequence)
{
    struct spool_comm *e = sequence ? entry_of(comm, about ? about->rank : -1) : NULL;
    if (!e)
        return;
    /* No range has shown its begin. */
    if (atomic_load_explicit(&e->begun, memory_order_relaxed) < sequence)
        show_begun(e, sequence, clock_now_ns(), about);
    atomic_store_explicit(&e->ended, sequence, memory_order_release);
}

void nccl_call_fill(struct spool_rec_call *rec, const struct nccl_call *about, uint64_t comm,
                    int64_t bytes)
{
    int rank = about ? about->rank : -1;
    rec->family = SPOOL_CALL_COLLECTIVE;
    rec->algo = -1;
    rec->bytes = bytes;
    rec->comm = comm;
    rec->sequence = comm ? count_on(key_of(comm, rank)) : 0;
    show_ended(comm, about, rec->sequence);
    rec->in_type = about ? about->type : SPOOL_DT_UNKNOWN;
    rec->dim[0] = about ? about->ranks : -1;
    rec->dim[1] = rank;
    rec->dim[2] = about ? about->root : -1;
}

static uint64_t comm_of(const struct open_range *r)
{
    return r->comm != UINT64_MAX ? r->comm : hooked ? hooked->comm : 0;
}

/* A rank begins its next collective. */
static void collective_begins(const struct open_range *r)
{
    uint64_t comm = comm_of(r);
    struct spool_comm *e = comm ? entry_of(comm, hooked ? hooked->rank : -1) : NULL;
    if (!e)
        return;
    atomic_store_explicit(&e->function, r->name, memory_order_relaxed);
    if (sends(r->name))
        atomic_store_explicit(&e->in_pairs, 1, memory_order_relaxed);
    uint64_t ended = atomic_load_explicit(&e->ended, memory_order_relaxed);
    show_begun(e, ended + 1, r->start_ns, hooked);
}

/* A call that is not recorded still counts in the order of calls on its communicator. */
static void skip(const struct open_range *r)
{
    struct spool_rec_call none;
    nccl_call_fill(&none, hooked, comm_of(r), 0);
    hooked = NULL;
}

/* Writes the CALL record of a collective. */
static void collective_ended(struct thread *t, const struct open_range *r, int64_t end_ns)
{
    struct spool_rec_call *c = ring_reserve(t, SPOOL_REC_CALL, sizeof *c);
    if (!c) {
        skip(r);
        return;
    }
    c->head.start_ns = r->start_ns;
    c->head.end_ns = end_ns;
    c->function = r->name;
    nccl_call_fill(c, hooked, comm_of(r), (int64_t)r->payload);
    hooked = NULL;
    ring_commit(t);
}

const struct instrument instrument_nccl = {
    .collective_begins = collective_begins,
    .collective_ended = collective_ended,
};
