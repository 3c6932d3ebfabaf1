/* Fires if much of the step is forward computing that no backward pass goes back through. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/facts/lines.h"
#include "analyzer/queries/kernels/modules.h"
#include "analyzer/queries/kernels/computed.h"
#include "analyzer/queries/training/eval.h"
#include "base/keymap.h"
#include "wire/fact_keys.h"
#include "wire/spool_format.h"

#include <string.h>

/* Work of one line of the program, or of the frozen module. */
struct work {
    int64_t own_ns, backward_ns;
    int64_t inside_ns; /* the share of own_ns that is launched in a module's call */
    bool computes;     /* products, convolutions, attention */
    /* At a function's first line: the sum of its lines that are aside(), and the largest of them. */
    int64_t function_ns;
    uint32_t function_line;
};

struct pass {
    const struct facts *f;
    const bool *evaluating; /* by call: it belongs to an evaluation; NULL: none */
    struct work *lines;     /* by index in timeline.stacks, at the first row with this line */
    uint32_t *first;        /* by index in timeline.stacks: that row */
    struct work module;
    bool *marks;
    struct query_module frozen;
    struct query_computed again; /* these functions have a finding of their own (computed-again) */
    bool function;               /* it is a function's work in modules, without products */
};

static bool same_line(const struct row_stack *x, const struct row_stack *y)
{
    return x->file == y->file && x->function == y->function && x->line == y->line;
}

/* A line has a row for each module in which it runs. Lines are found by launches, which have few. */
static uint32_t first_row(struct pass *p, uint32_t stack)
{
    const struct timeline *t = p->f->tl;
    if (!p->first[stack]) {
        uint32_t i = 0;
        while (!same_line(&t->stacks[i], &t->stacks[stack]))
            i++;
        p->first[stack] = i + 1;
    }
    return p->first[stack] - 1;
}

/* The first row of the op's line; TL_NONE if it does not count. A function that was called before the
 * recording began may have no number of a line: all of the loop stands there, not one call. */
static uint32_t line_of(struct pass *p, uint32_t op)
{
    const struct op *o = &p->f->tl->ops[op];
    uint32_t line = tl_op_line(p->f->tl, op);
    size_t module;
    bool counts = line && p->f->tl->stacks[tl_line_stack(line)].line > 0 && query_used(p->f, op) &&
                  o->api != TL_NONE && query_is_optimizer(p->f, op) == QUERY_NO &&
                  !(p->evaluating && p->evaluating[o->api]) &&
                  !query_computes_again(p->f, &p->again, op, &module);
    return counts ? first_row(p, tl_line_stack(line)) : TL_NONE;
}

static void add_work(struct work *w, const struct op *o, bool own)
{
    *(own ? &w->own_ns : &w->backward_ns) += o->end_ns - o->start_ns;
    w->computes |= own && (o->class.family == FAMILY_GEMM || o->class.family == FAMILY_CONV ||
                           o->class.family == FAMILY_ATTENTION);
}

static bool in_a_module(const struct timeline *t, uint32_t line)
{
    uint32_t module = facts_module_of(t, tl_line_stack(line));
    return module != TL_NONE &&
           strcmp(tl_text(t, t->stacks[module].function), SPOOL_NO_MODULE) != 0;
}

static void sum_work(struct pass *p)
{
    const struct timeline *t = p->f->tl;
    for (uint32_t i = 0; i < t->op_count; i++) {
        uint32_t at = line_of(p, i);
        if (at == TL_NONE)
            continue;
        uint32_t line = tl_op_line(t, i);
        bool own = tl_line_way(line) == SPOOL_LINE_OWN;
        add_work(&p->lines[at], &t->ops[i], own);
        if (own && in_a_module(t, line))
            p->lines[at].inside_ns += t->ops[i].end_ns - t->ops[i].start_ns;
        if (p->frozen.name[0] && query_in_module(p->f, &p->frozen, i))
            add_work(&p->module, &t->ops[i], own);
    }
}

/* True if it computes forward, and has no backward pass. */
static bool alone(const struct work *w)
{
    return w->computes && w->backward_ns * RULES_NO_BACKWARD < w->own_ns;
}

/* The line with most such work. TL_NONE: none. */
static uint32_t largest(const struct pass *p)
{
    uint32_t best = TL_NONE;
    for (uint32_t i = 0; i < p->f->tl->stack_count; i++)
        if (alone(&p->lines[i]) && (best == TL_NONE || p->lines[i].own_ns > p->lines[best].own_ns))
            best = i;
    return best;
}

/* True for work in a module's call, without products and a backward pass: masks, positions, weights
 * that are rounded or normalised. */
