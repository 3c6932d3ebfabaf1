/* Time as a tree of names, over the used steps. GPU work is ordered by the ranges (operators,
 * modules, phases) from which it was launched, or by the functions and lines that launched it;
 * leaves are kernels and copies. Cost: a look-up for each range around each operation; memory: 64
 * bytes a node. */
#ifndef GPUPROF_REPORT_PAGE_WORK_TREE_H
#define GPUPROF_REPORT_PAGE_WORK_TREE_H

#include "analyzer/facts/facts.h"
#include "base/keymap.h"
#include "base/vec.h"

enum work_kind { WORK_RANGE, WORK_OP, WORK_MODULE, WORK_FUNCTION, WORK_LINE, WORK_FRAME };

struct work_node {
    /* String id, 0: the root; for WORK_MODULE and later kinds the index of such a frame in
     * timeline.stacks. */
    uint32_t name;
    uint32_t parent;  /* index; TL_NONE for the root */
    uint32_t depth;   /* 0 for the root */
    uint32_t longest; /* op index */
    uint32_t shapes;  /* string id of the inputs of the operator that launched it; 0: unknown */
    uint32_t length;  /* WORK_MODULE: the length of its own part of the name */
    int64_t total_ns, own_ns; /* of all work within it; of work that is in no range within it */
    int64_t ops;
    uint8_t kind; /* enum work_kind; WORK_OP: a kernel or copy */
};

struct work_tree {
    struct VEC(struct work_node) nodes; /* a parent comes before its children */
    struct keymap child;                /* (parent, what identifies the node, kind): its index */
    int64_t inside_ns;                  /* time of work launched within any range, or from a line */
};

/* True if a used step has work launched within a range that is not a step mark. */
bool work_tree_any(const struct facts *f);
/* -1: out of memory; call work_tree_release in any case. */
int work_tree_build(struct work_tree *w, const struct facts *f);
/* By module, function, line and kernel, for the work that facts_gpu_lines covers; times are per
 * step. */
int work_tree_lines(struct work_tree *w, const struct facts *f);
/* From samples of the host: frames, the outermost first, with the time charged to each stack
 * (struct lines). Times are per step. */
int work_tree_stacks(struct work_tree *w, const struct timeline *t, const int64_t *stack_ns);
/* "aten::linear", "Net.forward train.py", "train.py:9", "train.py:9 Net.forward". May return
 * `out`. */
const char *work_text(const struct timeline *t, const struct work_node *n, char *out, size_t size);
void work_tree_release(struct work_tree *w);

#endif
