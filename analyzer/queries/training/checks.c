/* Finds checks for NaN and infinity, and the waits for their results. */
#include "analyzer/queries/training/checks.h"

#include "analyzer/queries/waits.h"
#include "wire/fact_keys.h"

#include <string.h>

/* memory from the arena is zero, that is NAME_UNSEEN */
enum { NAME_UNSEEN, NAME_OTHER, NAME_CHECK };

struct named {
    const struct timeline *t;
    uint8_t *seen; /* by string id */
    bool anomaly;  /* PyTorch's anomaly detection is on */
    uint32_t main_thread;
};

/* True for a kernel of PyTorch's anomaly detection. It compares x != x and asks whether any result
 * is true, after each function of the backward pass and on its thread. Other code uses the same
 * kernels, so this counts only if the mode is on. */
static bool is_anomaly_check(const struct named *n, const struct op *o)
{
    if (!n->anomaly || o->api == TL_NONE || n->t->apis[o->api].thread == n->main_thread)
        return false;
    const char *name = tl_text(n->t, o->full_name);
    return strstr(name, "CompareEq") ||
           (strstr(name, "reduce_kernel") && strstr(name, "or_kernel"));
}

/* True for a kernel that checks for NaN or infinity. Loss scaling also does that once a step,
 * inside the optimizer; it does not count. */
static bool is_check(const struct named *n, uint32_t op)
{
    static const char *const parts[] = {"isnan",   "is_nan",   "isinf",    "isfinite",
                                        "has_nan", "find_nan", "check_nan"};
    const struct op *o = &n->t->ops[op];
    if (o->kind != OP_KERNEL || o->class.family == FAMILY_OPTIMIZER)
        return false;
    if (is_anomaly_check(n, o))
        return true;
    uint8_t *seen = &n->seen[o->full_name];
    const char *name = *seen == NAME_UNSEEN ? tl_text(n->t, o->full_name) : "";
    for (size_t i = 0; *seen == NAME_UNSEEN && i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i]))
            *seen = NAME_CHECK;
    *seen = *seen == NAME_UNSEEN ? NAME_OTHER : *seen;
    return *seen == NAME_CHECK;
}

static enum query_take takes(const struct facts *f, uint32_t op, const void *arg)
{
    (void)f;
    return is_check(arg, op) ? QUERY_ALL : QUERY_NO;
}

/* What a thread did last: something else, a check, or the copy of a check's result. */
enum since { SINCE_OTHER, SINCE_CHECK, SINCE_ANSWER };

struct follow {
    const struct named *named;
    bool *ops, *calls;
    enum since since;
    int kernels; /* other kernels launched since the check */
};

static bool waits(const struct timeline *t, const struct api *c)
{
    return query_call_wait(t, c) != CALL_GOES_ON;
}

static void follow_kernel(struct follow *f, uint32_t op)
{
    if (is_check(f->named, op)) {
        f->ops[op] = true;
        f->since = SINCE_CHECK;
        f->kernels = 0;
    } else if (f->since == SINCE_ANSWER || ++f->kernels > QUERY_CHECK_KERNELS) {
        f->since = SINCE_OTHER;
    }
}

/* Follows one call of a thread. A small copy to the host after a check is the check's answer. If a
 * call that launches nothing then waits, it waits for this answer. */
static void follow_call(struct follow *f, uint32_t call)
{
    const struct timeline *t = f->named->t;
    const struct api *c = &t->apis[call];
    const struct op *o = c->op == TL_NONE ? NULL : &t->ops[c->op];
    if (o && o->kind == OP_KERNEL) {
        follow_kernel(f, c->op);
    } else if (o && o->kind == OP_COPY) {
        if (f->since == SINCE_CHECK && o->copy_kind == COPY_D2H && o->bytes <= QUERY_ANSWER_BYTES) {
            f->ops[c->op] = true;
            f->calls[call] = waits(t, c);
            f->since = SINCE_ANSWER;
        } else if (o->copy_kind == COPY_D2H) {
            f->since = SINCE_OTHER;
        }
    } else if (!o && waits(t, c)) {
        f->calls[call] = f->since != SINCE_OTHER;
        f->since = SINCE_OTHER;
    }
}

/* True if one of `calls` is the last wait before the launch that ends the gap. */
static bool behind_answer(const struct timeline *t, const struct gap *g, const bool *calls)
{
    enum { LOOKED_BACK = 64 };
    uint32_t call = g->before_op == TL_NONE ? g->api : t->ops[g->before_op].api;
    if (call == TL_NONE)
        return false;
    uint32_t first = t->threads[t->apis[call].thread].first_api;
    for (uint32_t n = 0; n < LOOKED_BACK && call >= first + n; n++) {
        const struct api *c = &t->apis[call - n];
        if (calls[call - n])
            return true;
        if (n && (c->op == TL_NONE || t->ops[c->op].kind == OP_COPY) && waits(t, c))
            return false;
    }
    return false;
}

static int64_t idle_behind(const struct facts *f, const bool *calls)
{
    int64_t ns = 0;
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->step != TL_NONE && f->steps.at[g->step].used && g->parts & 1u << PART_IDLE_SYNC &&
            behind_answer(f->tl, g, calls))
            ns += gap_ns(f, g, PART_IDLE_SYNC);
    }
    return ns;
}

struct query_checks query_checks(const struct facts *facts, struct arena *arena)
{
    const struct timeline *t = facts->tl;
    struct query_checks k = {.ops.longest = TL_NONE};
    const char *mode = timeline_meta(t, FACT_TORCH_ANOMALY_MODE);
    struct named n = {t, arena_array(arena, (size_t)t->strings.n + 1, 1),
                      mode && strcmp(mode, "True") == 0, facts->steps.main_thread};
    k.anomaly = n.anomaly;
    if (!n.seen)
        return k;
    k.ops = query_ops_of(facts, takes, &n);
    if (each_step(facts, k.ops.count) < QUERY_MANY_CHECKS)
        return k;
    bool *ops = arena_array(arena, t->op_count + 1, sizeof *ops);
    bool *calls = arena_array(arena, t->api_count + 1, sizeof *calls);
    if (!ops || !calls)
        return k;
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct thread *th = &t->threads[i];
        struct follow f = {&n, ops, calls, SINCE_OTHER, 0};
        for (uint32_t c = th->first_api; c < th->first_api + th->apis; c++)
            follow_call(&f, c);
    }
    k.op_marks = ops;
    k.call_marks = calls;
    k.read_ns = idle_behind(facts, calls);
    return k;
}