static bool aside(const struct work *w)
{
    return w->inside_ns * 2 > w->own_ns && !w->computes &&
           w->backward_ns * RULES_NO_BACKWARD < w->own_ns;
}

static bool same_function(const struct pass *p, uint32_t x, uint32_t y)
{
    const struct row_stack *a = &p->f->tl->stacks[x], *b = &p->f->tl->stacks[y];
    return a->file == b->file && a->function == b->function;
}

/* The largest line of the function with most such work; *ns: the function's. TL_NONE: none. A function
 * is summed up at its first line. */
static uint32_t largest_function(const struct pass *p, int64_t *ns)
{
    struct keymap known = {0};
    uint32_t best = TL_NONE;
    *ns = 0;
    for (uint32_t i = 0; i < p->f->tl->stack_count; i++) {
        const struct row_stack *s = &p->f->tl->stacks[i];
        struct key function = {{s->file, s->function}};
        uint32_t at = keymap_get(&known, function);
        if (!aside(&p->lines[i]) || (at == KEYMAP_NONE && keymap_put(&known, function, at = i) < 0))
            continue;
        struct work *w = &p->lines[at];
        w->function_ns += p->lines[i].own_ns;
        if (w->function_ns == p->lines[i].own_ns ||
            p->lines[i].own_ns > p->lines[w->function_line].own_ns)
            w->function_line = i;
        if (w->function_ns > *ns) {
            *ns = w->function_ns;
            best = at;
        }
    }
    keymap_release(&known);
    return best == TL_NONE ? best : p->lines[best].function_line;
}

static enum query_take takes(const struct facts *f, uint32_t op, const void *marks)
{
    (void)f;
    return ((const bool *)marks)[op] ? QUERY_ALL : QUERY_NO;
}

/* True for an op at this line that belongs to what is reported. */
static bool belongs(const struct pass *p, uint32_t op, uint32_t at, uint32_t most)
{
    if (most == TL_NONE)
        return query_in_module(p->f, &p->frozen, op);
    return at == most || (p->function && aside(&p->lines[at]) && same_function(p, at, most));
}

/* True if most of the line's work is that of the module, which gets the same tensors again: its other
 * calls may have a backward pass. */
static bool is_same_again(struct pass *p, const struct query_module *m, uint32_t line)
{
    int64_t in = 0, all = 0;
    for (uint32_t i = 0; m->same_input && i < p->f->tl->op_count; i++) {
        if (line_of(p, i) != line)
            continue;
        const struct op *o = &p->f->tl->ops[i];
        all += o->end_ns - o->start_ns;
        in += query_in_module(p->f, m, i) ? o->end_ns - o->start_ns : 0;
    }
    return all > 0 && in * 2 > all;
}

/* Marks the work of the frozen module, if it has no backward pass, else that of the largest line
 * without one, or of a function. *most: that line, TL_NONE for the module. False: there is none. */
static bool mark(struct pass *p, uint32_t *most)
{
    bool module = alone(&p->module);
    int64_t ns;
    *most = module ? TL_NONE : largest(p);
    if (!module) {
        uint32_t function = largest_function(p, &ns);
        struct query_module frozen = p->frozen;
        p->frozen = (struct query_module){.name = ""};
        p->function = function != TL_NONE && (*most == TL_NONE || ns > p->lines[*most].own_ns);
        *most = p->function ? function : *most;
        if (*most != TL_NONE && !p->function && is_same_again(p, &frozen, *most))
            p->frozen = frozen;
    }
    for (uint32_t i = 0; i < p->f->tl->op_count && (module || *most != TL_NONE); i++) {
        uint32_t at = line_of(p, i);
        p->marks[i] = at != TL_NONE && belongs(p, i, at, *most);
    }
    return module || *most != TL_NONE;
}

/* True if some line has a backward pass: else nothing is trained here. Passes of compiled code go back
 * through one call, so there the line must compute forward, too. */
static bool trains(const struct pass *p)
{
    bool compiled = timeline_meta(p->f->tl, FACT_TORCH_COMPILE);
    for (uint32_t i = 0; i < p->f->tl->stack_count; i++)
        if (p->lines[i].backward_ns > 0 && (!compiled || p->lines[i].computes))
            return true;
    return false;
}

/* "train.py:9" */
static const char *place_of(const struct facts *f, uint32_t stack)
{
    const struct gpu_lines *g = facts_gpu_lines(f);
    const struct row_stack *s = &f->tl->stacks[stack];
    for (size_t i = 0; i < g->count; i++)
        if (same_line(&f->tl->stacks[g->at[i].stack], s))
            return g->at[i].place;
    return NULL;
}

