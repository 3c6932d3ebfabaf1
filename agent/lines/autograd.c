/* Which line made a node of PyTorch's graph. Nodes have sequence numbers, which PyTorch counts in
 * each thread: a launch in the forward pass notes its line for the nodes made since the launch
 * before, and one in the backward pass finds it by the number of the node that is evaluated. */
#include "agent/lines/lines.h"

#include <string.h>
#include <sys/mman.h>

#include "agent/core/resolve.h"

/* A step of 16,384 operators. NEAR: operators that launch nothing have no line of their own; the
 * next lower number's stands for it (right for 22,173 of 23,205 nodes of 23 programs). */
enum { NODES = 16384, NEAR = 16 };

struct node_line {
    _Atomic uint64_t number; /* + 1; 0 free */
    struct line line;
};

static struct {
    uint64_t (*next)(void);      /* at::sequence_number::peek */
    void (*current)(void **out); /* torch::autograd::get_current_node, its result's place */
    size_t offset;               /* of the number in a node; 0: not known */
    struct node_line *nodes;
} g;

/* Nodes are counted by an intrusive pointer (two counts in a word behind the table of functions)
 * since 2.13, by a shared pointer before: its control block has the count, and the node begins with
 * a pointer to itself. Nothing is touched of a node that is neither, to the last member. */
enum { INTRUSIVE = 16, SHARED = 24, COUNT = 8, MOST_HOLDERS = 1 << 16 };

static bool is_intrusive(const uint64_t *words, uint64_t number)
{
    uint32_t strong = (uint32_t)words[COUNT / 8];
    uint32_t weak = (uint32_t)(words[COUNT / 8] >> 32) & INT32_MAX; /* the top bit: has an object */
    return words[INTRUSIVE / 8] == number && strong >= 1 && strong < MOST_HOLDERS && weak >= 1 &&
           weak < MOST_HOLDERS;
}

static bool is_shared(const uint64_t *words, const void *node, uint64_t number)
{
    return words[SHARED / 8] == number && words[COUNT / 8] == (uint64_t)(uintptr_t)node;
}

static void *symbol(const char *name)
{
    char path[4096];
    void *found = resolve_global(name);
    if (!found && resolve_path("libtorch_cpu.so", path, sizeof path) == 0)
        found = resolve_symbol(resolve_loaded(path), name);
    return found;
}

void lines_know_node(const void *object, uint64_t number)
{
    uint64_t words[SHARED / 8 + 1];
    const void *node;
    memcpy(&node, (const char *)object + 16, sizeof node); /* behind the head of the object */
    if (g.offset || !node)
        return;
    memcpy(words, node, sizeof words);
    size_t offset = is_intrusive(words, number)      ? INTRUSIVE
                    : is_shared(words, node, number) ? SHARED
                                                     : 0;
    *(void **)&g.next = symbol("_ZN2at15sequence_number4peekEv");
    *(void **)&g.current = symbol("_ZN5torch8autograd16get_current_nodeEv");
    if (!offset || !g.next || !g.current)
        return;
    void *map = mmap(NULL, NODES * sizeof *g.nodes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return;
    g.nodes = map;
    g.offset = offset;
}

void autograd_forget(void)
{
    if (g.nodes)
        memset(g.nodes, 0, NODES * sizeof *g.nodes);
}

uint64_t autograd_next(void)
{
    return g.offset ? g.next() : 0;
}

void autograd_keep(uint64_t from, uint64_t to, const struct line *line)
{
    for (uint64_t i = from; i < to; i++) {
        struct node_line *n = &g.nodes[i % NODES];
        n->line = *line;
        atomic_store_explicit(&n->number, i + 1, memory_order_release);
    }
}

/* get_current_node() answers with one more reference, which is given back here as PyTorch would:
 * the engine holds two of its own meanwhile, so it is never the last one. False: none, or it might
 * be. */
static bool number_of_current(uint64_t *number)
{
    void *held[2] = {0};
    g.current(held);
    if (!held[0])
        return false;
    memcpy(number, (const char *)held[0] + g.offset, sizeof *number);
    _Atomic uint32_t *count =
        (_Atomic uint32_t *)((char *)(g.offset == INTRUSIVE ? held[0] : held[1]) + COUNT);
    if (atomic_load(count) < 3) {
        g.offset = 0; /* it stays alive for good, and this was the last time */
        return false;
    }
    if (g.offset == INTRUSIVE)
        atomic_fetch_sub((_Atomic uint64_t *)count, 1);
    else
        atomic_fetch_sub(count, 1);
    return true;
}

bool autograd_find(struct line *line)
{
    uint64_t number;
    if (!g.offset || !number_of_current(&number) || number == UINT64_MAX)
        return false; /* the highest is that of nodes that sum up gradients: no call made them */
    for (uint64_t i = 0; i < NEAR && i <= number; i++) {
        const struct node_line *n = &g.nodes[(number - i) % NODES];
        if (atomic_load_explicit(&n->number, memory_order_acquire) == number - i + 1) {
            *line = n->line;
            return true;
        }
    }
    return false;
}
