/* Fires if the optimizer updates the parameters tensor by tensor, or in one pass per operation. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"
#include "wire/fact_keys.h"

#include <stdio.h>
#include <string.h>

/* of PyTorch's range, e.g. "Optimizer.step#SGD.step" */
static const char PREFIX[] = "Optimizer.step#";

struct update {
    uint32_t name;   /* of its range; 0: there is none, or several optimizers alternate */
    int64_t host_ns; /* per step, from the first launch to the range's end */
};

/* Sums the host's time in the ranges of the optimizer's steps. */
static struct update update_of(const struct facts *f)
{
    struct update u = {0, 0};
    bool several = false;
    for (size_t i = 0; i < f->tl->range_count; i++) {
        const struct range *r = &f->tl->ranges[i];
        if (strncmp(tl_text(f->tl, r->name), PREFIX, sizeof PREFIX - 1) != 0 ||
            (!analysis_of_window(f) && query_step_at(f, r->start_ns) == TL_NONE))
            continue;
        several |= u.name && u.name != r->name;
        u.name = r->name;
        u.host_ns += r->end_ns - timeline_update_start(f->tl, r);
    }
    u.name = several ? 0 : u.name;
    u.host_ns = per_step(f, u.host_ns);
    return u;
}

/* classes of torch.optim with fused=True, as of PyTorch 2.6 */
static const char fused_classes[] = "=SGD|=Adam|=AdamW|=Adagrad";

/* Returns the optimizer as the hook recorded it, e.g. "AdamW(fused=None)", or NULL if it recorded
 * none or several classes. */
static const char *hooked_optimizer(const struct timeline *t)
{
    const char *one = NULL;
    for (size_t i = 0; i < t->meta_count; i++) {
        if (strcmp(tl_text(t, t->metas[i].key), FACT_TORCH_OPTIMIZER) != 0)
            continue;
        const char *text = tl_text(t, t->metas[i].value);
        if (one && strncmp(one, text, strcspn(text, "(") + 1) != 0)
            return NULL;
        one = text;
    }
    return one;
}

/* Returns the optimizer's class, e.g. "AdamW", from the range or the hook. NULL: not known, or no
 * memory. */
static const char *class_of(const struct facts *f, struct arena *arena, const struct update *u)
{
    const char *text =
        u->name ? tl_text(f->tl, u->name) + sizeof PREFIX - 1 : hooked_optimizer(f->tl);
    return text ? arena_printf(arena, "%.*s", (int)strcspn(text, ".("), text) : NULL;
}

/* True if the optimizer holds most parameters in groups of their own, of which many have the same
 * settings: it works group by group, and so launches all of its kernels for each. */
static bool scattered_groups(const struct facts *f, long long *groups, long long *kinds)
{
    const char *text = timeline_meta(f->tl, FACT_TORCH_OPTIMIZER_GROUPS);
    const char *weights = timeline_meta(f->tl, FACT_TORCH_PARAMETERS);
    long long tensors;
    return text && weights && sscanf(text, "%lld of %lld kinds", groups, kinds) == 2 &&
           sscanf(weights, "%lld tensors", &tensors) == 1 && *groups * 2 > tensors &&
           *groups >= RULES_GROUPS_A_KIND * *kinds;
}

/* Chooses the remedy for this optimizer. A class written by the user has no flag for it. */
static void advise(const struct facts *f, struct arena *arena, struct outcome *o,
                   const struct update *u)
{
    static const char foreach[] =
        "=Adadelta|=Adafactor|=Adamax|=ASGD|=NAdam|=RAdam|=RMSprop|=Rprop";
    const char *class = class_of(f, arena, u);
    if (!class)
        return;
    remedy_text(&o->remedy, PARAM_OPTIMIZER, class);
    if (!query_name_has(class, fused_classes))
        o->remedy.action =
            query_name_has(class, foreach) ? ACTION_UPDATE_BY_LISTS : ACTION_WRITE_UPDATE_BY_LISTS;
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_ops *ops,
                         const struct update *u)
{
    const char *rows =
        u->name ? NULL
                : "SELECT * FROM kernel_time WHERE name LIKE '%sgd%' OR name LIKE '%adam%' OR "
                  "name LIKE '%multi_tensor%'";
    outcome_evidence_per(o, "optimizer kernels", (double)each_step(f, ops->count), "count", rows);
    outcome_evidence(o, "mean length",
                     ops->count ? (double)ops->busy_ns / (double)ops->count / 1e3 : 0, "us", rows);
    outcome_evidence_per(o, "their GPU time", ms(per_step(f, ops->busy_ns)), "ms", rows);
    outcome_evidence_per(o, "GPU idle between them", ms(per_step(f, ops->idle_ns)), "ms", NULL);
    if (u->host_ns > 0)
        outcome_evidence_per(o, "the host's time for them", ms(u->host_ns), "ms",
                             "SELECT * FROM range_time WHERE name LIKE 'Optimizer.step#%'");
}

static bool updates_by_lists(const struct facts *f, uint32_t op)
{
    const char *name = tl_text(f->tl, f->tl->ops[op].full_name);
    return f->tl->ops[op].in_update && query_is_optimizer(f, op) != QUERY_NO &&
           strstr(name, "multi_tensor_apply") && !strstr(name, "Fused") && !strstr(name, "fused");
}

/* SGD without momentum is a single operation, so there is nothing to join. */
static bool several_operations(const struct facts *f)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        if (!query_used(f, i) || !updates_by_lists(f, i))
            continue;
        if (first && f->tl->ops[i].full_name != first)
            return true;
        first = f->tl->ops[i].full_name;
    }
    return false;
}

