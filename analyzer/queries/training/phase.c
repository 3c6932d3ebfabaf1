/* Finds parts of a step by name, and what they cost. */
#include "analyzer/queries/training/phase.h"

#include "analyzer/queries/waits.h"

#include <string.h>

/* PyTorch's clip_grad_norm_ as a loop and with foreach, apex, DeepSpeed, TensorFlow's
 * clip_by_global_norm, and ranges that programs name themselves. */
const struct phase_names phase_clipping = {
    .kernels = "gradient_norm|grad_norm|gradient_clip|clip_grad|LpNorm|NormTwoOps|NormOps|l2norm|"
               "L2Norm|multi_tensor_norm",
    .ranges = "clip_grad|clip_by_global_norm|gradient_clip|grad_clip|ClipGrad|=clip"};

/* torch.amp.GradScaler and apex's amp. */
const struct phase_names phase_scaling = {
    .kernels = "check_finite|non_finite_check|amp_unscale|update_scale|multi_tensor_unscale",
    .ranges = "GradScaler|unscale_|grad_scaler|loss_scal|=scaler"};

/* Reentrant checkpointing runs the forward pass again inside its own backward function; the
 * backward pass of that forward pass, also inside, is not recomputing. */
const struct phase_names phase_recompute = {
    .ranges = "CheckpointFunctionBackward|recompute|Recompute|rematerial",
    .not_inside = "autograd::engine::evaluate_function"};

enum mark { MARK_UNSEEN, MARK_NO, MARK_YES, MARK_OTHER };

/* Which names belong to the phase, by string id. */
struct names {
    const struct facts *a;
    const struct phase_names *of;
    uint8_t *kernel, *range; /* enum mark, filled when a name is first met */
};

/* A Python frame's name without its file: "recompute.py(16): forward" must not count
 * because of the file's name. */
static const char *without_file(const char *name)
{
    const char *behind = strstr(name, ".py(");
    const char *function = behind ? strstr(behind, "): ") : NULL;
    return function ? function + 3 : name;
}

static enum mark range_mark(const struct names *n, uint32_t name)
{
    if (n->range[name] == MARK_UNSEEN) {
        const char *text = without_file(tl_text(n->a->tl, name));
        bool other = n->of->not_inside && query_name_has(text, n->of->not_inside);
        bool inside = n->of->ranges && query_name_has(text, n->of->ranges);
        n->range[name] = inside ? MARK_YES : other ? MARK_OTHER : MARK_NO;
    }
    return (enum mark)n->range[name];
}

static bool kernel_named(const struct names *n, const struct op *o)
{
    if (o->kind != OP_KERNEL || !n->of->kernels)
        return false;
    uint8_t *mark = &n->kernel[o->full_name];
    if (*mark == MARK_UNSEEN)
        *mark =
            query_name_has(tl_text(n->a->tl, o->full_name), n->of->kernels) ? MARK_YES : MARK_NO;
    return *mark == MARK_YES;
}

/* ---- which calls lie inside ---- */

enum { DEEPEST = 64 };

struct inside { /* marked ranges that are open at the thread's current call */
    struct {
        int64_t end_ns;
        enum mark mark;
    } open[DEEPEST];
    int depth;
};

static void open_and_close(struct inside *in, const struct names *n, uint32_t *next, uint32_t end,
                           int64_t now_ns)
{
    const struct range *r = n->a->tl->ranges;
    for (; *next < end && r[*next].start_ns <= now_ns; ++*next) {
        enum mark mark = range_mark(n, r[*next].name);
        if (mark == MARK_NO || r[*next].end_ns <= now_ns)
            continue;
        while (in->depth > 0 && in->open[in->depth - 1].end_ns <= r[*next].start_ns)
            in->depth--;
        if (in->depth < DEEPEST) {
            in->open[in->depth].end_ns = r[*next].end_ns;
            in->open[in->depth++].mark = mark;
        }
    }
    while (in->depth > 0 && in->open[in->depth - 1].end_ns <= now_ns)
        in->depth--;
}

