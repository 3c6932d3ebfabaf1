/* Everything for programs: the schema is docs/json.md, `schema` counts its incompatible changes. */
#include "report/export.h"
#include "report/json/json_facts.h"
#include "report/words/text.h"

enum { SCHEMA = 1 };

static void write_head(struct json *j, const struct export_options *o)
{
    json_int(j, "schema", SCHEMA);
    json_str(j, "gpuprof_version", GPUPROF_VERSION);
    json_str(j, "source", o->source);
    if (o->base_source)
        json_str(j, "base_source", o->base_source);
}

static void write_finding(struct json *j, const struct outcome *o)
{
    json_begin(j, NULL, '{');
    json_str(j, "rule", o->rule->id);
    json_str(j, "title", o->rule->title);
    json_str(j, "summary", o->summary);
    json_begin(j, "saves_ms", '{');
    json_ms(j, "low", o->saves_low_ns);
    json_ms(j, "mid", o->saves_mid_ns);
    json_ms(j, "high", o->saves_high_ns);
    json_end(j, '}');
    json_ms(j, "widened_ms", o->widened_ns);
    json_int(j, "widened_after_trials", (int64_t)o->widened_after);
    json_str(j, "kind", text_outcome_kind(o));
    json_str(j, "error_class", text_error_class(o->error_class));
    json_begin(j, "evidence", '[');
    for (size_t i = 0; i < o->evidence_count; i++) {
        json_begin(j, NULL, '{');
        json_str(j, "text", o->evidence[i].text);
        json_num(j, "value", o->evidence[i].value, 6);
        json_str(j, "unit", o->evidence[i].unit);
        json_str(j, "sql", o->evidence[i].sql);
        json_end(j, '}');
    }
    json_end(j, ']');
    json_begin(j, "examples", '[');
    for (size_t i = 0; i < o->example_count; i++) {
        json_begin(j, NULL, '{');
        json_ms(j, "start_ms", o->examples[i].start_ns);
        json_ms(j, "end_ms", o->examples[i].end_ns);
        json_str(j, "text", o->examples[i].text);
        json_end(j, '}');
    }
    json_end(j, ']');
    json_begin(j, "remedy", '{');
    json_str(j, "pytorch", o->remedy.pytorch);
    json_str(j, "tensorflow", o->remedy.tensorflow);
    json_str(j, "cuda", o->remedy.cuda);
    json_end(j, '}');
    json_str(j, "knob", o->knob);
    json_end(j, '}');
}

/* Rules with one verdict, each with one sentence under `key`. */
static void write_others(struct json *j, const struct advice *a, const struct export_options *o,
                         enum verdict v, const char *list, const char *key)
{
    json_begin(j, list, '[');
    for (size_t i = 0; i < a->outcome_count; i++) {
        const struct outcome *x = shown_outcome(a, o, i, v);
        if (!x)
            continue;
        json_begin(j, NULL, '{');
        json_str(j, "rule", x->rule->id);
        json_str(j, key, x->why);
        json_end(j, '}');
    }
    json_end(j, ']');
}

/* Below 0 it is not known. */
static void json_pct(struct json *j, const char *key, double pct)
{
    if (pct < 0)
        json_null(j, key);
    else
        json_num(j, key, pct, 3);
}

