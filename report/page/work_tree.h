/* GPU work by the ranges (operators, modules, phases) from within which it was launched: a tree of
 * their names, leaves are kernels and copies. Times are of the used steps.
 * Cost: a look-up for each range around each operation; memory: 64 bytes a node. */
#ifndef GPUPROF_REPORT_PAGE_WORK_TREE_H
#define GPUPROF_REPORT_PAGE_WORK_TREE_H

#include "analyzer/facts/facts.h"
#include "base/keymap.h"
#include "base/vec.h"

struct work_node {
    uint32_t name;            /* string id; 0: the root */
    uint32_t parent;          /* index, TL_NONE of the root */
    uint32_t depth;           /* of the root 0 */
    uint32_t longest;         /* op index */
    uint32_t shapes;          /* string id: inputs of the operator that launched it; 0 = unknown */
    int64_t total_ns, own_ns; /* of all work within it; of that not in a range inside it */
    int64_t ops;
    bool work; /* a kernel or copy, no range */
};

struct work_tree {
    struct VEC(struct work_node) nodes; /* a parent before its children */
    struct keymap child;                /* (parent, name, work): its index */
    int64_t in_ranges_ns;               /* work launched from within any range */
};

/* Was any work of a used step launched from within a range that is no mark of a step? */
bool work_tree_any(const struct facts *f);
/* -1: out of memory; release all the same. */
int work_tree_build(struct work_tree *w, const struct facts *f);
void work_tree_release(struct work_tree *w);

#endif
