/* Builds the trees of ranges, or of functions and lines, with the kernels and copies launched
 * within them (work_tree.h). */
#include "report/page/work_tree.h"

#include "analyzer/facts/lines.h"
#include "analyzer/measure/ranges.h"
#include "wire/python_owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 48, FRAMES = 512 };

static uint32_t child_told_by(struct work_tree *w, uint32_t parent, uint32_t name,
                              enum work_kind kind, int64_t by, int64_t in)
{
    struct key key = {{parent, by, in, kind}};
    uint32_t found = keymap_get(&w->child, key);
    if (found != KEYMAP_NONE)
        return found;
    uint32_t index = (uint32_t)w->nodes.n, depth = w->nodes.at[parent].depth + 1;
    struct work_node *n = vec_push(&w->nodes);
    if (!n || keymap_put(&w->child, key, index))
        return TL_NONE;
    *n = (struct work_node){.name = name, .parent = parent, .depth = depth, .kind = (uint8_t)kind};
    n->longest = TL_NONE;
    return index;
}

static uint32_t child_of(struct work_tree *w, uint32_t parent, uint32_t name, enum work_kind kind)
{
    return child_told_by(w, parent, name, kind, name, 0);
}

/* True for ranges that get no node: step marks, which enclose everything, and Python's frames other
 * than modules. */
static bool passed_over(const struct timeline *t, const struct range *r)
{
    const char *name = tl_text(t, r->name);
    if (strcmp(tl_text(t, r->domain), "python") == 0)
        return strncmp(name, "nn.Module:", 10) != 0;
    return strncmp(name, "ProfilerStep#", 13) == 0 || strcmp(name, "step") == 0;
}

static bool counts(const struct facts *f, uint32_t op)
{
    uint32_t step = f->steps.op_step ? f->steps.op_step[op] : TL_NONE;
    return step < f->steps.count && f->steps.at[step].used;
}

bool work_tree_any(const struct facts *f)
{
    const struct timeline *t = f->tl;
    bool any = false;
    for (uint32_t i = 0; !any && i < t->op_count; i++) {
        if (t->ops[i].api == TL_NONE || !counts(f, i))
            continue;
        const struct api *api = &t->apis[t->ops[i].api];
        uint32_t r = range_at(t, api->thread, api->start_ns);
        while (r != TL_NONE && passed_over(t, &t->ranges[r]))
            r = t->ranges[r].parent;
        any = r != TL_NONE;
    }
    return any;
}

/* Adds an operation's time to a node and to all nodes around it. */
static void add_time(struct work_tree *w, uint32_t at, int64_t ns)
{
    for (; at != TL_NONE; at = w->nodes.at[at].parent) {
        w->nodes.at[at].total_ns += ns;
        w->nodes.at[at].ops++;
    }
}

/* Adds an operation's leaf below a node. */
static int add_leaf(struct work_tree *w, const struct timeline *t, uint32_t at, uint32_t op,
                    uint32_t shapes)
{
    const struct op *o = &t->ops[op];
    int64_t ns = o->end_ns - o->start_ns;
    if (at == TL_NONE)
        return -1;
    w->nodes.at[at].own_ns += ns;
    w->inside_ns += at ? ns : 0;
    if ((at = child_of(w, at, o->name, WORK_OP)) == TL_NONE)
        return -1;
    add_time(w, at, ns);
    struct work_node *leaf = &w->nodes.at[at];
    if (leaf->longest == TL_NONE ||
        ns > t->ops[leaf->longest].end_ns - t->ops[leaf->longest].start_ns) {
        leaf->longest = op;
        leaf->shapes = shapes;
    }
    return 0;
}

static int add_op(struct work_tree *w, const struct timeline *t, uint32_t op)
{
    uint32_t path[DEEPEST], n = 0, at = 0, shapes = 0;
    const struct api *api = t->ops[op].api == TL_NONE ? NULL : &t->apis[t->ops[op].api];
    uint32_t r = api ? range_at(t, api->thread, api->start_ns) : TL_NONE;
    for (; r != TL_NONE && n < DEEPEST; r = t->ranges[r].parent) {
        shapes = shapes ? shapes : t->ranges[r].shapes;
        if (!passed_over(t, &t->ranges[r]))
            path[n++] = t->ranges[r].name;
    }
    while (n-- > 0 && at != TL_NONE)
        at = child_of(w, at, path[n], WORK_RANGE);
    return add_leaf(w, t, at, op, shapes);
}

static int begin(struct work_tree *w)
{
    *w = (struct work_tree){0};
    struct work_node *root = vec_push(&w->nodes);
    if (root)
        *root = (struct work_node){.parent = TL_NONE, .longest = TL_NONE};
    return root ? 0 : -1;
}

int work_tree_build(struct work_tree *w, const struct facts *f)
{
    const struct timeline *t = f->tl;
    int rc = begin(w);
    for (uint32_t i = 0; rc == 0 && i < t->op_count; i++)
        if (counts(f, i))
            rc = add_op(w, t, i);
    return rc;
}

