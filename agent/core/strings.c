/* The string table: append-only text in the spool, and a private index over it.
 *
 * The index is an open-addressed table of ids. A slot is filled once by compare-and-swap and never
 * changes, so a look-up takes no lock. If two threads add the same text at the same moment, one
 * copy may stay unused; only one of them gets into the index. */
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

#include "agent/core/spool.h"

enum {
    INDEX = 1 << 18, /* slots; a power of two */
    INDEX_FILL = INDEX / 4 * 3,
    CHUNK = 256 << 10, /* bytes of disk taken at a time */
    MAX_TEXT = 16 << 10,
};

static _Atomic uint32_t *slots;
static _Atomic uint32_t used_slots;
static _Atomic uint64_t allocated; /* bytes of the table that have disk and touched pages */

int strings_open(void)
{
    void *map = mmap(NULL, INDEX * sizeof *slots, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return -1;
    madvise(map, INDEX * sizeof *slots, MADV_DONTFORK);
    slots = map;
    atomic_store(&used_slots, 0);
    if (spool_grow(agent.spool->strings_off, CHUNK) != 0)
        return -1;
    atomic_store(&allocated, CHUNK);
    /* Id 0 is the empty string: an entry of zeros. */
    atomic_store(&agent.spool->strings_used, AGENT_ALIGN(sizeof(struct spool_string) + 1, 8));
    return 0;
}

static struct spool_string *entry(uint32_t id)
{
    return (struct spool_string *)((char *)agent.spool + agent.spool->strings_off +
                                   (uint64_t)id * 8);
}

const char *strings_text(uint32_t id)
{
    return (const char *)(entry(id) + 1);
}

static uint32_t hash_text(const char *text, size_t length)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

/* Takes `bytes` of the table and returns their offset; 0: the table is full. */
static uint64_t take(uint64_t bytes)
{
    struct spool_header *h = agent.spool;
    uint64_t at = atomic_load_explicit(&h->strings_used, memory_order_relaxed);
    do {
        if (at + bytes > h->strings_cap)
            return 0;
        uint64_t have = atomic_load_explicit(&allocated, memory_order_acquire);
        while (at + bytes > have) { /* another thread may grow the same part: that does no harm */
            if (spool_grow(h->strings_off + have, CHUNK) != 0)
                return 0;
            if (atomic_compare_exchange_strong(&allocated, &have, have + CHUNK))
                have += CHUNK;
        }
    } while (!atomic_compare_exchange_weak(&h->strings_used, &at, at + bytes));
    return at;
}

static uint32_t append(const char *text, uint32_t length, uint32_t hash)
{
    uint64_t at = take(AGENT_ALIGN(sizeof(struct spool_string) + length + 1, 8));
    if (at == 0)
        return 0;
    struct spool_string *e = entry((uint32_t)(at / 8));
    e->hash = hash;
    memcpy(e + 1, text, length);
    atomic_store_explicit(&e->length, length, memory_order_release);
    return (uint32_t)(at / 8);
}

static bool same(uint32_t id, const char *text, uint32_t length, uint32_t hash)
{
    const struct spool_string *e = entry(id);
    return e->hash == hash && atomic_load_explicit(&e->length, memory_order_acquire) == length &&
           memcmp(e + 1, text, length) == 0;
}

uint32_t strings_add(const char *text, size_t bytes)
{
    if (!text || bytes == 0)
        return 0;
    uint32_t length = bytes < MAX_TEXT ? (uint32_t)bytes : MAX_TEXT;
    uint32_t hash = hash_text(text, length), id = 0;
    for (uint32_t i = hash;; i++) {
        _Atomic uint32_t *slot = &slots[i & (INDEX - 1)];
        uint32_t there = atomic_load_explicit(slot, memory_order_acquire);
        if (there == 0) {
            if (id == 0 && (atomic_load(&used_slots) >= INDEX_FILL ||
                            (id = append(text, length, hash)) == 0)) {
                agent_count(SPOOL_STRINGS_FULL, 1);
                return 0;
            }
            if (atomic_compare_exchange_strong(slot, &there, id)) {
                atomic_fetch_add(&used_slots, 1);
                return id;
            }
        }
        if (same(there, text, length, hash))
            return there;
    }
}

/* Programs pass the same literals again and again, so a cache finds ids by the address. It compares
 * the text as well, because another text may stand at that address by now. */
uint32_t strings_id(struct thread *t, const char *text)
{
    if (!text || !*text)
        return 0;
    uintptr_t p = (uintptr_t)text;
    size_t i = (p ^ p >> 7) % THREAD_STRINGS;
    if (t->block->cache[i].text == text) {
        uint32_t id = t->block->cache[i].id;
        if (strcmp(text, strings_text(id)) == 0)
            return id;
    }
    uint32_t id = strings_add(text, strlen(text));
    if (id) {
        t->block->cache[i].text = text;
        t->block->cache[i].id = id;
    }
    return id;
}

static size_t put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c >= 0x10000)
        c = 0xfffd;
    to[0] = (char)(0xe0 | c >> 12);
    to[1] = (char)(0x80 | (c >> 6 & 63));
    to[2] = (char)(0x80 | (c & 63));
    return 3;
}

size_t strings_narrow(char *to, size_t size, const wchar_t *text)
{
    size_t n = 0;
    for (; text && *text && n + 4 <= size; text++)
        n += put_utf8(to + n, (uint32_t)*text);
    to[n] = 0;
    return n;
}
