/* Fires if backward passes go through work whose gradients nobody uses: an encoder of which no
 * optimizer has the weights, or whose rate is 0, a generator whose gradients are zeroed before they are
 * used. */
#include "analyzer/advice/rule.h"
#include "analyzer/facts/lines.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/training/passes.h"
#include "wire/fact_keys.h"
#include "wire/spool_format.h"

#include <string.h>

/* The operations that a backward pass launches, in order. */
struct launches {
    uint32_t *op;
    size_t n;
    bool told; /* some of them are known to be unused */
};

static bool is_unused(const struct timeline *t, uint32_t op)
{
    uint32_t line = tl_op_line(t, op);
    return line && tl_line_way(line) == SPOOL_LINE_UNUSED;
}

/* By index in passes, of steps that do not count as well. NULL: out of memory. */
static struct launches *launches_of(const struct facts *f, struct arena *arena,
                                    const struct query_passes *p)
{
    const struct timeline *t = f->tl;
    struct launches *l = arena_array(arena, p->n + 1, sizeof *l);
    uint32_t *ops = arena_array(arena, t->op_count + 1, sizeof *ops);
    if (!l || !ops)
        return NULL;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < t->op_count; i++) {
            const struct query_pass *in =
                t->ops[i].api == TL_NONE ? NULL : query_pass_at(p, t->apis[t->ops[i].api].start_ns);
            if (!in)
                continue;
            struct launches *of = &l[in - p->at];
            if (fill)
                of->op[of->n] = i;
            of->n++;
            of->told |= is_unused(t, i);
        }
        for (size_t k = 0; k < p->n && !fill; k++) {
            l[k].op = ops;
            ops += l[k].n;
            l[k].n = 0;
        }
    }
    return l;
}

static bool launch_the_same(const struct timeline *t, const struct launches *x,
                            const struct launches *y)
{
    if (x->n != y->n)
        return false;
    for (size_t i = 0; i < x->n; i++)
        if (t->ops[x->op[i]].full_name != t->ops[y->op[i]].full_name)
            return false;
    return true;
}

/* Marks what is known to be unused, and in other passes that launch the same, at the same place among
 * those of their step, the same of it. */
static void mark(const struct facts *f, const struct query_passes *p, const struct launches *l,
                 bool *ops, bool *calls)
{
    const struct timeline *t = f->tl;
    for (size_t k = 0; k < p->n; k++) {
        const struct launches *like = l[k].told ? &l[k] : NULL;
        for (size_t j = 0; j < p->n && !like; j++)
            if (l[j].told && p->at[j].number == p->at[k].number && launch_the_same(t, &l[j], &l[k]))
                like = &l[j];
        for (size_t i = 0; like && i < l[k].n; i++)
            if (is_unused(t, like->op[i]) && query_used(f, l[k].op[i])) {
                ops[l[k].op[i]] = true;
                calls[t->ops[l[k].op[i]].api] = true;
            }
    }
}

/* The line whose backward pass is most of it. */
static const char *line_of(const struct facts *f, struct arena *arena, const bool *ops)
{
    const struct timeline *t = f->tl;
    const struct gpu_lines *g = facts_gpu_lines(f);
    int64_t *ns = arena_array(arena, t->stack_count + 1, sizeof *ns), most = 0;
    const char *place = NULL;
    for (uint32_t i = 0; ns && i < t->op_count; i++)
        if (ops[i] && is_unused(t, i))
            ns[tl_line_stack(tl_op_line(t, i))] += t->ops[i].end_ns - t->ops[i].start_ns;
    for (size_t i = 0; ns && i < g->count; i++) {
        int64_t sum = 0;
        for (uint32_t k = 0; k < t->stack_count; k++)
            sum += ns[k] && t->stacks[k].file == t->stacks[g->at[i].stack].file &&
                           t->stacks[k].line == t->stacks[g->at[i].stack].line
                       ? ns[k]
                       : 0;
        if (sum > most) {
            most = sum;
            place = g->at[i].place;
        }
    }
    return place;
}

static enum query_take takes(const struct facts *f, uint32_t op, const void *marks)
{
    (void)f;
    return ((const bool *)marks)[op] ? QUERY_ALL : QUERY_NO;
}

/* GPU time of the marked work that computes gradients of weights, where others go through the same
 * nodes. */
struct beside {
    int64_t low, high;
};

/* A kernel's name may say it. Of the others half at most: gradients of the input and of the weight are
 * products of the same size. */
static struct beside of_weights(const struct facts *f, const bool *ops)
{
    struct beside ns = {0, 0};
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        const struct op *o = &f->tl->ops[i];
        const char *name = tl_text(f->tl, o->full_name);
        int64_t took = o->end_ns - o->start_ns;
        if (!ops[i] || strstr(name, "dgrad"))
            continue;
        bool named = strstr(name, "wgrad"), product = o->class.family == FAMILY_GEMM;
        ns.low += named ? took : product ? took / 2 : 0;
        ns.high += named ? took : took / 2;
    }
    return ns;
}

/* What is said of the weights, by the hook's word. */
static const char *reason(const char *why)
{
    if (why && strcmp(why, FACT_UNUSED_OWNERLESS) == 0)
        return "that no optimizer has";
    if (why && strcmp(why, FACT_UNUSED_AT_REST) == 0)
        return "whose learning rate is 0";
    return "that are zeroed before their optimizer steps";
}

