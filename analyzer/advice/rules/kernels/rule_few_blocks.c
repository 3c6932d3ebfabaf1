/* Fires if kernels cannot fill the GPU: they have fewer blocks than multiprocessors, or blocks of a
 * few threads. Other kernels that run at the same time count as filling it. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"

#include <stdlib.h>

enum {
    WARP = 32, /* threads that execute the same instruction */
    WARPS = 4  /* warps that a multiprocessor serves at once, one per scheduler */
};

/* Returns the share of the GPU's lanes that the kernel can keep busy, or 1 if its launch is not
 * known. */
static double filled(const struct facts *f, const struct op *o)
{
    double blocks = (double)o->grid[0] * o->grid[1] * o->grid[2];
    int64_t threads = (int64_t)o->block[0] * o->block[1] * o->block[2];
    int64_t warps = (threads + WARP - 1) / WARP;
    if (blocks <= 0 || threads <= 0 || o->in_graph == GRAPH_WHOLE)
        return 1;
    double at_once = blocks * (double)(warps < WARPS ? warps : WARPS);
    double share = at_once / ((double)f->device->sm_count * WARPS);
    return (share < 1 ? share : 1) * (double)threads / (double)(warps * WARP);
}

/* Returns true for kernels of cuDNN, cuBLAS and CUTLASS, which choose their blocks by sizes that a
 * program can rarely change except by its batch (rule batch-size). Persistent kernels start few
 * blocks on purpose. */
static bool library_cuts(const struct facts *f, const struct op *o)
{
    return o->class.pass != PASS_NONE ||
           query_name_has(tl_text(f->tl, o->full_name),
                          "cudnn|cublas|cutlass|xmma|nvjet|ampere_|volta_|turing_|maxwell_|hopper_|"
                          "ersist|flash_|fmha");
}

/* Collectives do not count: they use few blocks on purpose, since they wait for other ranks. */
static bool is_small(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return o->class.family != FAMILY_COMM && o->end_ns - o->start_ns >= RULES_SHORT_KERNEL_NS &&
           filled(f, o) * 100 <= RULES_FILLED_PCT && query_used(f, op) && !library_cuts(f, o);
}

/* A kernel that runs at the scan's present time. A GPU runs at most 128 kernels at once. */

struct running {
    uint32_t op;
    double filled;
    bool small;
};
struct scan {
    const struct facts *f;
    struct running at[128];
    size_t n;
    int64_t now_ns;
    /* By name: time of its small launches, times the share of the GPU that is empty meanwhile. */
    double *empty_ns;
    double all_ns;
};

/* Charges the empty share of the time until `until_ns` to the small kernels that run in it, in
 * equal parts. */
static void pass_time(struct scan *s, int64_t until_ns)
{
    double sum = 0, small = 0, ns = (double)(until_ns - s->now_ns);
    for (size_t i = 0; i < s->n; i++) {
        sum += s->at[i].filled;
        small += s->at[i].small;
    }
    s->now_ns = until_ns;
    if (sum >= 1 || small == 0)
        return;
    s->all_ns += ns * (1 - sum);
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].small)
            s->empty_ns[s->f->tl->ops[s->at[i].op].full_name] += ns * (1 - sum) / small;
}

/* Removes, in order, the kernels that end before `until_ns`. */
static void end_before(struct scan *s, int64_t until_ns)
{
    const struct op *ops = s->f->tl->ops;
    while (s->n) {
        size_t first = 0;
        for (size_t i = 1; i < s->n; i++)
            if (ops[s->at[i].op].end_ns < ops[s->at[first].op].end_ns)
                first = i;
        if (ops[s->at[first].op].end_ns > until_ns)
            break;
        pass_time(s, ops[s->at[first].op].end_ns);
        s->at[first] = s->at[--s->n];
    }
    pass_time(s, until_ns);
}

static void scan_all(struct scan *s)
{
    const struct timeline *t = s->f->tl;
    s->now_ns = t->gpu_start_ns;
    for (uint32_t i = 0; i < t->op_count; i++) {
        bool here = s->f->steps.device == TL_NONE || tl_op_device(t, i) == s->f->steps.device;
        if (t->ops[i].kind != OP_KERNEL || !here)
            continue;
        end_before(s, t->ops[i].start_ns);
        if (s->n < sizeof s->at / sizeof *s->at)
            s->at[s->n++] = (struct running){i, filled(s->f, &t->ops[i]), is_small(s->f, i)};
    }
    end_before(s, t->gpu_end_ns);
}

struct small {
    int64_t count, ns; /* over the used steps */
    uint32_t longest;  /* longest launch, of the given name if any */
};

static struct small small_of(const struct facts *f, uint32_t name)
{
    struct small s = {.longest = TL_NONE};
    const struct op *ops = f->tl->ops;
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        if (ops[i].kind != OP_KERNEL || (name && ops[i].full_name != name) || !is_small(f, i))
            continue;
        int64_t ns = ops[i].end_ns - ops[i].start_ns;
        s.count++;
        s.ns += ns;
        if (s.longest == TL_NONE || ns > ops[s.longest].end_ns - ops[s.longest].start_ns)
            s.longest = i;
    }
    return s;
}

/* Returns e.g. "(2, 3)" for a grid of 2 * 3 * 1. */
static const char *size_text(struct arena *arena, int64_t x, int64_t y, int64_t z)
{
    if (y == 1 && z == 1)
        return arena_printf(arena, "%lld", (long long)x);
    if (z == 1)
        return arena_printf(arena, "(%lld, %lld)", (long long)x, (long long)y);
    return arena_printf(arena, "(%lld, %lld, %lld)", (long long)x, (long long)y, (long long)z);
}

