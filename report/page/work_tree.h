/* Time as a tree of names, the times of the used steps. GPU work by the ranges (operators, modules,
 * phases) from within which it was launched, or by the functions and lines that launched it: leaves
 * are kernels and copies. Cost: a look-up for each range around each operation; memory: 64 bytes a
 * node. */
#ifndef GPUPROF_REPORT_PAGE_WORK_TREE_H
#define GPUPROF_REPORT_PAGE_WORK_TREE_H

#include "analyzer/facts/facts.h"
#include "base/keymap.h"
#include "base/vec.h"

enum work_kind { WORK_RANGE, WORK_OP, WORK_MODULE, WORK_FUNCTION, WORK_LINE, WORK_FRAME };

struct work_node {
    uint32_t name;            /* string id, 0: the root; from WORK_MODULE on the index of such
                                 a frame in timeline.stacks */
    uint32_t parent;          /* index, TL_NONE of the root */
    uint32_t depth;           /* of the root 0 */
    uint32_t longest;         /* op index */
    uint32_t shapes;          /* string id: inputs of the operator that launched it; 0 = unknown */
    uint32_t length;          /* WORK_MODULE: so many bytes of its name, what is inside has more */
    int64_t total_ns, own_ns; /* of all work within it; of that not in a range inside it */
    int64_t ops;
    uint8_t kind; /* enum work_kind; WORK_OP: a kernel or copy */
};

struct work_tree {
    struct VEC(struct work_node) nodes; /* a parent before its children */
    struct keymap child;                /* (parent, what it is told by, kind): its index */
    int64_t inside_ns;                  /* of work launched from within any range; from a line */
};

/* Was any work of a used step launched from within a range that is no mark of a step? */
bool work_tree_any(const struct facts *f);
/* -1: out of memory; release all the same. */
int work_tree_build(struct work_tree *w, const struct facts *f);
/* By module, function, line and kernel, of the work that facts_gpu_lines is of; its times are per step. */
int work_tree_lines(struct work_tree *w, const struct facts *f);
/* Samples of the host instead: frames, the outermost first, with what is charged to each stack
 * (struct lines). Its times are per step. */
int work_tree_stacks(struct work_tree *w, const struct timeline *t, const int64_t *stack_ns);
/* "aten::linear", "Net.forward train.py", "train.py:9", "train.py:9 Net.forward". May be out. */
const char *work_text(const struct timeline *t, const struct work_node *n, char *out, size_t size);
void work_tree_release(struct work_tree *w);

#endif
