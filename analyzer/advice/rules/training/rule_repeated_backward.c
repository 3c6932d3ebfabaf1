/* Fires if a step takes several backward passes through the same graph, one for each loss. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/training/passes.h"
#include "wire/fact_keys.h"

#include <stdlib.h>
#include <string.h>

/* An operation in a pass. */
struct work {
    uint32_t step, name, number, op;
};

static int by_kernel(const void *a, const void *b)
{
    const struct work *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* Of each kernel in a step: what other passes launch of it, up to as many as the one pass that launches
 * most of them, would be launched once. */
static void mark_kernel(const struct facts *f, const struct work *w, size_t n, bool *ops,
                        bool *calls)
{
    size_t most = 0, best = 0;
    for (size_t i = 0, next; i < n; i = next) {
        next = i;
        while (next < n && w[next].number == w[i].number)
            next++;
        if (next - i > most) {
            most = next - i;
            best = i;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (i < best || i >= best + most) {
            ops[w[i].op] = true;
            calls[f->tl->ops[w[i].op].api] = true;
        }
}

static bool mark(const struct facts *f, struct arena *arena, const struct query_passes *p,
                 bool *ops, bool *calls)
{
    const struct timeline *t = f->tl;
    struct work *all = arena_array(arena, t->op_count + 1, sizeof *all);
    size_t n = 0;
    for (uint32_t i = 0; all && i < t->op_count; i++) {
        uint32_t api = t->ops[i].api;
        const struct query_pass *in =
            api == TL_NONE || !query_used(f, i) || t->ops[i].kind != OP_KERNEL
                ? NULL
                : query_pass_at(p, t->apis[api].start_ns);
        if (in)
            all[n++] = (struct work){in->step, t->ops[i].full_name, in->number, i};
    }
    if (!all)
        return false;
    if (n)
        qsort(all, n, sizeof *all, by_kernel);
    for (size_t i = 0, next; i < n; i = next) {
        next = i;
        while (next < n && all[next].step == all[i].step && all[next].name == all[i].name)
            next++;
        mark_kernel(f, all + i, next - i, ops, calls);
    }
    return true;
}

static enum query_take takes(const struct facts *f, uint32_t op, const void *marks)
{
    (void)f;
    return ((const bool *)marks)[op] ? QUERY_ALL : QUERY_NO;
}

/* Without a GPU the passes take the same time each, of which the share of the nodes is computed again. */
static void check_on_cpu(const struct facts *f, struct arena *arena, struct outcome *o,
                         const char *told)
{
    long long times = strtoll(told, NULL, 10), pct = strtoll(strchr(told, ',') + 1, NULL, 10);
    int64_t each = query_passes_each(f, arena);
    o->why = each < 2 ? "no step takes several backward passes"
                      : "backward passes go through the graphs of earlier steps (growing-graph)";
    if (each < 2 || times > each)
        return;
    int64_t ns = f->breakdown_ns[PART_BACKWARD];
    int64_t cost = (int64_t)((double)ns * (double)(each - 1) / (double)each * (double)pct / 100);
    outcome_evidence(o, "backward passes through one graph", (double)times, "count", NULL);
    outcome_evidence(o, "of such a pass's nodes were passed before", (double)pct, "%", NULL);
    outcome_evidence_per(o, "backward passes", ms(ns), "ms", NULL);
    o->remedy.object.place = timeline_meta_place(f->tl, FACT_TORCH_BACKWARD_AGAIN);
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "up to %lld backward passes go through one graph, %lld %% of it "
                               "again each time, at %s: "
                               "of the %s %s that they take, %s is computed again",
                               times, pct,
                               o->remedy.object.place ? o->remedy.object.place : "backward()",
                               time_text(arena, ns), scope_words(f)->per, time_text(arena, cost)));
}

static void check_repeated_backward(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const char *told = timeline_meta(f->tl, FACT_TORCH_BACKWARD_AGAIN);
    const char *comma = told ? strchr(told, ',') : NULL;
    if (!told && !timeline_meta(f->tl, FACT_TORCH_VERSION)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: which backward passes keep their graph (gpuprof run records it of "
                 "PyTorch programs)";
        return;
    }
    o->why = "no backward pass was seen that goes through a graph again";
    if (!comma)
        return;
    if (f->on_cpu) {
        check_on_cpu(f, arena, o, told);
        return;
    }
    struct query_passes p = query_passes(f, arena);
    bool *ops = arena_array(arena, f->tl->op_count + 1, sizeof *ops),
         *calls = arena_array(arena, f->tl->api_count + 1, sizeof *calls);
    if (!p.at || !ops || !calls || !mark(f, arena, &p, ops, calls))
        return;
    struct query_ops again = query_ops_of(f, takes, ops);
    again.idle_ns = query_idle_before(f, ops);
    int64_t cost = per_step(f, again.busy_ns + again.idle_ns);
    long long times = strtoll(told, NULL, 10), pct = strtoll(comma + 1, NULL, 10);
    o->why = arena_printf(arena, "passes through a graph that was passed before take %s %s",
                          time_text(arena, cost), scope_words(f)->per);
    if (cost * QUERY_SOME < f->step_ns)
        return;
    outcome_evidence(o, "backward passes through one graph", (double)times, "count", NULL);
    outcome_evidence(o, "of such a pass's nodes were passed before", (double)pct, "%", NULL);
    outcome_evidence_per(o, "GPU time of what is computed again", ms(per_step(f, again.busy_ns)),
                         "ms", "SELECT * FROM line_gpu_time LIMIT 20");
    o->remedy.object.place = timeline_meta_place(f->tl, FACT_TORCH_BACKWARD_AGAIN);
    o->error_class = ERROR_STRUCTURAL;
    o->edit = (struct edit){.kind = &edit_remove,
                            .at = {.op_marks = ops, .call_marks = calls},
                            .remove = {.pauses = true}};
    outcome_fires(
        o, cost,
        arena_printf(arena,
                     "up to %lld backward passes go through one graph, %lld %% of it "
                     "again each time, at %s: what they launch again takes %s of %s %s",
                     times, pct, o->remedy.object.place ? o->remedy.object.place : "backward()",
                     time_text(arena, cost), time_text(arena, f->step_ns), scope_words(f)->per));
    outcome_example_op(o, f->tl, again.longest, "longest of it");
}

const struct rule rule_repeated_backward = {
    .id = "repeated-backward",
    .title = "Sum the losses, and go back once",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_repeated_backward,
    .asks_cpu = true,
    .looks_for = "Backward passes that keep their graph and share nodes with the next, and what "
                 "they launch again, a tenth of the step or more in all; on a CPU by their nodes.",
    .doc = "backward(retain_graph=True) for each loss goes back through what the losses share once "
           "for each of them. The gradient of a sum is the sum of the gradients: one backward pass "
           "from the sum gives the same, and goes through each part once. Where the gradients of "
           "single losses are needed (to balance them, or to project one off another) they need "
           "one pass each: take them with torch.autograd.grad() for the last shared layer alone. "
           "The hook compares the numbers of the graph's nodes, in the first passes that keep it; "
           "kernels of the same name in another pass of the step count as computed again.",
    .remedy = {.action = ACTION_SUM_LOSSES, .object.kind = OBJECT_CALL},
    .tips = {{"one-backward", "Go back once, from the sum of the losses", NULL}},
};