static const char *summary(const struct facts *f, struct arena *arena, const struct pass *p,
                           const char *place, int64_t cost)
{
    const char *what =
        p->frozen.name[0]
            ? arena_printf(arena, "the forward pass of %s, which does not learn%s", p->frozen.name,
                           p->frozen.same_input ? ", some of it for the same tensor again" : "")
        : p->function ? "work within modules that no backward pass goes back through"
                      : "forward computing that no backward pass goes back through";
    return arena_printf(arena, "%s of %s %s are %s%s%s", time_text(arena, cost),
                        time_text(arena, f->step_ns), scope_words(f)->per, what,
                        place ? ", at " : "", place ? place : "");
}

static bool cannot_tell(const struct facts *f, struct outcome *o)
{
    if (facts_gpu_lines(f)->count > 0)
        return false;
    o->verdict = RULE_CANNOT_TELL;
    o->why = "not recorded: from which lines work comes, and which of them have a backward pass "
             "(gpuprof run records it of PyTorch programs)";
    return true;
}

static void check_forward_only(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t evaluations;
    struct pass p = {.f = f,
                     .frozen = query_module_of(f->tl, FACT_TORCH_MODULES_FROZEN),
                     .again = query_computed(f, arena)};
    uint32_t most;
    if (cannot_tell(f, o))
        return;
    p.evaluating = query_evaluating(f, arena, &evaluations);
    p.lines = arena_array(arena, f->tl->stack_count + 1, sizeof *p.lines);
    p.first = arena_array(arena, f->tl->stack_count + 1, sizeof *p.first);
    p.marks = arena_array(arena, f->tl->op_count + 1, sizeof *p.marks);
    o->why = "nearly all forward computing has a backward pass";
    if (!p.lines || !p.first || !p.marks)
        return;
    sum_work(&p);
    if (!trains(&p) || !mark(&p, &most))
        return;
    struct query_ops ops = query_ops_of(f, takes, p.marks);
    int64_t cost = per_step(f, ops.busy_ns + ops.idle_ns);
    if (cost * QUERY_SOME < f->step_ns)
        return;
    const char *place = p.frozen.name[0] ? p.frozen.place : place_of(f, most);
    outcome_evidence_per(o, "its GPU time", ms(per_step(f, ops.busy_ns)), "ms",
                         "SELECT * FROM line_gpu_time LIMIT 20");
    outcome_evidence_per(o, "its launches", (double)each_step(f, ops.count), "count", NULL);
    o->remedy.object.place = place;
    if (p.frozen.same_input)
        o->title = arena_printf(arena, "Keep what %s computes from the same input", p.frozen.name);
    else if (!p.frozen.name[0])
        o->title = p.function ? "Compute less often what no gradient goes through"
                              : "Look at forward work without a backward pass";
    o->remedy.conditions[CONDITION_IN_MODULES] = p.function;
    o->remedy.conditions[CONDITION_FROZEN] = p.frozen.name[0];
    o->remedy.conditions[CONDITION_SAME_INPUT] = p.frozen.same_input;
    o->error_class = ERROR_RERUN_DECIDES; /* how much of it recurs is not known */
    o->edit = (struct edit){.kind = &edit_remove, .at.op_marks = p.marks, .best_case = true};
    outcome_fires(o, cost, summary(f, arena, &p, place, cost));
    outcome_example_op(o, f->tl, ops.longest, "longest of it");
}

const struct rule rule_forward_only = {
    .id = "forward-only",
    .title = "Compute once what does not learn",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_forward_only,
    .looks_for = "Lines or modules with products, convolutions or attention in the forward pass "
                 "and no work in the backward pass, a tenth of the step in all; modules of which "
                 "no weight learns and no weight or buffer is written.",
    .doc =
        "An encoder that does not learn gives the same result for the same input, in each step "
        "or in each epoch: kept, its output costs a copy. A second forward pass whose result "
        "nobody uses can go. A teacher, a target network or the scores before an update need "
        "their forward pass where their weights or inputs change; the saving is a bound, since "
        "the recording does not show which samples come again. Evaluation does not count. Work "
        "inside modules without products, such as masks, angles of positions or weights that are "
        "rounded, often depends on no batch, or on weights alone, which only the optimizer "
        "changes; layers and micro-batches compute it anew.",
    .remedy = {.action = ACTION_KEEP_RESULTS, .object.kind = OBJECT_CALL},
    .tips = {{"frozen-features", "Compute the features of a frozen encoder once", NULL}},
};
