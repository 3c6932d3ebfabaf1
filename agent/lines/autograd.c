/* Finds the line whose forward call made a node of PyTorch's autograd graph. PyTorch numbers the
 * nodes of each thread in sequence. A launch in the forward pass notes its line for the nodes made
 * since the thread's previous launch; a launch in the backward pass finds the line by the number of
 * the node that is being evaluated. */
#include "agent/lines/lines.h"

#include <string.h>
#include <sys/mman.h>

#include "agent/core/resolve.h"

/* NODES: enough for a step of 16,384 operators. NEAR: an operator that launches nothing has no line
 * of its own, so the line of the nearest lower number stands for it, at most NEAR below (right for
 * 22,173 of 23,205 nodes of 23 programs). */
enum { NODES = 16384, NEAR = 16, INTERVALS = 16 };

struct node_line {
    _Atomic uint64_t number; /* the node's number + 1; 0: free */
    struct line line;
};

static struct {
    uint64_t (*next)(void);      /* at::sequence_number::peek */
    void (*current)(void **out); /* torch::autograd::get_current_node; out: where its result goes */
    size_t offset;               /* of the sequence number within a node; 0: unknown */
    struct node_line *nodes;
    /* The last intervals of nodes of which nobody uses what their backward pass computes; numbers are
     * never used again. */
    struct {
        _Atomic uint64_t from, to;
    } unused[INTERVALS];
    _Atomic uint32_t unused_count; /* told so far; threads of the engine read it */
} g;

/* PyTorch counts references to a node in one of two ways. Since 2.13: an intrusive pointer, with
 * two counts in one word behind the node's table of functions. Before: a shared pointer, whose
 * control block has the count; the node then begins with a pointer to itself. A node that does not
 * look like either of these in all members read here is left alone. */
enum { INTRUSIVE = 16, SHARED = 24, COUNT = 8, MOST_HOLDERS = 1 << 16 };

static bool is_intrusive(const uint64_t *words, uint64_t number)
{
    uint32_t strong = (uint32_t)words[COUNT / 8];
    /* The top bit says that there is a Python object. */
    uint32_t weak = (uint32_t)(words[COUNT / 8] >> 32) & INT32_MAX;
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
    /* The node's address lies behind the head of the Python object. */
    memcpy(&node, (const char *)object + 16, sizeof node);
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

uint64_t lines_nodes(void)
{
    return autograd_next();
}

void autograd_keep(uint64_t from, uint64_t to, const struct line *line)
{
    for (uint64_t i = from; i < to; i++) {
        struct node_line *n = &g.nodes[i % NODES];
        n->line = *line;
        atomic_store_explicit(&n->number, i + 1, memory_order_release);
    }
}

/* Sequence number of the node that the calling thread evaluates. get_current_node() adds a
 * reference, which is given back here as PyTorch would do it. PyTorch's engine holds two references
 * of its own meanwhile, so ours is never the last. False: there is no such node, or ours might be
 * the last reference. */
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
        g.offset = 0; /* keep our reference, and use this function no more */
        return false;
    }
    if (g.offset == INTRUSIVE)
        atomic_fetch_sub((_Atomic uint64_t *)count, 1);
    else
        atomic_fetch_sub(count, 1);
    return true;
}

void lines_unused(uint64_t from, uint64_t to)
{
    uint32_t i = g.unused_count++ % INTERVALS;
    atomic_store(&g.unused[i].from, from);
    atomic_store(&g.unused[i].to, to);
}

static bool is_unused(uint64_t number)
{
    for (uint32_t i = 0; i < INTERVALS; i++)
        if (number >= atomic_load_explicit(&g.unused[i].from, memory_order_relaxed) &&
            number <= atomic_load_explicit(&g.unused[i].to, memory_order_relaxed))
            return true;
    return false;
}

bool autograd_find(struct line *line, bool *unused)
{
    uint64_t number;
    if (!g.offset || !number_of_current(&number) || number == UINT64_MAX)
        return false; /* nodes that sum up gradients have the highest number: no call made them */
    for (uint64_t i = 0; i < NEAR && i <= number; i++) {
        const struct node_line *n = &g.nodes[(number - i) % NODES];
        if (atomic_load_explicit(&n->number, memory_order_acquire) == number - i + 1) {
            *line = n->line;
            *unused = g.unused_count > 0 && is_unused(number);
            return true;
        }
    }
    return false;
}