static void write_whatif(struct json *j, const struct advice *a)
{
    const struct whatif *w = &a->whatif;
    json_begin(j, "replay", '{');
    json_bool(j, "trusted", w->trusted);
    json_str(j, "why_not", w->why_not);
    json_int(j, "steps", (int64_t)w->steps);
    json_int(j, "tasks", (int64_t)w->tasks);
    json_int(j, "violations", (int64_t)w->violations);
    json_ms(j, "step_ms", w->step_ns);
    bool none = w->tasks == 0; /* nothing was replayed: nothing is known */
    json_pct(j, "identity_error_pct", none ? -1 : w->identity_error_pct);
    json_pct(j, "unexplained_pct", none ? -1 : w->unexplained_pct);
    json_pct(j, "class_error_pct", none ? -1 : w->class_error_pct);
    json_pct(j, "holdout_error_pct", w->holdout_error_pct);
    json_pct(j, "holdout_p95_pct", w->holdout_p95_pct);
    json_begin(j, "saves_at_most_ms", '{');
    json_ms(j, "host", w->host_bound_ns);
    json_ms(j, "waits", w->wait_bound_ns);
    json_ms(j, "communication", w->comm_bound_ns);
    json_ms(j, "input", w->input_bound_ns);
    json_end(j, '}');
    json_begin(j, "critical_path", '[');
    for (int i = 0; i < PATH_CLASSES; i++) {
        const struct path_share *p = &w->path[i];
        if (p->path_ns == 0 && p->idle_ns == 0)
            continue;
        json_begin(j, NULL, '{');
        json_str(j, "class", path_key[i]);
        json_ms(j, "path_ms", p->path_ns);
        json_ms(j, "idle_ms", p->idle_ns);
        json_ms(j, "worth_ms", p->worth_ns);
        json_end(j, '}');
    }
    json_end(j, ']');
    json_begin(j, "stack", '[');
    for (size_t i = 0; i < a->stack_count; i++) {
        json_begin(j, NULL, '{');
        json_str(j, "rule", a->stack[i].outcome->rule->id);
        json_str(j, "knob", a->stack[i].outcome->knob);
        json_ms(j, "saves_ms", a->stack[i].saves_ns);
        json_ms(j, "step_ms", a->stack[i].step_ns);
        json_ms(j, "step_low_ms", a->stack[i].step_low_ns);
        json_ms(j, "step_high_ms", a->stack[i].step_high_ns);
        json_end(j, '}');
    }
    json_end(j, ']');
    json_end(j, '}');
}

