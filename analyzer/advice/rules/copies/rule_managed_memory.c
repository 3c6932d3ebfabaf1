/* Fires if pages of managed memory move in each step because a kernel or the host touches them
 * where they are not, and then waits for them. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"

#include <string.h>

/* Takes migrations to the GPU that a kernel caused: these run while a kernel runs. Pages that move
 * to an idle GPU were prefetched. Operations come in the order of their starts. */
static enum query_take to_kernel(const struct facts *f, uint32_t op, const void *arg)
{
    const struct op *o = &f->tl->ops[op];
    int64_t *kernels_until = *(int64_t *const *)arg;
    if (o->kind == OP_KERNEL && o->end_ns > *kernels_until)
        *kernels_until = o->end_ns;
    bool up = tl_migrates(o) && o->copy_kind == COPY_H2D;
    return up && o->start_ns < *kernels_until ? QUERY_BUSY : QUERY_NO;
}

static enum query_take elsewhere(const struct facts *f, uint32_t op, const void *arg)
{
    const struct op *o = &f->tl->ops[op];
    (void)arg;
    return tl_migrates(o) && o->copy_kind != COPY_H2D ? QUERY_BUSY : QUERY_NO;
}

/* Returns the most that is waited for migrations, in ns per step: transfers and page faults, but at
 * most the time of the work that waits for them. */
static int64_t waits(const struct facts *f, const struct query_ops *moved, int64_t limit_ns)
{
    int64_t ns = per_step(f, moved->busy_ns) + per_step(f, moved->count * RULES_FAULT_NS);
    return ns < limit_ns ? ns : limit_ns;
}

/* Returns true if the program allocates managed memory, whose migrations Nsight Systems and
 * PyTorch's profiler record but gpuprof does not. */
static bool may_migrate_unseen(const struct facts *f)
{
    const struct str_table *s = &f->tl->strings;
    for (uint32_t i = 0; i < s->n; i++)
        if (strncmp(s->text[i], "cudaMallocManaged", 17) == 0 ||
            strncmp(s->text[i], "cuMemAllocManaged", 17) == 0)
            return true;
    return false;
}

static void say_none(const struct facts *f, struct outcome *o)
{
    bool unseen = may_migrate_unseen(f);
    const char *source = timeline_meta(f->tl, "source");
    bool nsys = source && strcmp(source, "nsys") == 0;
    o->why = !unseen ? "no managed memory moved"
             : nsys  ? "the program allocates managed memory, and the recording contains no "
                       "migration: nsys profile --cuda-um-cpu-page-faults=true "
                       "--cuda-um-gpu-page-faults=true records the faults as well (Windows and WSL "
                       "report neither)"
                     : "the program allocates managed memory, and the recording contains no "
                       "migration; `nsys profile` records them";
    if (unseen)
        o->verdict = RULE_CANNOT_TELL;
}

static void check_managed_memory(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t kernels_until = f->tl->gpu_start_ns, *until = &kernels_until;
    struct query_ops up = query_ops_of(f, to_kernel, &until);
    struct query_ops down = query_ops_of(f, elsewhere, NULL);
    int64_t moving = per_step(f, up.busy_ns + down.busy_ns);
    int64_t cost = waits(f, &up, f->breakdown_ns[PART_COMPUTE]) +
                   waits(f, &down, f->step_ns - f->breakdown_ns[PART_COMPUTE]);
    double used = (double)f->steps.used;
    if (up.count + down.count == 0) {
        say_none(f, o);
        return;
    }
    o->why = arena_printf(arena, "migrations of managed memory take %.3f ms %s", ms(moving),
                          scope_words(f)->per);
    if (cost * QUERY_WORTH < f->step_ns)
        return;
    const char *rows = "SELECT * FROM copy WHERE src_kind = 5 AND dst_kind = 5";
    outcome_evidence_per(o, "migrations", (double)(up.count + down.count) / used, "count", rows);
    outcome_evidence_per(o, "moved to the GPU", (double)up.bytes / used / 1e6, "MB", rows);
    outcome_evidence_per(o, "moved from the GPU", (double)down.bytes / used / 1e6, "MB", rows);
    outcome_evidence_per(o, "time of these migrations", ms(moving), "ms", rows);
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "kernels and the host touch managed memory where it is not: %lld "
                               "transfers move pages for %s, and whoever touched them waits for "
                               "each, and up to 50 us more for the fault",
                               (long long)((double)(up.count + down.count) / used + 0.5),
                               time_text(arena, moving)));
    outcome_example_op(o, f->tl, up.longest != TL_NONE ? up.longest : down.longest,
                       "longest migration");
}

const struct rule rule_managed_memory = {
    .id = "managed-memory",
    .title = "Move managed memory before it is needed",
    .needs = HAVE_COPIES | HAVE_MEMORY_KINDS | HAVE_STEPS,
    .check = check_managed_memory,
    .in_window = true,
    .looks_for = "Migrations of managed memory (pages that move on demand) that take at least 1 % "
                 "of the step.",
    .doc =
        "A kernel that touches a page of managed memory in the host's memory stops until the "
        "page has come, a few KB to 2 MB at a time; the host waits in the same way for pages on "
        "the GPU. One transfer of the whole range before it is needed runs at the speed of the "
        "bus and beside other work. If the data exceed the GPU's memory, pages also move to "
        "make room: then only less data help. The bound is the time of the "
        "migrations, and 50 us for each (a fault costs 20 to 50), but no more than the kernels' "
        "time or the rest of the step. Pages that move while no kernel runs were prefetched and "
        "do not count. gpuprof run does not record them; exports of Nsight Systems contain them.",
    .remedy = {.action = ACTION_PREFETCH_MANAGED, .object.kind = OBJECT_COPY},
    .tips = {{"prefetch-managed", "Prefetch unified memory, or use ordinary GPU memory", NULL}},
};
