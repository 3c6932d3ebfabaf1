/* Fires if much time goes to copies from one place of the GPU's memory to another: kernels that
 * only copy, and copies within the device. Names the operators that request them. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/kernels/modules.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/ranks/comm.h"
#include "analyzer/queries/open.h"
#include "wire/fact_keys.h"

#include <string.h>

static bool copies(const struct op *o)
{
    return o->kind == OP_KERNEL ? o->class.family == FAMILY_COPY
                                : o->kind == OP_COPY && o->copy_kind == COPY_D2D;
}

/* Copies that fill the buffer of a collective belong to the exchange and do not count. */
static enum query_take is_copy(const struct facts *f, uint32_t op)
{
    return copies(&f->tl->ops[op]) && !query_fills_buffer(f, op) ? QUERY_BUSY : QUERY_NO;
}

/* Operators that request copies. The outermost one counts: contiguous() calls clone(), which calls
 * copy_(). */
static const char *const askers[] = {"cat",   "stack",  "contiguous", "reshape",
                                     "clone", "repeat", "copy_"};
static const char of_aten[] = "aten::";
enum { ASKERS = sizeof askers / sizeof *askers };

struct asked {
    int64_t ns[ASKERS], copies[ASKERS];
};

static size_t asker_of(const struct query_open *open)
{
    for (size_t i = 0; i < open->n; i++) {
        const char *name = tl_text(open->t, open->t->ranges[open->at[i]].name);
        for (size_t k = 0; k < ASKERS; k++)
            if (strncmp(name, of_aten, sizeof of_aten - 1) == 0 &&
                strcmp(name + sizeof of_aten - 1, askers[k]) == 0)
                return k;
    }
    return ASKERS;
}

/* Charges each copy to the operator in whose range its thread launched it. */
static void ask_threads(const struct facts *f, struct asked *asked)
{
    const struct timeline *t = f->tl;
    for (uint32_t th = 0; th < t->thread_count; th++) {
        const struct thread *thread = &t->threads[th];
        struct query_open open = query_open_start(t, th);
        for (uint32_t i = thread->first_api; i < thread->first_api + thread->apis; i++) {
            uint32_t op = t->apis[i].op;
            if (op == TL_NONE || !query_used(f, op) || is_copy(f, op) == QUERY_NO)
                continue;
            query_open_until(&open, t->apis[i].start_ns);
            size_t k = asker_of(&open);
            if (k == ASKERS)
                continue;
            asked->ns[k] += t->ops[op].end_ns - t->ops[op].start_ns;
            asked->copies[k]++;
        }
    }
}

/* Kernels that copy for one operator alone say so, where operators were not recorded. */
static size_t asker_by_name(const struct facts *f, uint32_t op)
{
    const char *name = tl_text(f->tl, f->tl->ops[op].full_name);
    return strstr(name, "CatArrayBatchedCopy") ? 0 : ASKERS;
}

static void ask_names(const struct facts *f, struct asked *asked)
{
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        size_t k = query_used(f, i) && is_copy(f, i) != QUERY_NO ? asker_by_name(f, i) : ASKERS;
        if (k == ASKERS)
            continue;
        asked->ns[k] += f->tl->ops[i].end_ns - f->tl->ops[i].start_ns;
        asked->copies[k]++;
    }
}

static void name_asker(const struct facts *f, struct arena *arena, struct outcome *o, int64_t cost)
{
    struct asked asked = {0};
    size_t most = 0;
    ask_threads(f, &asked);
    if (memcmp(&asked, &(struct asked){0}, sizeof asked) == 0)
        ask_names(f, &asked);
    for (size_t k = 1; k < ASKERS; k++)
        if (asked.ns[k] > asked.ns[most])
            most = k;
    if (per_step(f, asked.ns[most]) * 100 < cost * RULES_ASKER_PCT)
        return;
    outcome_evidence(o,
                     arena_printf(arena, "of that, by %s%s (%lld %s)", of_aten, askers[most],
                                  (long long)each_step(f, asked.copies[most]), scope_words(f)->per),
                     ms(per_step(f, asked.ns[most])), "ms", NULL);
    remedy_text(&o->remedy, PARAM_OPERATOR, askers[most]);
}

/* Weights of a recurrent layer that do not lie in one piece: cuDNN gets a copy in each call. Returns what
 * is said of them, "" if they are not most of it. */
static const char *blame_weights(const struct facts *f, struct arena *arena, struct outcome *o,
                                 int64_t cost)
{
    struct query_module m = query_module_of(f->tl, FACT_TORCH_RNN_SCATTERED);
    int64_t ns = 0;
    for (uint32_t i = 0; m.name[0] && i < f->tl->op_count; i++)
        if (query_used(f, i) && is_copy(f, i) != QUERY_NO && query_in_module(f, &m, i))
            ns += f->tl->ops[i].end_ns - f->tl->ops[i].start_ns;
    if (ns == 0 || per_step(f, ns) * 2 < cost)
        return "";
    o->title = arena_printf(arena, "Keep the weights of %s in one piece", m.name);
    o->remedy.action = ACTION_FLATTEN_WEIGHTS;
    o->remedy.object.place = m.place;
    return arena_printf(arena,
                        "; %s of it in %s%s%s, whose weights do not lie in one piece, so that all "
                        "of them are copied in each call",
                        time_text(arena, per_step(f, ns)), m.name, m.place ? " at " : "",
                        m.place ? m.place : "");
}

static void check_device_copies(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_ops ops = query_ops(f, is_copy);
    int64_t cost = per_step(f, ops.busy_ns);
    o->why = arena_printf(arena, "copies within the GPU's memory take %.3f ms %s", ms(cost),
                          scope_words(f)->per);
    if (ops.count == 0 || cost * 100 < f->step_ns * RULES_DEVICE_COPIES_PCT)
        return;
    const char *rows =
        "SELECT name, calls, total_ms FROM kernel_time WHERE name LIKE '%copy%' UNION ALL "
        "SELECT kind, copies, total_ms FROM copy_time WHERE kind = 'D2D'";
    outcome_evidence_per(o, "copies within the GPU's memory",
                         (double)ops.count / (double)f->steps.used, "count", rows);
    outcome_evidence_per(o, "their GPU time", ms(cost), "ms", rows);
    name_asker(f, arena, o, cost);
    o->error_class = ERROR_RERUN_DECIDES; /* how many of them are needed is not known */
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "%lld copies %s move data within the GPU's memory and compute "
                               "nothing: %s, %.0f %% %s%s",
                               (long long)each_step(f, ops.count), scope_words(f)->per,
                               time_text(arena, cost), share_pct(f, cost), scope_words(f)->of,
                               blame_weights(f, arena, o, cost)));
    outcome_example_op(o, f->tl, ops.longest, "longest copy");
}

const struct rule rule_device_copies = {
    .id = "device-copies",
    .title = "Copy less within the GPU's memory",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_device_copies,
    .in_window = true,
    .looks_for = "Copies within the device and kernels that only copy (contiguous, clone, cat, "
                 "reshape of permuted tensors), if they take at least 3 % of the step.",
    .doc = "Each copy reads and writes all of its data at memory speed and computes nothing. Some "
           "copies are necessary: for a layout that the next kernel needs, or for a contiguous "
           "result. gpuprof cannot know how many, so the bound is the time of all of them. Other "
           "rules handle type conversions, conversions between NCHW and NHWC, and copies into the "
           "buffers of collectives.",
    .remedy = {.action = ACTION_COPY_LESS_ON_GPU, .object.kind = OBJECT_COPY},
    .tips = {{"channels-last", "Keep images in channels-last layout", NULL}},
};
