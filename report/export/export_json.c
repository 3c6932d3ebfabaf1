/* All results for programs. docs/json.schema.json describes them; SCHEMA counts incompatible changes. */
#include "report/export.h"

#include "analyzer/profile/evidence_rows.h"
#include "report/json/json_facts.h"
#include "report/words/comparison.h"
#include "report/words/text.h"

#include <stdlib.h>
#include <string.h>

enum { SCHEMA = 1 };

static void write_head(struct json_tree *j, const struct export_options *o)
{
    tree_int(j, "schema", SCHEMA);
    tree_str(j, "gpuprof_version", GPUPROF_VERSION);
    tree_str(j, "source", o->source);
    if (o->base_source)
        tree_str(j, "base_source", o->base_source);
}

struct row_writer {
    struct json_tree *j;
    bool open; /* a row has begun */
};

static void put_value(void *self, const char *column, const char *text, bool is_number)
{
    struct row_writer *w = self;
    if (!w->open)
        tree_begin(w->j, NULL, '{');
    w->open = true;
    if (!is_number)
        tree_str(w->j, column, text);
    else if (strpbrk(text, ".eIN")) /* also Inf */
        tree_num(w->j, column, strtod(text, NULL), 6);
    else
        tree_int(w->j, column, strtoll(text, NULL, 10));
}

static void end_row(void *self)
{
    struct row_writer *w = self;
    if (w->open)
        tree_end(w->j);
    w->open = false;
}

static void write_rows(struct json_tree *j, const struct export_options *o, const char *query)
{
    struct err e = ERR_INIT;
    struct row_writer w = {j, false};
    tree_begin(j, "rows", '[');
    int rc =
        evidence_rows(o->rows_of, query, o->rows, &(struct row_reader){put_value, end_row, &w}, &e);
    end_row(&w);
    tree_end(j);
    if (rc < 0)
        tree_str(j, "rows_missing", e.text);
}

static void write_finding(struct json_tree *j, const struct facts *f, const struct outcome *o,
                          const struct export_options *wanted)
{
    tree_begin(j, NULL, '{');
    tree_str(j, "rule", o->rule->id);
    tree_str(j, "title", o->title);
    tree_str(j, "group",
             outcome_changes_training(o) ? "training"
             : o->rule->cheaper          ? "cheaper"
                                         : "lost");
    tree_str(j, "summary", o->summary);
    tree_begin(j, "saves_ms", '{');
    tree_ms(j, "low", o->saves_low_ns);
    tree_ms(j, "mid", o->saves_mid_ns);
    tree_ms(j, "high", o->saves_high_ns);
    if (o->upper_bound)
        tree_str(j, "least", NULL);
    else
        tree_ms(j, "least", o->least_ns > o->saves_low_ns ? o->least_ns : o->saves_low_ns);
    tree_end(j);
    tree_str(j, "of", o->of_run ? "run" : scope_words(f)->unit);
    tree_ms(j, "of_ms", outcome_of_ns(f, o));
    tree_ms(j, "widened_ms", o->widened_ns);
    tree_int(j, "widened_after_trials", (int64_t)o->widened_after);
    tree_begin(j, "ledger_ms", '{');
    tree_ms(j, "low", o->ledger_low_ns);
    tree_ms(j, "high", o->ledger_high_ns);
    tree_end(j);
    tree_str(j, "change", text_ledger_kind(o));
    tree_str(j, "kind", text_outcome_kind(o));
    tree_str(j, "error_class", text_error_class(o->error_class));
    tree_begin(j, "evidence", '[');
    for (size_t i = 0; i < o->evidence_count; i++) {
        const struct evidence *e = &o->evidence[i];
        tree_begin(j, NULL, '{');
        tree_words(j, "text", e->text, evidence_scope(f, e));
        tree_num(j, "value", e->value, 6);
        tree_str(j, "unit", e->unit);
        tree_str(j, "sql", e->sql);
        if (wanted->rows_of && e->sql)
            write_rows(j, wanted, e->sql);
        tree_end(j);
    }
    tree_end(j);
    tree_begin(j, "examples", '[');
    for (size_t i = 0; i < o->example_count; i++) {
        tree_begin(j, NULL, '{');
        tree_ms(j, "start_ms", o->examples[i].start_ns);
        tree_ms(j, "end_ms", o->examples[i].end_ns);
        tree_str(j, "text", o->examples[i].text);
        tree_str(j, "called_from", o->examples[i].caller);
        tree_end(j);
    }
    tree_end(j);
    tree_str(j, "after", o->after ? o->after->rule->id : NULL);
    json_remedy(j, &o->remedy, o->words);
    tree_str(j, "setting", o->setting);
    tree_end(j);
}

