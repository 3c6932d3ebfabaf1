/* Finds the lines of work in CUDA graphs. During a capture, calls that would launch work create the
 * graph's nodes instead: these calls have lines, but no work. A replay has work, all from a single
 * call. Nodes are numbered in the order of the capture, so the operations of a replay, sorted by
 * node, match the calls of the capture one to one. They are matched only if both have the same
 * number and kinds. Cost: two sorts, of the calls in captures and of the work in graphs. */
#include "analyzer/timeline/build.h"
#include "base/keymap.h"

#include <stdlib.h>
#include <string.h>

enum mark { MARK_NONE, MARK_BEGIN, MARK_END };

static enum mark mark_of(const char *name)
{
    return strstr(name, "BeginCapture") ? MARK_BEGIN
           : strstr(name, "EndCapture") ? MARK_END
                                        : MARK_NONE;
}

/* Finds the captures: from a call that begins one to the same thread's next call that ends
 * one. -1: out of memory. */
static int find_captures(struct captures *c, const struct timeline *t)
{
    uint8_t *marks = calloc(t->strings.n + 1, 1);
    const struct api *begin = NULL;
    for (uint32_t i = 0; marks && i < t->strings.n; i++)
        marks[i] = (uint8_t)mark_of(tl_text(t, i));
    for (size_t i = 0; marks && i < t->api_count; i++) {
        const struct api *a = &t->apis[i];
        begin = marks[a->name] == MARK_BEGIN ? a : begin;
        if (marks[a->name] != MARK_END || !begin || begin->thread != a->thread)
            continue;
        struct capture *new = vec_push(&c->at);
        if (!new) {
            free(marks);
            return -1;
        }
        *new = (struct capture){.from_ns = begin->end_ns,
                                .to_ns = a->start_ns,
                                .process = t->threads[a->thread].process};
        begin = NULL;
    }
    free(marks);
    return marks ? 0 : -1;
}

static enum op_kind makes(const struct api *a)
{
    return a->kind == API_LAUNCH                                   ? OP_KERNEL
           : a->kind == API_COPY_ASYNC || a->kind == API_COPY_SYNC ? OP_COPY
                                                                   : OP_MEMSET;
}

/* The capture in which the call makes a node, or NULL. Any thread of the process may make nodes:
 * backward() has a thread of its own. */
static struct capture *capture_of(const struct captures *c, const struct timeline *t,
                                  const struct api *a)
{
    bool node = a->kind == API_LAUNCH || a->kind == API_COPY_ASYNC || a->kind == API_COPY_SYNC ||
                a->kind == API_MEMSET;
    for (size_t i = 0; node && a->op == TL_NONE && i < c->at.n; i++)
        if (c->at.at[i].from_ns <= a->start_ns && a->start_ns < c->at.at[i].to_ns &&
            c->at.at[i].process == t->threads[a->thread].process)
            return &c->at.at[i];
    return NULL;
}

bool captures_hold(const struct captures *c, const struct timeline *t, const struct api *a)
{
    return c->at.n && capture_of(c, t, a) != NULL;
}