static bool *no_marks(struct arena *arena, size_t n)
{
    return arena_array(arena, n + 1, sizeof(bool));
}

/* By call: it lies in a range of the phase. NULL: out of memory. Ranges and calls are
 * sorted by thread and start. */
static bool *calls_inside(const struct facts *f, struct arena *arena, const struct names *n)
{
    const struct timeline *t = f->tl;
    bool *yes = no_marks(arena, t->api_count);
    if (!yes)
        return NULL;
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct thread *th = &t->threads[i];
        struct inside in = {.depth = 0};
        uint32_t next = th->first_range, end = th->first_range + th->ranges;
        for (uint32_t c = th->first_api; c < th->first_api + th->apis; c++) {
            open_and_close(&in, n, &next, end, t->apis[c].start_ns);
            yes[c] = in.depth > 0 && in.open[in.depth - 1].mark == MARK_YES;
        }
    }
    return yes;
}

/* ---- what belongs to the phase ---- */

struct belongs {
    const struct names *names;
    const bool *inside; /* by call */
    bool *marks;        /* by op */
};

static enum query_take takes(const struct facts *f, uint32_t op, const void *arg)
{
    const struct belongs *b = arg;
    const struct op *o = &f->tl->ops[op];
    b->marks[op] = kernel_named(b->names, o) || (o->api != TL_NONE && b->inside[o->api]);
    if (!b->marks[op])
        return QUERY_NO;
    uint32_t before = query_before(f->tl, op); /* idle time before the first operation of the
                                                  phase does not belong to it */
    return before != TL_NONE && b->marks[before] ? QUERY_ALL : QUERY_BUSY;
}

static void count_waits(const struct facts *f, const bool *inside, bool *marks,
                        struct query_phase *p)
{
    const struct timeline *t = f->tl;
    for (uint32_t i = 0; i < t->api_count; i++) {
        const struct api *c = &t->apis[i];
        if (!inside[i] || query_call_wait(t, c) != CALL_AWAITS_GPU ||
            query_step_at(f, c->start_ns) == TL_NONE)
            continue;
        p->syncs++;
        marks[i] = true;
        if (p->wait == TL_NONE ||
            c->end_ns - c->start_ns > t->apis[p->wait].end_ns - t->apis[p->wait].start_ns)
            p->wait = i;
    }
}

static void sum_idle(const struct names *n, const bool *inside, struct query_phase *p)
{
    const struct facts *a = n->a;
    for (size_t i = 0; i < a->gap_count; i++) {
        const struct gap *g = &a->gaps[i];
        if (g->step == TL_NONE || !a->steps.at[g->step].used)
            continue;
        if ((g->api != TL_NONE && inside[g->api]) ||
            (g->range != TL_NONE && range_mark(n, a->tl->ranges[g->range].name) == MARK_YES))
            p->sync_ns += gap_ns(a, g, PART_IDLE_SYNC);
    }
}

struct query_phase query_phase(const struct facts *f, struct arena *arena,
                               const struct phase_names *of)
{
    struct query_phase p = {.ops.longest = TL_NONE, .wait = TL_NONE};
    size_t strings = f->tl->strings.n;
    struct names n = {f, of, arena_array(arena, strings + 1, 1),
                      arena_array(arena, strings + 1, 1)};
    if (!n.kernel || !n.range)
        return p;
    memset(n.kernel, MARK_UNSEEN, strings + 1);
    memset(n.range, MARK_UNSEEN, strings + 1);
    const bool *inside = calls_inside(f, arena, &n);
    bool *ops = no_marks(arena, f->tl->op_count), *calls = no_marks(arena, f->tl->api_count);
    if (!inside || !ops || !calls)
        return p;
    const struct belongs b = {&n, inside, ops};
    p.op_marks = ops;
    p.wait_marks = calls;
    p.call_marks = inside;
    p.ops = query_ops_of(f, takes, &b);
    count_waits(f, inside, calls, &p);
    sum_idle(&n, inside, &p);
    return p;
}