static const char *launch_text(const struct facts *f, struct arena *arena, const struct op *o)
{
    const char *grid = size_text(arena, o->grid[0], o->grid[1], o->grid[2]);
    const char *block = size_text(arena, o->block[0], o->block[1], o->block[2]);
    return arena_printf(arena, "%.60s<<<%s, %s>>>", tl_text(f->tl, o->name), grid ? grid : "",
                        block ? block : "");
}

static void fire(const struct facts *f, struct arena *arena, struct outcome *o, uint32_t name,
                 int64_t empty)
{
    struct small all = small_of(f, 0), one = small_of(f, name);
    const struct op *op = &f->tl->ops[one.longest];
    const char *rows = "SELECT * FROM kernel WHERE end_ns - start_ns >= 20000 AND (grid_x * grid_y "
                       "* grid_z * min(block_x * block_y * block_z, 128) <= 64 * (SELECT "
                       "max(sm_count) FROM device) OR block_x * block_y * block_z <= 16) ORDER BY "
                       "end_ns - start_ns DESC";
    const char *launch = launch_text(f, arena, op);
    outcome_evidence_per(o, "kernels of 20 us and longer that cannot fill the GPU,",
                         (double)all.count / (double)f->steps.used, "count", rows);
    outcome_evidence_per(o, "their time", ms(per_step(f, all.ns)), "ms", rows);
    outcome_evidence_per(o, arena_printf(arena, "time of '%.60s'", tl_text(f->tl, op->name)),
                         ms(per_step(f, one.ns)), "ms", rows);
    outcome_evidence(o, "its blocks, in the longest launch",
                     (double)op->grid[0] * op->grid[1] * op->grid[2], "count", rows);
    outcome_evidence(o, "its threads per block", (double)op->block[0] * op->block[1] * op->block[2],
                     "count", rows);
    outcome_evidence(o, "multiprocessors of the GPU", (double)f->device->sm_count, "count",
                     "SELECT * FROM device");
    outcome_evidence(o, "the most that this launch can keep at work of the GPU",
                     100 * filled(f, op), "%", NULL);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = &edit_scale, .at.ops = is_small, .best_case = true};
    o->limit_ns = empty;
    outcome_fires(
        o, empty,
        arena_printf(arena,
                     "kernels that cannot fill the GPU run for %s %s; most of it is %s on %lld "
                     "multiprocessors, which keeps at most %.2g %% of their lanes at work",
                     time_text(arena, per_step(f, all.ns)), scope_words(f)->per,
                     launch ? launch : "a kernel", (long long)f->device->sm_count,
                     100 * filled(f, op)));
    outcome_example_op(o, f->tl, one.longest, "longest launch of it");
}

static void check_few_blocks(const struct facts *f, struct arena *arena, struct outcome *o)
{
    if (!f->device || f->device->sm_count <= 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: how many multiprocessors the GPU has";
        return;
    }
    int64_t small = per_step(f, small_of(f, 0).ns);
    o->why = arena_printf(arena, "kernels that cannot fill the GPU take %.3f ms %s", ms(small),
                          scope_words(f)->per);
    if (small * 100 < f->step_ns * RULES_KERNEL_PCT)
        return;
    struct scan s = {.f = f};
    s.empty_ns = arena_array(arena, f->tl->strings.n + 1, sizeof *s.empty_ns);
    if (!s.empty_ns) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    scan_all(&s);
    int64_t empty = per_step(f, (int64_t)s.all_ns);
    empty = empty < f->breakdown_ns[PART_COMPUTE] ? empty : f->breakdown_ns[PART_COMPUTE];
    o->why = arena_printf(arena,
                          "kernels that cannot fill the GPU take %.3f ms %s, but leave it empty "
                          "for %.3f ms only: others run beside them",
                          ms(small), scope_words(f)->per, ms(empty));
    if (empty * 100 < f->step_ns * RULES_KERNEL_PCT)
        return;
    uint32_t most = 0;
    for (uint32_t i = 0; i < f->tl->strings.n; i++)
        most = s.empty_ns[i] > s.empty_ns[most] ? i : most;
    fire(f, arena, o, most, empty);
}

const struct rule rule_few_blocks = {
    .id = "few-blocks",
    .title = "Launch enough blocks to fill the GPU",
    .needs = HAVE_KERNELS | HAVE_DEVICE | HAVE_STEPS,
    .check = check_few_blocks,
    .cheaper = true,
    .in_window = true,
    .looks_for = "Kernels of 20 us and longer, those of cuDNN and cuBLAS aside, whose blocks and "
                 "threads reach at most half of the GPU's lanes, where no other kernel fills the "
                 "rest, for 5 % of the step.",
    .doc =
        "A block runs on one multiprocessor, and a warp of 32 threads takes one instruction at a "
        "time. A kernel with fewer blocks than multiprocessors leaves the rest of the GPU "
        "empty; so does a block of fewer than 32 threads, which takes a whole warp. Other "
        "kernels at the same time fill what is left, and count. The bound is the time of these "
        "kernels multiplied by the share that is empty: it assumes that their work can be "
        "split evenly. A kernel that is serial by nature, that waits for memory or that starts "
        "its blocks on purpose (a persistent one) gains less. Kernels of cuDNN, "
        "cuBLAS and CUTLASS are left out: the library cuts their work, and a larger batch is what "
        "changes it (batch-size). A multiprocessor counts as full from four warps on, one for each "
        "of its schedulers.",
    .remedy = {.action = ACTION_FILL_GPU, .object.kind = OBJECT_KERNEL},
    .tips = {{"fill-gpu", "Start enough blocks and threads to fill the GPU", NULL}},
};