/* Rules with verdict v, each with one sentence under `key`. */
static void write_others(struct json_tree *j, const struct advice *a,
                         const struct export_options *o, enum verdict v, const char *list,
                         const char *key)
{
    tree_begin(j, list, '[');
    for (size_t i = 0; i < a->outcome_count; i++) {
        const struct outcome *x = shown_outcome(a, o, i, v);
        if (!x)
            continue;
        tree_begin(j, NULL, '{');
        tree_str(j, "rule", x->rule->id);
        tree_str(j, key, x->why);
        tree_end(j);
    }
    tree_end(j);
}

/* Below 0: unknown, null. */
static void json_pct(struct json_tree *j, const char *key, double pct)
{
    if (pct < 0)
        tree_null(j, key);
    else
        tree_num(j, key, pct, 3);
}

static void write_whatif(struct json_tree *j, const struct advice *a)
{
    const struct whatif *w = &a->whatif;
    tree_begin(j, "replay", '{');
    tree_bool(j, "trusted", w->trusted);
    tree_str(j, "why_not", w->why_not);
    tree_str(j, "wider", w->wider);
    tree_int(j, "steps", (int64_t)w->steps);
    tree_int(j, "tasks", (int64_t)w->tasks);
    tree_int(j, "violations", (int64_t)w->violations);
    tree_ms(j, "step_ms", w->step_ns);
    bool none = w->tasks == 0; /* nothing was replayed, so nothing is known */
    json_pct(j, "identity_error_pct", none ? -1 : w->identity_error_pct);
    json_pct(j, "unexplained_pct", none ? -1 : w->unexplained_pct);
    json_pct(j, "class_error_pct", none ? -1 : w->class_error_pct);
    json_pct(j, "holdout_error_pct", w->holdout_error_pct);
    json_pct(j, "holdout_p95_pct", w->holdout_p95_pct);
    tree_begin(j, "saves_at_most_ms", '{');
    tree_ms(j, "host", w->host_bound_ns);
    tree_ms(j, "waits", w->wait_bound_ns);
    tree_ms(j, "communication", w->comm_bound_ns);
    tree_ms(j, "input", w->input_bound_ns);
    tree_end(j);
    tree_begin(j, "critical_path", '[');
    for (int i = 0; i < PATH_CLASSES; i++) {
        const struct path_share *p = &w->path[i];
        if (p->path_ns == 0 && p->idle_ns == 0)
            continue;
        tree_begin(j, NULL, '{');
        tree_str(j, "class", path_key[i]);
        tree_ms(j, "path_ms", p->path_ns);
        tree_ms(j, "idle_ms", p->idle_ns);
        tree_ms(j, "worth_ms", p->worth_ns);
        tree_end(j);
    }
    tree_end(j);
    tree_begin(j, "stack", '[');
    for (size_t i = 0; i < a->stack_count; i++) {
        tree_begin(j, NULL, '{');
        tree_str(j, "rule", a->stack[i].outcome->rule->id);
        tree_str(j, "setting", a->stack[i].outcome->setting);
        tree_ms(j, "saves_ms", a->stack[i].saves_ns);
        tree_ms(j, "step_ms", a->stack[i].step_ns);
        tree_ms(j, "step_low_ms", a->stack[i].step_low_ns);
        tree_ms(j, "step_high_ms", a->stack[i].step_high_ns);
        tree_end(j);
    }
    tree_end(j);
    tree_end(j);
}

static void write_trials(struct json_tree *j, const struct export_options *o)
{
    tree_begin(j, "trials", '[');
    for (size_t i = 0; i < o->trial_count; i++) {
        const struct kept_trial *k = &o->trials[i];
        tree_begin(j, NULL, '{');
        tree_str(j, "rule", *k->rule ? k->rule : NULL);
        tree_str(j, "setting", k->setting);
        tree_str(j, "verdict", k->verdict);
        if (k->predicted_mid_ns < 0) {
            tree_null(j, "predicted_ms");
        } else {
            tree_begin(j, "predicted_ms", '{');
            tree_ms(j, "low", k->predicted_low_ns);
            tree_ms(j, "mid", k->predicted_mid_ns);
            tree_ms(j, "high", k->predicted_high_ns);
            tree_end(j);
        }
        tree_begin(j, "measured_ms", '{');
        tree_ms(j, "low", k->measured_low_ns);
        tree_ms(j, "mid", k->measured_mid_ns);
        tree_ms(j, "high", k->measured_high_ns);
        tree_end(j);
        tree_ms(j, "without_ms", k->step_ns);
        tree_int(j, "runs_without", k->runs_without);
        tree_int(j, "runs_with", k->runs_with);
        tree_int(j, "tried_realtime_s", k->tried_realtime_ns / 1000000000);
        tree_end(j);
    }
    tree_end(j);
}

static int done(struct json_tree *j, FILE *f, struct err *e)
{
    if (tree_print(j, f) == 0)
        return 0;
    return export_done(f, e) ? -1 : err_set(e, "out of memory");
}