static enum query_take pick_lists(const struct facts *f, uint32_t op)
{
    return updates_by_lists(f, op) ? QUERY_BUSY : QUERY_NO;
}

/* PyTorch's foreach updates pass over all parameters once for each operation. AdamW reads and
 * writes twenty values of a parameter, fused seven; SGD with momentum eleven or eight, fused five.
 * Returns true if the program does this and fusing is worth it. */
static bool by_lists(const struct facts *f, struct arena *arena, const struct query_ops *all,
                     struct outcome *o)
{
    struct update u = update_of(f);
    struct query_ops ops = query_ops(f, pick_lists);
    const char *class = class_of(f, arena, &u);
    if (!class || !query_name_has(class, fused_classes) ||
        ops.busy_ns * 100 < all->busy_ns * RULES_LISTS_PCT || !several_operations(f))
        return false;
    struct limit_span left = strncmp(class, "Adam", 4) == 0 ? RULES_FUSED_ADAM : RULES_FUSED_SGD;
    int64_t each = per_step(f, ops.busy_ns);
    if ((double)each * (1 - (left.good + left.bad) / 2) * QUERY_WORTH < (double)f->step_ns)
        return false;
    add_evidence(f, o, &ops, &u);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){
        .kind = &edit_scale, .at.ops = updates_by_lists, .scale = {left.good, left.bad}};
    remedy_text(&o->remedy, PARAM_OPTIMIZER, class);
    o->remedy.conditions[CONDITION_BY_LISTS] = true;
    outcome_fires(o, (int64_t)((double)each * (1 - left.good)),
                  arena_printf(arena,
                               "the optimizer runs %lld kernels in %s %s: each of its "
                               "operations passes over all parameters once more (foreach)",
                               (long long)each_step(f, ops.count), time_text(arena, each),
                               scope_words(f)->per));
    outcome_example_op(o, f->tl, ops.longest, "longest optimizer kernel");
    return true;
}

/* More kernels at once help little where each group has few parameters. */
static const char *regroup(struct arena *arena, struct outcome *o, long long groups,
                           long long kinds)
{
    o->title = "Put parameters of the same settings into one group";
    o->remedy.action = ACTION_MERGE_GROUPS;
    outcome_evidence(o, "groups of parameters", (double)groups, "count",
                     "SELECT * FROM fact WHERE key = 'torch.optimizer.groups'");
    outcome_evidence(o, "different settings of them", (double)kinds, "count", NULL);
    return arena_printf(arena,
                        ": it works group by group, and has %lld groups with %lld different "
                        "setting%s",
                        groups, kinds, kinds == 1 ? "" : "s");
}

static void check_fused_optimizer(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_ops ops;
    long long groups, kinds;
    bool scattered = scattered_groups(f, &groups, &kinds);
    bool many = query_optimizer_unfused(f, &ops);
    int64_t cost = per_step(f, ops.busy_ns + ops.idle_ns), count = each_step(f, ops.count);
    int64_t products = query_optimizer_products(f);
    o->why =
        arena_printf(arena, "%lld optimizer kernels %s", (long long)count, scope_words(f)->per);
    if (products > 0 && count >= QUERY_MANY_OPTIMIZER_OPS)
        o->why = arena_printf(arena,
                              "the optimizer computes %lld products of matrices among its %lld "
                              "kernels %s: no flag puts such an update into one kernel",
                              (long long)products, (long long)count, scope_words(f)->per);
    if ((!scattered && by_lists(f, arena, &ops, o)) || !many || cost * QUERY_WORTH < f->step_ns)
        return;
    struct update u = update_of(f);
    add_evidence(f, o, &ops, &u);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = &edit_fuse, .fuse.loop = scattered};
    advise(f, arena, o, &u);
    const char *grouped = scattered ? regroup(arena, o, groups, kinds) : "";
    const char *host =
        arena_printf(arena, "; the host takes %s to launch them", time_text(arena, u.host_ns));
    outcome_fires(o, cost,
                  arena_printf(arena, "the optimizer runs %lld small kernels in %s %s%s%s",
                               (long long)count, time_text(arena, cost), scope_words(f)->per,
                               u.host_ns > cost ? host : "", grouped));
    outcome_example_op(o, f->tl, ops.longest, "longest optimizer kernel");
}

const struct rule rule_fused_optimizer = {
    .id = "fused-optimizer",
    .title = "Update all parameters in one fused kernel",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check_fused_optimizer,
    .cheaper = true,
    .in_window = true,
    .program = {.now = FACT_TORCH_OPTIMIZER},
    .looks_for =
        "Dozens of small optimizer kernels per step instead of a few kernels over all tensors, or "
        "a few that pass over all of them again and again.",
    .doc = "An update is a pass over the parameters and their state. Launched per tensor, it "
           "consists mostly of launches and half-empty kernels. A foreach optimizer takes a few "
           "kernels for all tensors, and passes over them once for each of its operations: AdamW "
           "reads and writes twenty values of a parameter, a fused one seven. Both take the "
           "parameters of one group at once: with a group for each parameter every group has "
           "launches of its own. Kernels count as the optimizer's by their names, or if they are "
           "launched in the range that PyTorch puts around its step (behind the backward pass of a "
           "closure). The bound is the time of these kernels and the gaps between them; one pass "
           "over the bytes remains. Of a foreach update 0.35 to 0.8 of the time remain (SGD and "
           "Adagrad: 0.45 to all): two programs published what fused=True "
           "saved them, about half of it.",
    .remedy = {.action = ACTION_FUSE_OPTIMIZER, .object.kind = OBJECT_PARAMETERS},
    .tips = {{"fused-optimizer", "Use a fused or multi-tensor optimizer", NULL}},
};
