/* An optimizer that updates the parameters tensor by tensor. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/query.h"

#include <string.h>

static const char PREFIX[] = "Optimizer.step#"; /* PyTorch's range, "Optimizer.step#SGD.step" */

struct update {
    uint32_t name;   /* of its range; 0 where there is none, or several optimizers take turns */
    int64_t host_ns; /* per step: from its first launch until its range ends */
};

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

/* What to write for this optimizer: torch.optim as of PyTorch 2.6. A class of the program's own has
 * no such flag. */
static void advise(const struct facts *f, struct arena *arena, struct outcome *o,
                   const struct update *u)
{
    static const char fused[] = "=SGD|=Adam|=AdamW|=Adagrad";
    static const char foreach[] =
        "=Adadelta|=Adafactor|=Adamax|=ASGD|=NAdam|=RAdam|=RMSprop|=Rprop";
    o->setting = "optimizer=fused";
    o->remedy = o->rule->remedy;
    if (!u->name)
        return;
    const char *text = tl_text(f->tl, u->name) + sizeof PREFIX - 1;
    const char *class = arena_printf(arena, "%.*s", (int)strcspn(text, "."), text);
    if (query_name_has(class, fused)) {
        o->remedy.pytorch =
            arena_printf(arena, "torch.optim.%s(params, fused=True) (or foreach=True)", class);
    } else if (query_name_has(class, foreach)) {
        o->remedy.pytorch = arena_printf(arena, "torch.optim.%s(params, foreach=True)", class);
        o->setting = "optimizer=foreach";
    } else {
        o->remedy.pytorch =
            arena_printf(arena,
                         "in %s.step, work on lists of parameters at once (torch._foreach_add_ and "
                         "the like), or torch.compile(optimizer.step)",
                         class);
        o->setting = NULL;
    }
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_ops *ops,
                         const struct update *u)
{
    const char *rows =
        u->name ? NULL
                : "SELECT * FROM kernel_time WHERE name LIKE '%sgd%' OR name LIKE '%adam%' OR "
                  "name LIKE '%multi_tensor%'";
    outcome_evidence(o, "optimizer kernels per step", (double)each_step(f, ops->count), "count",
                     rows);
    outcome_evidence(o, "mean length",
                     ops->count ? (double)ops->busy_ns / (double)ops->count / 1e3 : 0, "us", rows);
    outcome_evidence(o, "their GPU time per step", ms(per_step(f, ops->busy_ns)), "ms", rows);
    outcome_evidence(o, "GPU idle between them per step", ms(per_step(f, ops->idle_ns)), "ms",
                     NULL);
    if (u->host_ns > 0)
        outcome_evidence(o, "the host's time for them per step", ms(u->host_ns), "ms",
                         "SELECT * FROM range_time WHERE name LIKE 'Optimizer.step#%'");
}

static void check_fused_optimizer(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_ops ops;
    bool many = query_optimizer_unfused(f, &ops);
    int64_t cost = per_step(f, ops.busy_ns + ops.idle_ns), count = each_step(f, ops.count);
    int64_t products = query_optimizer_products(f);
    o->why = arena_printf(arena, "%lld optimizer kernels per step", (long long)count);
    if (products > 0 && count >= QUERY_MANY_OPTIMIZER_OPS)
        o->why = arena_printf(arena,
                              "the optimizer computes %lld products of matrices among its %lld "
                              "kernels per step: no flag puts such an update into one kernel",
                              (long long)products, (long long)count);
    if (!many || cost * 100 < f->step_ns)
        return;
    struct update u = update_of(f);
    add_evidence(f, o, &ops, &u);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit.kind = EDIT_FUSE;
    advise(f, arena, o, &u);
    const char *host =
        arena_printf(arena, "; the host takes %s to launch them", time_text(arena, u.host_ns));
    outcome_fires(o, cost,
                  arena_printf(arena, "the optimizer runs %lld small kernels in %.1f ms per step%s",
                               (long long)count, ms(cost), u.host_ns > cost ? host : ""));
    outcome_example_op(o, f->tl, ops.longest, "longest optimizer kernel");
}

const struct rule rule_fused_optimizer = {
    .id = "fused-optimizer",
    .title = "Update all parameters in one fused kernel",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check_fused_optimizer,
    .in_window = true,
    .program = {.now = "torch.optimizer"},
    .looks_for =
        "Dozens of small optimizer kernels per step instead of a few kernels over all tensors.",
    .doc = "An update is a pass over the parameters and their state. Launched per tensor, it "
           "consists mostly of launches and half-empty kernels. A fused (or at least foreach) "
           "optimizer reads and writes everything once. Kernels count as the optimizer's by their "
           "names, or if they are launched in the range that PyTorch puts around its step (behind "
           "the backward pass of a closure). The bound is the time of these kernels and "
           "the gaps between them; one pass over the bytes remains.",
    .remedy = {"torch.optim.AdamW(params, fused=True) (or foreach=True)",
               "optimizer inside tf.function(jit_compile=True)",
               "parameters, gradients and state in flat buffers, one kernel over them"},
    .libtorch = "at::_fused_adamw_ on the lists of parameters, gradients and moments; "
                "torch::optim's own launch kernels for each parameter",
    .setting = "optimizer",
    .tips = {{"fused-optimizer", "Use a fused or multi-tensor optimizer", NULL}},
};