static void write_trials(struct json *j, const struct export_options *o)
{
    json_begin(j, "verification", '[');
    for (size_t i = 0; i < o->trial_count; i++) {
        const struct kept_trial *k = &o->trials[i];
        json_begin(j, NULL, '{');
        json_str(j, "rule", *k->rule ? k->rule : NULL);
        json_str(j, "knob", k->knob);
        json_str(j, "verdict", k->verdict);
        if (k->predicted_mid_ns < 0) {
            json_null(j, "predicted_ms");
        } else {
            json_begin(j, "predicted_ms", '{');
            json_ms(j, "low", k->predicted_low_ns);
            json_ms(j, "mid", k->predicted_mid_ns);
            json_ms(j, "high", k->predicted_high_ns);
            json_end(j, '}');
        }
        json_begin(j, "measured_ms", '{');
        json_ms(j, "low", k->measured_low_ns);
        json_ms(j, "mid", k->measured_mid_ns);
        json_ms(j, "high", k->measured_high_ns);
        json_end(j, '}');
        json_ms(j, "without_ms", k->step_ns);
        json_int(j, "runs_without", k->runs_without);
        json_int(j, "runs_with", k->runs_with);
        json_int(j, "tried_realtime_s", k->tried_realtime_ns / 1000000000);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static int json_analysis(const struct advice *a, const struct export_options *o, FILE *f,
                         struct err *e)
{
    struct json j;
    json_start(&j, f);
    j.indent = 2;
    json_begin(&j, NULL, '{');
    write_head(&j, o);
    json_str(&j, "command", timeline_meta(a->facts->tl, "command"));
    json_str(&j, "verdict", a->verdict);
    json_str(&j, "verdict_class", a->verdict_class);
    json_str(&j, "why", a->why);
    json_str(&j, "next", a->next);
    json_facts(&j, a);
    json_begin(&j, "findings", '[');
    const struct outcome *x;
    for (size_t i = 0; (x = shown_finding(a, o, i)); i++)
        write_finding(&j, x);
    json_end(&j, ']');
    json_ms(&j, "stacked_ms", stacked_saving_ns(a));
    if (a->whatif.tasks || a->whatif.why_not)
        write_whatif(&j, a);
    write_others(&j, a, o, RULE_SUPPRESSED, "suppressed", "why");
    write_others(&j, a, o, RULE_CANNOT_TELL, "cannot_tell", "missing");
    write_others(&j, a, o, RULE_SILENT, "fine", "measured");
    write_trials(&j, o);
    json_health(&j, a);
    json_end(&j, '}');
    if (json_end_document(&j))
        return export_done(f, e) ? -1 : err_set(e, "internal: JSON nesting");
    return 0;
}

/* What `try` compares. */
static void write_pace(struct json *j, const struct diff *d)
{
    if (!d->enough) {
        json_null(j, "pace_ms");
        return;
    }
    json_begin(j, "pace_ms", '{');
    json_ms(j, "base", d->pace.base_ns);
    json_ms(j, "new", d->pace.new_ns);
    json_num(j, "ratio", d->pace.ratio, 6);
    json_num(j, "ratio_low", d->pace.ratio_low, 6);
    json_num(j, "ratio_high", d->pace.ratio_high, 6);
    json_end(j, '}');
}

static void write_diff(struct json *j, const struct diff *d)
{
    json_begin(j, "step_ms", '{');
    json_ms(j, "base", d->base_ns);
    json_ms(j, "new", d->new_ns);
    json_num(j, "ratio", d->ratio, 6);
    if (d->enough) {
        json_num(j, "ratio_low", d->ratio_low, 6);
        json_num(j, "ratio_high", d->ratio_high, 6);
    } else {
        json_null(j, "ratio_low");
        json_null(j, "ratio_high");
    }
    json_end(j, '}');
    write_pace(j, d);
    json_bool(j, "enough_steps", d->enough);
    json_str(j, "not_comparable", d->comparable);
    json_begin(j, "changes", '[');
    for (size_t i = 0; i < d->change_count; i++) {
        json_begin(j, NULL, '{');
        json_str(j, "what", d->changes[i].what);
        json_str(j, "kind", d->changes[i].kind);
        json_ms(j, "base_ms", d->changes[i].base_ns);
        json_ms(j, "new_ms", d->changes[i].new_ns);
        json_ms(j, "change_ms", d->changes[i].new_ns - d->changes[i].base_ns);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static int json_diff(const struct diff *d, const struct export_options *o, FILE *f, struct err *e)
{
    struct json j;
    json_start(&j, f);
    j.indent = 2;
    json_begin(&j, NULL, '{');
    write_head(&j, o);
    json_str(&j, "virtual_gpu", o->virtual_gpu);
    write_diff(&j, d);
    json_end(&j, '}');
    json_end_document(&j);
    return export_done(f, e);
}

static int json_gate(const struct gate *g, const struct export_options *o, FILE *f, struct err *e)
{
    struct json j;
    json_start(&j, f);
    j.indent = 2;
    json_begin(&j, NULL, '{');
    write_head(&j, o);
    json_str(&j, "virtual_gpu", o->virtual_gpu);
    json_str(&j, "verdict", text_gate_verdict(g->verdict));
    json_begin(&j, "checks", '[');
    for (size_t i = 0; i < g->check_count; i++) {
        const struct gate_check *c = &g->checks[i];
        json_begin(&j, NULL, '{');
        json_str(&j, "name", c->name);
        json_str(&j, "verdict", text_gate_verdict(c->verdict));
        json_num(&j, "measured", c->measured, 6);
        json_num(&j, "low", c->low, 6);
        json_num(&j, "high", c->high, 6);
        json_num(&j, "allowed", c->allowed, 6);
        json_str(&j, "unit", c->unit);
        json_str(&j, "why", c->why);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    if (g->diff)
        write_diff(&j, g->diff);
    json_end(&j, '}');
    json_end_document(&j);
    return export_done(f, e);
}

const struct exporter export_json = {
    .name = "json",
    .suffix = ".json",
    .help = "everything, for programs (docs/json.md)",
    .analysis = json_analysis,
    .diff = json_diff,
    .gate = json_gate,
};
