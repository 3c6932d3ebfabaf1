/* Finds runs of many small operations that one operation could replace, and sums them up. */
#include "analyzer/queries/kernels/piecewise.h"

#include "analyzer/facts/lines.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/kernels/functions.h"
#include "analyzer/queries/kernels/kinds.h"
#include "analyzer/queries/kernels/loops.h"
#include "analyzer/queries/open.h"
#include "analyzer/queries/waits.h"
#include "base/vec.h"
#include "wire/spool_format.h"

#include <string.h>

struct run {
    uint32_t kinds[QUERY_PIECES_KINDS]; /* what its kernels compute (functions.h); 0 for copies
                                           and memsets */
    size_t kind_count;
    uint32_t first_call, last_call, last_answer;
    int64_t length;
};

struct stretches VEC(struct line_stretch);

struct pass {
    const struct facts *f;
    bool *marks, *calls;
    int64_t fills, answers; /* marked operations that write one value, that the host reads */
    struct query_piecewise *out;
    struct stretches within;
    struct query_functions functions;
};

/* True for a copy of a number to the host, which reads it. */
static bool is_answer(const struct op *o)
{
    return o->kind == OP_COPY && o->copy_kind == COPY_D2H && o->bytes <= QUERY_ANSWER_BYTES;
}

/* True for what finds the elements that a mask selects. */
static bool selects(const struct facts *f, const struct op *o)
{
    return query_name_has(tl_text(f->tl, o->full_name),
                          "DeviceSelect|DeviceCompact|DeviceReduceSingleTile");
}

/* True for the operations that loops over parameters or rows consist of. */
static bool is_piece(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    if (o->in_graph || !query_used(f, op) || query_is_optimizer(f, op) != QUERY_NO ||
        query_is_zeroing(f, op) != QUERY_NO)
        return false;
    if (o->kind != OP_KERNEL)
        return o->kind == OP_MEMSET || o->copy_kind == COPY_D2D || is_answer(o);
    switch (o->class.family) {
    case FAMILY_ELEMENTWISE:
    case FAMILY_CAST:
    case FAMILY_REDUCE:
    case FAMILY_COPY:
    case FAMILY_FILL:
    case FAMILY_LOSS:
        return !o->class.fused;
    default:
        return selects(f, o);
    }
}

static bool known_kind(struct run *r, uint32_t kind)
{
    size_t k = 0;
    while (k < r->kind_count && r->kinds[k] != kind)
        k++;
    if (k == QUERY_PIECES_KINDS)
        return false;
    if (k == r->kind_count)
        r->kinds[r->kind_count++] = kind;
    return true;
}

static bool writes_value(const struct op *o)
{
    return o->kind == OP_MEMSET || (o->kind == OP_KERNEL && o->class.family == FAMILY_FILL);
}

/* One of the answers stays, with the wait for it: that of the one operation. */
static void mark(struct pass *p, const struct run *r)
{
    const struct timeline *t = p->f->tl;
    for (uint32_t c = r->first_call; c <= r->last_call; c++) {
        uint32_t op = t->apis[c].op;
        p->calls[c] = r->last_answer != TL_NONE && c < r->last_answer &&
                      query_call_wait(t, &t->apis[c]) == CALL_AWAITS_GPU;
        if (op == TL_NONE)
            continue;
        p->marks[op] = c != r->last_answer;
        p->fills += writes_value(&t->ops[op]);
        p->answers += is_answer(&t->ops[op]);
    }
}

static void finish(struct pass *p, struct run *r)
{
    const struct timeline *t = p->f->tl;
    /* A run with nearly as many kinds as operations does not repeat. */
    if (r->length >= QUERY_PIECES_LEAST &&
        r->length >= (int64_t)r->kind_count * QUERY_PIECES_REPEAT) {
        mark(p, r);
        p->out->runs++;
        p->out->longest_run = r->length > p->out->longest_run ? r->length : p->out->longest_run;
        struct line_stretch *s = vec_push(&p->within);
        if (s)
            *s = (struct line_stretch){t->apis[r->first_call].start_ns,
                                       t->apis[r->last_call].end_ns};
    }
    *r = (struct run){.last_answer = TL_NONE};
}

static void follow(struct pass *p, struct run *r, uint32_t call)
{
    const struct api *c = &p->f->tl->apis[call];
    if (c->op == TL_NONE) /* the call launches nothing */
        return;
    const struct op *o = &p->f->tl->ops[c->op];
    uint32_t kind = query_function_of(&p->functions, o);
    bool piece = c->ops == 1 && is_piece(p->f, c->op);
    if (!piece || !known_kind(r, kind)) {
        finish(p, r);
        if (!piece)
            return;
        known_kind(r, kind);
    }
    if (r->length++ == 0)
        r->first_call = call;
    r->last_call = call;
    if (is_answer(o))
        r->last_answer = call;
}

static enum query_take takes(const struct facts *f, uint32_t op, const void *arg)
{
    (void)f;
    return ((const bool *)arg)[op] ? QUERY_ALL : QUERY_NO;
}

/* True for loops that other rules report: zero_grad(), clipping and scaling of gradients. */
static bool in_other_loop(const char *range)
{
    return range && query_name_has(range, "zero_grad|clip_grad|GradScaler|unscale");
}

