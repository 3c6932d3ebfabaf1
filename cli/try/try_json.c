/* Prints the answer of `try` for programs (try.h). */
#include "cli/try/try.h"

#include "report/json/json_tree.h"

static void range_json(struct json_tree *j, const char *key, bool known, double low, double mid,
                       double high)
{
    if (!known) {
        tree_null(j, key);
        return;
    }
    tree_begin(j, key, '{');
    tree_num(j, "low", 100 * low, 3);
    tree_num(j, "mid", 100 * mid, 3);
    tree_num(j, "high", 100 * high, 3);
    tree_end(j);
}

static void known_ms(struct json_tree *j, const char *key, int64_t ns)
{
    if (ns)
        tree_ms(j, key, ns);
    else
        tree_null(j, key);
}

static void change_json(struct json_tree *j, const struct trial *t, const struct tried *c)
{
    const struct ab_prediction *p = &c->predicted;
    const struct ab_result *r = &c->result;
    tree_begin(j, NULL, '{');
    tree_str(j, "apply", c->patch ? NULL : c->settings);
    tree_str(j, "patch", c->patch ? c->settings : NULL);
    tree_str(j, "rule", *c->rule ? c->rule : NULL);
    tree_str(j, "finding", *c->title ? c->title : NULL);
    tree_bool(j, "together", c->together);
    tree_str(j, "decision", trial_decision[trial_kept(c)]);
    tree_str(j, "decision_why", trial_decides(c));
    tree_str(j, "verdict", trial_verdict(c));
    tree_str(j, "why", trial_why(c));
    tree_int(j, "runs_without", (int64_t)t->without.count);
    tree_int(j, "runs_with", (int64_t)c->arm.count);
    known_ms(j, "without_ms", r->a_ns);
    known_ms(j, "with_ms", r->a_ns ? r->b_ns : 0);
    range_json(j, "measured_pct", r->a_ns > 0, r->low, r->saved, r->high);
    range_json(j, "predicted_pct", p->known, p->low, p->mid, p->high);
    if (c->at_most > 0)
        tree_num(j, "at_most_pct", 100 * c->at_most, 3);
    else
        tree_null(j, "at_most_pct");
    trial_losses_json(j, &c->computes);
    tree_int(j, "runs_acknowledged", (int64_t)c->acknowledged);
    tree_str(j, "refused", *c->refusal ? c->refusal : NULL);
    tree_str(j, "silent", *c->silent ? c->silent : NULL);
    tree_str(j, "diff", c->diff);
    tree_end(j);
}

static void number_or_null(struct json_tree *j, const char *key, int n)
{
    if (n)
        tree_int(j, key, n);
    else
        tree_null(j, key);
}

void series_print_json(const struct series *s)
{
    struct json_tree j;
    const struct trial *t = s->at, *last = series_last(s);
    tree_start(&j, '{');
    j.one_line = true;
    tree_int(&j, "schema", 2);
    tree_str(&j, "virtual_gpu", *t->gpu ? t->gpu : NULL);
    tree_bool(&j, "interrupted", trial_interrupted());
    tree_int(&j, "runs_without", (int64_t)t->without.count);
    known_ms(&j, "without_ms", trial_without_ns(t));
    tree_str(&j, "no_predictions", *t->why_not ? t->why_not : NULL);
    tree_str(&j, "reruns_record", t->marks ? "steps" : "all");
    tree_begin(&j, "tried", '[');
    for (size_t k = 0; k < s->count; k++)
        for (size_t i = 0; i < s->at[k].count; i++)
            change_json(&j, &s->at[k], &s->at[k].change[i]);
    tree_end(&j);
    number_or_null(&j, "until", s->until);
    tree_str(&j, "ended", *s->ended ? s->ended : NULL);
    if (s->kept)
        tree_num(&j, "kept_saves_pct", 100 * series_saved(s), 3);
    else
        tree_null(&j, "kept_saves_pct");
    tree_str(&j, "kept_diff", s->kept);
    number_or_null(&j, "asked", s->top);
    tree_str(&j, "fewer", s->top > 1 && *t->fewer ? t->fewer : NULL);
    tree_begin(&j, "not_tried", '[');
    for (size_t i = 0; i < last->passed_count; i++)
        tree_str(&j, NULL, last->passed[i].rule);
    tree_end(&j);
    tree_print(&j, stdout);
}
