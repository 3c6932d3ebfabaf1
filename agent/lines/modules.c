/* Tells by its address which module of PyTorch an object is. The Python hook fills the table once;
 * launches read it. */
#include "agent/lines/lines.h"

#include <string.h>
#include <sys/mman.h>

enum { MODULES = 16384, MOST_KNOWN = MODULES / 2, PROBES = 64 };

struct module {
    _Atomic uint64_t address; /* 0: free */
    uint64_t type;            /* differs at this address once the module is gone */
    /* Stretch in which the type was last compared: once in each, as for code objects. */
    _Atomic uint32_t round;
    uint32_t name;
};

_Atomic uint32_t modules_known;
static struct module *modules;
static _Atomic uint32_t stretches;

static uint64_t type_at(uint64_t address)
{
    uint64_t type;
    memcpy(&type, (const char *)(uintptr_t)address + 8, sizeof type);
    return type;
}

static struct module *slot_of(uint64_t address)
{
    size_t first = (size_t)(address / 16 * 0x9e3779b97f4a7c15u >> 40);
    for (size_t i = 0; i < PROBES; i++) {
        struct module *m = &modules[(first + i) % MODULES];
        uint64_t there = atomic_load_explicit(&m->address, memory_order_acquire);
        if (there == address || there == 0)
            return m;
    }
    return NULL;
}

void lines_know_module(const void *object, const char *name)
{
    uint64_t address = (uint64_t)(uintptr_t)object;
    if (!modules) {
        void *map = mmap(NULL, MODULES * sizeof *modules, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED)
            return;
        modules = map;
    }
    struct module *m = atomic_load(&modules_known) < MOST_KNOWN ? slot_of(address) : NULL;
    if (!m)
        return;
    atomic_store(&m->round, 0);
    m->type = type_at(address); /* an earlier module may have had this address */
    m->name = strings_add(name, strlen(name));
    if (atomic_exchange(&m->address, address) == 0)
        atomic_fetch_add_explicit(&modules_known, 1, memory_order_release);
}

uint32_t modules_name(uint64_t address)
{
    struct module *m = slot_of(address);
    uint32_t now = atomic_load_explicit(&stretches, memory_order_relaxed);
    if (!m || atomic_load_explicit(&m->address, memory_order_acquire) != address)
        return 0;
    if (atomic_load_explicit(&m->round, memory_order_relaxed) != now) {
        if (m->type != type_at(address))
            return 0;
        atomic_store_explicit(&m->round, now, memory_order_relaxed);
    }
    return m->name;
}

void modules_begin(void)
{
    atomic_fetch_add(&stretches, 1);
}

/* In a forked child: the names are string ids of the parent's spool. */
void modules_forget(void)
{
    atomic_store(&modules_known, 0);
    if (modules)
        memset(modules, 0, MODULES * sizeof *modules);
}