static int by_capture(const void *a, const void *b)
{
    const struct captured *x = a, *y = b;
    return x->capture != y->capture     ? (x->capture > y->capture ? 1 : -1)
           : x->start_ns != y->start_ns ? (x->start_ns > y->start_ns ? 1 : -1)
                                        : (x->api > y->api) - (x->api < y->api);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

int captures_find(struct captures *c, const struct timeline *t)
{
    if (find_captures(c, t) < 0)
        return -1;
    for (uint32_t i = 0; c->at.n && i < t->api_count; i++) {
        const struct capture *in = capture_of(c, t, &t->apis[i]);
        struct captured *new = in ? vec_push(&c->calls) : NULL;
        if (in && !new)
            return -1;
        if (new)
            *new = (struct captured){
                .capture = (uint32_t)(in - c->at.at), .api = i, .start_ns = t->apis[i].start_ns};
    }
    if (c->calls.n)
        qsort(c->calls.at, c->calls.n, sizeof *c->calls.at, by_capture);
    for (size_t i = c->calls.n; i-- > 0;) {
        struct capture *in = &c->at.at[c->calls.at[i].capture];
        in->first = (uint32_t)i;
        in->calls++;
        in->kinds = mix(in->kinds, makes(&t->apis[c->calls.at[i].api]));
    }
    return 0;
}

/* ---- replays ---- */

struct node {
    int64_t start_ns; /* start of the replaying call */
    uint32_t api, node, op;
};

static int by_replay(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    return x->start_ns != y->start_ns ? (x->start_ns > y->start_ns ? 1 : -1)
           : x->api != y->api         ? (x->api > y->api ? 1 : -1)
           : x->node != y->node       ? (x->node > y->node ? 1 : -1)
                                      : (x->op > y->op) - (x->op < y->op);
}

/* Finds the capture of a graph at its first replay: the last one before it whose nodes match, if
 * possible one that is not taken by another graph. KEYMAP_NONE: none. */
static uint32_t captured_as(struct captures *c, const struct timeline *t, const struct api *replay,
                            uint32_t n, uint64_t kinds)
{
    uint32_t best = KEYMAP_NONE;
    for (uint32_t i = 0; i < c->at.n; i++) {
        const struct capture *x = &c->at.at[i];
        if (x->calls != n || x->kinds != kinds || x->to_ns > replay->start_ns ||
            x->process != t->threads[replay->thread].process)
            continue;
        const struct capture *so_far = best == KEYMAP_NONE ? NULL : &c->at.at[best];
        if (!so_far || (so_far->taken != x->taken ? so_far->taken : x->to_ns > so_far->to_ns))
            best = i;
    }
    if (best != KEYMAP_NONE)
        c->at.at[best].taken = true;
    return best;
}

static int line_replay(struct captures *c, struct timeline *t, struct keymap *graphs,
                       const struct node *nodes, uint32_t n)
{
    uint64_t work = n, kinds = 0;
    for (uint32_t i = n; i-- > 0;) {
        const struct op *o = &t->ops[nodes[i].op];
        kinds = mix(kinds, o->kind);
        work = mix(mix(mix(work, o->full_name), o->node),
                   (uint64_t)o->grid[0] << 32 ^ (uint64_t)o->grid[1] << 16 ^ o->grid[2]);
    }
    struct key key = {{(int64_t)work}};
    uint32_t of = keymap_get(graphs, key);
    if (of == KEYMAP_NONE) {
        /* becomes 0 if there is none */
        of = captured_as(c, t, &t->apis[nodes[0].api], n, kinds) + 1;
        if (keymap_put(graphs, key, of) < 0)
            return -1;
    }
    for (uint32_t i = 0; of && i < n; i++)
        t->node_lines[nodes[i].op] = t->apis[c->calls.at[c->at.at[of - 1].first + i].api].line;
    return 0;
}

int captures_line(struct captures *c, struct timeline *t)
{
    struct VEC(struct node) nodes = {0};
    struct keymap graphs = {0};
    int rc = 0;
    if (c->calls.n == 0)
        return 0;
    t->node_lines = arena_array(&t->arena, t->op_count + 1, sizeof *t->node_lines);
    for (uint32_t i = 0; rc == 0 && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->in_graph != GRAPH_NODE || o->api == TL_NONE)
            continue;
        struct node *new = vec_push(&nodes);
        rc = new ? 0 : -1;
        if (new)
            *new = (struct node){t->apis[o->api].start_ns, o->api, o->node, i};
    }
    rc = t->node_lines ? rc : -1;
    if (nodes.n)
        qsort(nodes.at, nodes.n, sizeof *nodes.at, by_replay);
    for (size_t i = 0, n; rc == 0 && i < nodes.n; i += n) {
        for (n = 1; i + n < nodes.n && nodes.at[i + n].api == nodes.at[i].api;)
            n++;
        rc = line_replay(c, t, &graphs, nodes.at + i, (uint32_t)n);
    }
    vec_release(&nodes);
    keymap_release(&graphs);
    return rc;
}

void captures_release(struct captures *c)
{
    vec_release(&c->at);
    vec_release(&c->calls);
}