static int json_analysis(const struct advice *a, const struct export_options *o, FILE *f,
                         struct err *e)
{
    struct json_tree j;
    tree_start(&j, '{');
    write_head(&j, o);
    tree_str(&j, "command", timeline_meta(a->facts->tl, "command"));
    tree_str(&j, "verdict", a->verdict);
    tree_str(&j, "verdict_class", a->verdict_class);
    tree_str(&j, "why", a->why);
    tree_str(&j, "next", a->next);
    json_facts(&j, a);
    tree_begin(&j, "findings", '[');
    const struct outcome *x;
    for (size_t i = 0; (x = shown_finding(a, o, i)); i++)
        write_finding(&j, a->facts, x, o);
    tree_end(&j);
    tree_ms(&j, "stacked_ms", stacked_saving_ns(a));
    if (a->whatif.tasks || a->whatif.why_not)
        write_whatif(&j, a);
    write_others(&j, a, o, RULE_SUPPRESSED, "suppressed", "why");
    write_others(&j, a, o, RULE_CANNOT_TELL, "cannot_tell", "missing");
    write_others(&j, a, o, RULE_SILENT, "fine", "measured");
    write_trials(&j, o);
    json_health(&j, a);
    return done(&j, f, e);
}

/* The step times that `try` compares. */
static void write_pace(struct json_tree *j, const struct diff *d)
{
    if (!d->enough) {
        tree_null(j, "pace_ms");
        return;
    }
    tree_begin(j, "pace_ms", '{');
    tree_ms(j, "base", d->pace.base_ns);
    tree_ms(j, "new", d->pace.new_ns);
    tree_num(j, "ratio", d->pace.ratio, 6);
    tree_num(j, "ratio_low", d->pace.ratio_low, 6);
    tree_num(j, "ratio_high", d->pace.ratio_high, 6);
    tree_end(j);
}

static void write_diff(struct json_tree *j, const struct diff *d)
{
    tree_begin(j, "step_ms", '{');
    tree_ms(j, "base", d->base_ns);
    tree_ms(j, "new", d->new_ns);
    tree_num(j, "ratio", d->ratio, 6);
    if (d->enough) {
        tree_num(j, "ratio_low", d->ratio_low, 6);
        tree_num(j, "ratio_high", d->ratio_high, 6);
    } else {
        tree_null(j, "ratio_low");
        tree_null(j, "ratio_high");
    }
    tree_end(j);
    write_pace(j, d);
    tree_bool(j, "enough_steps", d->enough);
    tree_bool(j, "of_windows", d->of_windows);
    tree_str(j, "not_comparable", d->comparable);
    tree_begin(j, "changes", '[');
    for (size_t i = 0; i < d->change_count; i++) {
        tree_begin(j, NULL, '{');
        tree_str(j, "what", d->changes[i].what);
        tree_str(j, "kind", d->changes[i].kind);
        tree_ms(j, "base_ms", d->changes[i].base_ns);
        tree_ms(j, "new_ms", d->changes[i].new_ns);
        tree_ms(j, "change_ms", d->changes[i].new_ns - d->changes[i].base_ns);
        tree_str(j, "of", d->changes[i].of_run ? "run" : d->of_windows ? "window" : "step");
        tree_str(j, "place", d->changes[i].finding ? outcome_place(d->changes[i].finding) : NULL);
        tree_end(j);
    }
    tree_end(j);
}

static int json_diff(const struct diff *d, const struct export_options *o, FILE *f, struct err *e)
{
    struct json_tree j;
    tree_start(&j, '{');
    write_head(&j, o);
    tree_str(&j, "virtual_gpu", o->virtual_gpu);
    write_diff(&j, d);
    return done(&j, f, e);
}

static int json_gate(const struct gate *g, const struct export_options *o, FILE *f, struct err *e)
{
    struct json_tree j;
    tree_start(&j, '{');
    write_head(&j, o);
    tree_str(&j, "virtual_gpu", o->virtual_gpu);
    tree_str(&j, "verdict", comparison_verdict(g));
    tree_begin(&j, "checks", '[');
    for (size_t i = 0; i < g->check_count; i++) {
        const struct gate_check *c = &g->checks[i];
        tree_begin(&j, NULL, '{');
        tree_str(&j, "name", c->name);
        tree_str(&j, "verdict", text_check_verdict(c));
        tree_num(&j, "measured", c->measured, 6);
        tree_num(&j, "low", c->low, 6);
        tree_num(&j, "high", c->high, 6);
        tree_num(&j, "allowed", c->allowed, 6);
        tree_str(&j, "unit", c->unit);
        tree_str(&j, "why", c->why);
        tree_end(&j);
    }
    tree_end(&j);
    if (g->diff)
        write_diff(&j, g->diff);
    return done(&j, f, e);
}

const struct exporter export_json = {
    .name = "json",
    .suffix = ".json",
    .help = "everything, for programs (docs/json.md)",
    .analysis = json_analysis,
    .diff = json_diff,
    .gate = json_gate,
};