static void follow_thread(struct pass *p)
{
    const struct timeline *t = p->f->tl;
    const struct thread *th = facts_main_thread(p->f);
    struct query_open open = query_open_start(t, p->f->steps.main_thread);
    struct run r = {.last_answer = TL_NONE};
    for (uint32_t c = th->first_api; c < th->first_api + th->apis; c++) {
        query_open_until(&open, t->apis[c].start_ns);
        const char *in = open.n ? tl_text(t, t->ranges[open.at[open.n - 1]].name) : NULL;
        if (in_other_loop(in))
            finish(p, &r);
        else
            follow(p, &r, c);
    }
    finish(p, &r);
}

/* The line from which most of the marked operations are launched, in steps whose launches carry
 * lines. NULL texts: no line launches `share` of them. */
static struct line_found launched_from(const struct facts *f, struct arena *arena,
                                       const bool *marks, double share)
{
    const struct timeline *t = f->tl;
    const struct gpu_lines *g = facts_gpu_lines(f);
    int64_t *counts = arena_array(arena, g->count + 1, sizeof *counts), all = 0;
    size_t best = 0;
    for (uint32_t i = 0; counts && g->count && i < t->op_count; i++) {
        uint32_t line = marks[i] && facts_gpu_lines_sum(f, i) ? tl_op_line(t, i) : 0;
        if (!line)
            continue;
        const struct row_stack *s = &t->stacks[tl_line_stack(line)];
        size_t k = 0;
        while (k < g->count &&
               (g->at[k].number != s->line || t->stacks[g->at[k].stack].function != s->function ||
                t->stacks[g->at[k].stack].file != s->file))
            k++;
        counts[k]++;
        all++;
        best = k < g->count && counts[k] > counts[best] ? k : best;
    }
    if (all < LINES_LEAST || (double)counts[best] < share * (double)all)
        return (struct line_found){NULL, NULL};
    return (struct line_found){g->at[best].place, g->at[best].function};
}

/* Adds the backward pass of the lines that launch hardly anything but runs; in steps whose launches
 * carry no lines, the kernels of the same kinds. */
static void add_backward(struct pass *p, struct arena *arena)
{
    const struct facts *f = p->f;
    const struct timeline *t = f->tl;
    int64_t *own = arena_array(arena, t->stack_count + 1, sizeof *own);
    int64_t *held = arena_array(arena, t->stack_count + 1, sizeof *held);
    bool *back = arena_array(arena, t->op_count + 1, sizeof *back);
    for (uint32_t pass = 0; pass < 2 && own && held && back; pass++)
        for (uint32_t i = 0; i < t->op_count; i++) {
            uint32_t line = query_used(f, i) && facts_gpu_lines_sum(f, i) ? tl_op_line(t, i) : 0;
            if (!line)
                continue;
            uint32_t at = tl_line_stack(line);
            bool forward = tl_line_way(line) == SPOOL_LINE_OWN;
            own[at] += pass == 0 && forward;
            held[at] += pass == 0 && forward && p->marks[i];
            back[i] = pass == 1 && !forward && held[at] * 100 > own[at] * QUERY_ALMOST_PCT;
        }
    struct query_kinds kinds = query_kinds(f, arena, back);
    for (uint32_t i = 0; back && i < t->op_count; i++)
        p->marks[i] |= back[i] || (query_used(f, i) && !facts_gpu_lines_sum(f, i) &&
                                   query_is_optimizer(f, i) == QUERY_NO &&
                                   query_kind_is_marked(query_kind_of(f, &kinds, i)));
}

/* Adds what lines of loops launch, unless runs hold half of that already. */
static void add_loops(struct pass *p, const struct query_loops *l)
{
    int64_t held = 0;
    for (uint32_t i = 0; l->op_marks && i < p->f->tl->op_count; i++)
        held += p->marks[i] && l->op_marks[i];
    if (l->count < QUERY_PIECES_LEAST * (int64_t)p->f->steps.used || held * 2 >= l->count)
        return;
    for (uint32_t i = 0; i < p->f->tl->op_count; i++)
        p->marks[i] |= l->op_marks[i];
    p->out->visits = l->visits;
}

struct query_piecewise query_piecewise(const struct facts *f, struct arena *arena)
{
    struct query_piecewise out = {.ops.longest = TL_NONE};
    struct pass p = {.f = f, .out = &out};
    p.marks = arena_array(arena, f->tl->op_count + 1, sizeof *p.marks);
    p.calls = arena_array(arena, f->tl->api_count + 1, sizeof *p.calls);
    if (!p.marks || !p.calls || f->tl->thread_count == 0)
        return out;
    p.functions = query_functions(f, arena);
    follow_thread(&p);
    query_functions_release(&p.functions);
    if (out.runs && facts_gpu_lines(f)->count)
        add_backward(&p, arena);
    struct query_loops loops = query_loops(f, arena);
    add_loops(&p, &loops);
    if (out.runs || out.visits) {
        out.ops = query_ops_of(f, takes, p.marks);
        out.op_marks = p.marks;
        out.call_marks = p.calls;
        out.answers = p.answers;
        out.idle_ns = query_idle_before(f, p.marks);
        out.fills = p.fills * 100 > out.ops.count * QUERY_ALMOST_PCT;
        out.line = launched_from(f, arena, p.marks, out.visits ? 0 : QUERY_LINE_SHARE);
        if (!out.line.place)
            out.line = facts_line_within(f, arena, p.within.at, p.within.n);
    }
    vec_release(&p.within);
    return out;
}