/* The node of a module: "blocks.0.mlp (Sequential)" lies below "blocks" and "blocks.0". */
static uint32_t module_below(struct work_tree *w, const struct timeline *t, uint32_t at,
                             uint32_t module)
{
    const char *name = tl_text(t, t->stacks[module].function);
    uint32_t whole = (uint32_t)strlen(name), end = (uint32_t)strcspn(name, " ");
    uint64_t told_by = 0xcbf29ce484222325u; /* FNV-1a */
    for (uint32_t i = 0; i < end && at != TL_NONE; i++) {
        told_by = (told_by ^ (unsigned char)name[i]) * 0x100000001b3u;
        if (i + 1 < end && name[i + 1] != '.')
            continue;
        at = child_told_by(w, at, module, WORK_MODULE, (int64_t)(told_by >> 1), 0);
        if (at != TL_NONE && (i + 1 == end || !w->nodes.at[at].length)) {
            w->nodes.at[at].name = module;
            w->nodes.at[at].length = i + 1 < end ? i + 1 : whole;
        }
    }
    return at;
}

/* The node of a line, below its function, which lies below its module. */
static uint32_t line_below(struct work_tree *w, const struct timeline *t, uint32_t at,
                           uint32_t stack)
{
    const struct row_stack *s = &t->stacks[stack];
    uint32_t module = facts_module_of(t, stack);
    if (module != TL_NONE && (at = module_below(w, t, at, module)) == TL_NONE)
        return at;
    at = child_told_by(w, at, stack, WORK_FUNCTION, s->function, s->file);
    return at == TL_NONE ? at : child_told_by(w, at, stack, WORK_LINE, s->line, s->file);
}

int work_tree_lines(struct work_tree *w, const struct facts *f)
{
    const struct timeline *t = f->tl;
    int rc = begin(w);
    for (uint32_t i = 0; rc == 0 && i < t->op_count; i++) {
        uint32_t line = tl_op_line(t, i);
        if (facts_gpu_lines_sum(f, i))
            rc = add_leaf(w, t, line ? line_below(w, t, 0, tl_line_stack(line)) : 0, i, 0);
    }
    double scale = rc == 0 && w->nodes.at[0].total_ns > 0
                       ? (double)f->lines->gpu.ns / (double)w->nodes.at[0].total_ns
                       : 0;
    for (size_t i = 0; i < w->nodes.n; i++)
        w->nodes.at[i].total_ns = (int64_t)(scale * (double)w->nodes.at[i].total_ns);
    return rc;
}

/* The node of a frame. For code that is not the user's it is the function, without the private
 * wrappers between (Module._call_impl). */
static uint32_t frame_below(struct work_tree *w, const struct timeline *t, uint32_t at,
                            uint32_t stack, bool innermost)
{
    const struct row_stack *s = &t->stacks[stack];
    const char *function = tl_text(t, s->function), *dot = strrchr(function, '.');
    if (python_owner(tl_text(t, s->file)) == PYTHON_OF_USER)
        return child_told_by(w, at, stack, WORK_FRAME, s->line, s->file);
    if (!innermost && (dot ? dot[1] : function[0]) == '_')
        return at;
    return child_told_by(w, at, stack, WORK_FUNCTION, s->function, s->file);
}

int work_tree_stacks(struct work_tree *w, const struct timeline *t, const int64_t *stack_ns)
{
    int rc = begin(w);
    for (size_t i = 0; rc == 0 && i < t->stack_count; i++) {
        uint32_t path[FRAMES], n = 0, at = 0;
        if (stack_ns[i] <= 0)
            continue;
        for (uint32_t k = (uint32_t)i; k != TL_NONE && n < FRAMES;
             k = timeline_stack_index(t, t->stacks[k].caller))
            path[n++] = k;
        while (n-- > 0 && at != TL_NONE)
            at = frame_below(w, t, at, path[n], n == 0);
        if (at == TL_NONE)
            rc = -1;
        else
            add_time(w, at, stack_ns[i]);
    }
    return rc;
}

const char *work_text(const struct timeline *t, const struct work_node *n, char *out, size_t size)
{
    if (n->kind == WORK_RANGE || n->kind == WORK_OP)
        return tl_text(t, n->name);
    const struct row_stack *s = &t->stacks[n->name];
    const char *file = python_short_file(tl_text(t, s->file));
    if (n->kind == WORK_MODULE) {
        snprintf(out, size, "%.*s", (int)n->length, tl_text(t, s->function));
        return out;
    }
    if (n->kind == WORK_FUNCTION)
        snprintf(out, size, "%.400s %.400s", tl_text(t, s->function), file);
    else
        snprintf(out, size, "%.400s:%lld%s%.400s", file, (long long)s->line,
                 n->kind == WORK_FRAME || s->source ? " " : "",
                 n->kind == WORK_FRAME ? tl_text(t, s->function) : tl_text(t, s->source));
    return out;
}

void work_tree_release(struct work_tree *w)
{
    vec_release(&w->nodes);
    keymap_release(&w->child);
}