static void advise(const struct facts *f, struct arena *arena, struct outcome *o, const bool *ops,
                   const bool *calls)
{
    const char *of = timeline_meta(f->tl, FACT_TORCH_GRADIENTS_UNUSED_OF);
    bool beside = of && strcmp(of, FACT_UNUSED_OF_WEIGHTS) == 0;
    struct beside part = beside ? of_weights(f, ops) : (struct beside){0, 0};
    struct query_ops work = query_ops_of(f, takes, ops);
    work.idle_ns = query_idle_before(f, ops);
    int64_t cost = per_step(f, beside ? part.high : work.busy_ns + work.idle_ns);
    const char *place = line_of(f, arena, ops);
    const char *why = timeline_meta(f->tl, FACT_TORCH_GRADIENTS_UNUSED_WHY);
    o->why = arena_printf(arena, "backward passes for gradients that nobody uses take %s %s",
                          time_text(arena, cost), scope_words(f)->per);
    if (cost * QUERY_SOME < f->step_ns)
        return;
    outcome_evidence_per(o, "GPU time of it", ms(per_step(f, work.busy_ns)), "ms",
                         "SELECT * FROM line_gpu_time WHERE way = 'unused' LIMIT 20");
    outcome_evidence_per(o, "its launches", (double)each_step(f, work.count), "count", NULL);
    o->remedy.object.place = place;
    o->remedy.conditions[CONDITION_FROZEN] = why && strcmp(why, FACT_UNUSED_ZEROED) != 0;
    o->remedy.conditions[CONDITION_PASSED_THROUGH] = beside;
    o->error_class = beside ? ERROR_RERUN_DECIDES : ERROR_STRUCTURAL;
    o->edit = (struct edit){.kind = &edit_remove,
                            .at = {.op_marks = ops, .call_marks = calls},
                            .remove = {.pauses = true}};
    if (beside)
        o->edit = (struct edit){.kind = &edit_scale,
                                .at.op_marks = ops,
                                .scale = {.good = 1 - (double)part.high / (double)work.busy_ns,
                                          .bad = 1 - (double)part.low / (double)work.busy_ns}};
    const char *backward = timeline_meta_place(f->tl, FACT_TORCH_GRADIENTS_UNUSED);
    outcome_fires(
        o, cost,
        arena_printf(arena,
                     "the backward pass at %s %s %s%s %s gradients of weights %s: %s%s of %s %s",
                     backward ? backward : "backward()", beside ? "computes in" : "goes through",
                     place ? "what is computed at " : "work", place ? place : "",
                     beside ? "also" : "for", reason(why), beside ? "at most " : "",
                     time_text(arena, cost), time_text(arena, f->step_ns), scope_words(f)->per));
    outcome_example_op(o, f->tl, work.longest, "longest of it");
}

static void check_unused_gradients(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const char *told = timeline_meta(f->tl, FACT_TORCH_GRADIENTS_UNUSED);
    if (!timeline_meta(f->tl, FACT_TORCH_VERSION)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: which weights a backward pass reaches, and which an optimizer has "
                 "(gpuprof run records both of PyTorch programs)";
        return;
    }
    o->why = "no backward pass was seen to compute gradients that nobody uses";
    if (!told || strcmp(told, "none") == 0)
        return;
    struct query_passes p = query_passes(f, arena);
    bool *ops = arena_array(arena, f->tl->op_count + 1, sizeof *ops),
         *calls = arena_array(arena, f->tl->api_count + 1, sizeof *calls);
    struct launches *l = p.at ? launches_of(f, arena, &p) : NULL;
    if (!l || !ops || !calls)
        return;
    mark(f, &p, l, ops, calls);
    advise(f, arena, o, ops, calls);
}

const struct rule rule_unused_gradients = {
    .id = "unused-gradients",
    .title = "Compute no gradients that nobody uses",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_unused_gradients,
    .looks_for = "Parts of a backward pass that lead to no weight which an optimizer has, or only "
                 "to weights whose learning rate is 0 or whose gradients are zeroed before that "
                 "optimizer steps, a tenth of the step or more in all; where there are none, "
                 "work that computes gradients of such weights beside others that are needed.",
    .doc =
        "A backward pass goes through everything that led to the loss and has weights that want a "
        "gradient. An optimizer that gets the last layers alone does not change that: the layers "
        "below still compute their gradients, also where their learning rate is 0. So do a "
        "teacher, a target network or an encoder that "
        "was not frozen, and a generator whose pictures the discriminator learns from: its "
        "gradients are zeroed before its own step. Freeze such weights, or make their forward pass "
        "without gradients: it then keeps no activations either. Where gradients of other "
        "weights go through, as those of a generator through its discriminator or of a network "
        "through the one that its loss compares with, only the weights' own gradients can go: "
        "by the names of the kernels, else half of that work, at most.",
    .remedy = {.action = ACTION_STOP_GRADIENTS, .object.kind = OBJECT_CALL},
    .tips = {{"freeze-weights", "Compute no gradients for weights that do not learn", NULL}},
};
