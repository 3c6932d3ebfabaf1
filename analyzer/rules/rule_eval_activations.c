/* Evaluation that runs as if for training: batch statistics, dropout, gradients kept. */
#include "analyzer/rules/look_phase.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Kernels that a model in evaluation mode does not launch. */
static const char training_only[] =
    "bn_fw_tr|batchnorm_fwtr|batch_norm_collect_statistics|norm_train|norm_statistics|dropout|"
    "norm_sums";

struct evaluation {
    int64_t ranges;          /* in the whole recording */
    int64_t train, train_ns; /* kernels launched inside that only training needs */
    int64_t backward;        /* of them for gradients or updates */
    uint32_t longest;
};

/* Is the word at s[0..n) one for an evaluation? */
static bool says_eval(const char *s, size_t n)
{
    static const char *const words[] = {"eval",  "evaluate",   "evaluation", "evaluating",
                                        "valid", "validation", "validate",   "val"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && strncasecmp(s, words[i], n) == 0)
            return true;
    return false;
}

/* Words end where letters do, or where a capital follows a small one. Frames of the interpreter and
 * operators are no ranges of the user's: `torch/_dynamo/eval_frame.py(489): _fn` evaluates nothing.
 */
static bool evaluates(const char *name)
{
    if (strstr(name, ".py(") || strstr(name, "::") || name[0] == '<')
        return false;
    for (const char *s = name; *s;) {
        size_t n = 0;
        while (isalpha((unsigned char)s[n]) &&
               !(n > 0 && islower((unsigned char)s[n - 1]) && isupper((unsigned char)s[n])))
            n++;
        if (says_eval(s, n))
            return true;
        s += n ? n : 1;
    }
    return false;
}

/* By call: is it made during an evaluation? Counts those. Ranges and calls are sorted by thread and
 * start. NULL without memory. */
static bool *calls_inside(struct analysis *a, struct evaluation *e)
{
    const struct timeline *t = a->tl;
    bool *yes = arena_array(&a->arena, t->api_count + 1, sizeof *yes);
    for (size_t i = 0; yes && i < t->thread_count; i++) {
        const struct thread *th = &t->threads[i];
        uint32_t next = th->first_range, end = th->first_range + th->ranges;
        int64_t until_ns = INT64_MIN;
        for (uint32_t c = th->first_api; c <= th->first_api + th->apis; c++) {
            bool over = c == th->first_api + th->apis; /* ranges behind the last call count, too */
            for (; next < end && (over || t->ranges[next].start_ns <= t->apis[c].start_ns);
                 next++) {
                const struct range *r = &t->ranges[next];
                if (!evaluates(tl_text(t, r->name)))
                    continue;
                e->ranges++;
                until_ns = r->end_ns > until_ns ? r->end_ns : until_ns;
            }
            if (!over)
                yes[c] = t->apis[c].end_ns <= until_ns;
        }
    }
    return yes;
}

static struct evaluation look_at_evaluation(struct analysis *a)
{
    const struct timeline *t = a->tl;
    struct evaluation e = {.longest = TL_NONE};
    const bool *inside = calls_inside(a, &e);
    for (uint32_t i = 0; inside && e.ranges && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind != OP_KERNEL || o->api == TL_NONE || !inside[o->api])
            continue;
        bool train = look_name_has(tl_text(t, o->full_name), training_only);
        bool backward = o->class.pass == PASS_WGRAD || o->class.family == FAMILY_OPTIMIZER;
        e.backward += backward;
        if (!train && !backward)
            continue;
        int64_t ns = o->end_ns - o->start_ns;
        e.train++;
        e.train_ns += ns;
        if (e.longest == TL_NONE || ns > t->ops[e.longest].end_ns - t->ops[e.longest].start_ns)
            e.longest = i;
    }
    return e;
}

static void check(struct analysis *a, struct outcome *o)
{
    struct evaluation e = look_at_evaluation(a);
    int64_t steps = (int64_t)(a->steps.count ? a->steps.count : 1), cost = e.train_ns / steps;
    if (e.ranges == 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: an evaluation (no range has 'eval' or 'valid' in its name)";
        return;
    }
    o->why = arena_printf(&a->arena, "%lld evaluations, with %lld kernels that only training needs",
                          (long long)e.ranges, (long long)e.train);
    if (e.train == 0 || cost * 100 < a->steps.median_ns)
        return;
    outcome_evidence(o, "evaluations", (double)e.ranges, "count",
                     "SELECT * FROM range_time WHERE name LIKE '%eval%' OR name LIKE '%valid%'");
    outcome_evidence(o, "kernels in them that only training needs", (double)e.train, "count", NULL);
    if (e.backward)
        outcome_evidence(o, "of them for gradients or updates", (double)e.backward, "count", NULL);
    outcome_evidence(o, "their GPU time, spread over all steps", ms(cost), "ms", NULL);
    o->error_class = ERROR_KERNEL_MODEL;
    outcome_fires(o, cost,
                  arena_printf(&a->arena,
                               "evaluation runs in training mode: %lld kernels that it does not "
                               "need, %.1f ms per step on average",
                               (long long)e.train, ms(cost)));
    if (e.longest != TL_NONE)
        outcome_example(o, a->tl->ops[e.longest].start_ns, a->tl->ops[e.longest].end_ns,
                        "longest of them", e.longest);
}

const struct rule rule_eval_activations = {
    .id = "eval-activations",
    .title = "Evaluate in evaluation mode, without gradients",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_RANGES | HAVE_STEPS,
    .check = check,
    .looks_for = "Kernels of training (batch statistics, dropout, gradients) launched inside "
                 "ranges named eval or validation.",
    .doc = "A model left in training mode computes batch statistics during validation, applies "
           "dropout and changes its running means: the result is wrong as well as slow. Without "
           "no_grad its activations are kept, too, which takes memory rather than time. Needs a "
           "range around the evaluation. Bound: those kernels' own time; cheaper ones come in "
           "their place.",
    .remedy = {"model.eval() and with torch.inference_mode(): around validation",
               "model(x, training=False); model.evaluate does so",
               "cudnnBatchNormalizationForwardInference, and one buffer for all activations"},
};
