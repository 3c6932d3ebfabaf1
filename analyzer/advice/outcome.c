/* Fills outcomes: evidence, examples, savings and remedies. See outcome.h. */
#include "analyzer/advice/outcome.h"
#include "analyzer/advice/limits.h"
#include "analyzer/advice/rule.h"
#include "analyzer/queries/lines.h"
#include "analyzer/queries/query.h"

#include <string.h>

static void add_evidence(struct outcome *o, struct evidence e)
{
    if (o->evidence_count < sizeof o->evidence / sizeof *o->evidence)
        o->evidence[o->evidence_count++] = e;
}

void outcome_evidence(struct outcome *o, const char *text, double value, const char *unit,
                      const char *sql)
{
    add_evidence(o, (struct evidence){text, EVIDENCE_OF_ALL, value, unit, sql});
}

void outcome_evidence_per(struct outcome *o, const char *text, double value, const char *unit,
                          const char *sql)
{
    add_evidence(o, (struct evidence){text, EVIDENCE_PER_UNIT, value, unit, sql});
}

void outcome_evidence_share(struct outcome *o, const char *text, double pct, const char *sql)
{
    add_evidence(o, (struct evidence){text, EVIDENCE_SHARE, pct, "%", sql});
}

const char *evidence_scope(const struct facts *f, const struct evidence *e)
{
    const struct scope_words *w = scope_words(f);
    return e->per == EVIDENCE_PER_UNIT ? w->per : e->per == EVIDENCE_SHARE ? w->of : "";
}

const char *evidence_gap(const struct evidence *e)
{
    return e->per == EVIDENCE_OF_ALL ? "" : " ";
}

#define GAPS(cause)                                                                                \
    "SELECT * FROM gap WHERE cause = (SELECT id FROM string WHERE text = '" cause "')"

const char *outcome_idle_sql(const struct facts *f, enum part part)
{
    static const char *const sql[PART_COUNT] = {
        [PART_IDLE_INPUT] = GAPS("idle_input"),   [PART_IDLE_SYNC] = GAPS("idle_sync"),
        [PART_IDLE_ALLOC] = GAPS("idle_alloc"),   [PART_IDLE_HOST] = GAPS("idle_host"),
        [PART_IDLE_LAUNCH] = GAPS("idle_launch"),
    };
    for (size_t i = 0; i < f->gap_count; i++)
        if (f->gaps[i].part == part)
            return sql[part];
    return NULL;
}

void outcome_evidence_idle(struct outcome *o, const struct facts *f, const char *text, double value,
                           enum part part)
{
    outcome_evidence_per(o, text, value, "ms", outcome_idle_sql(f, part));
}

void outcome_example(struct outcome *o, int64_t start_ns, int64_t end_ns, const char *text,
                     uint32_t op)
{
    if (o->example_count < sizeof o->examples / sizeof *o->examples)
        o->examples[o->example_count++] = (struct example){start_ns, end_ns, text, NULL, op};
}

const char *outcome_caller(const struct timeline *t, uint32_t api)
{
    uint32_t caller = api == TL_NONE ? 0 : t->apis[api].caller;
    return caller ? tl_text(t, caller) : NULL;
}

static void example_of(struct outcome *o, const struct timeline *t, struct example x, uint32_t api)
{
    size_t n = o->example_count;
    outcome_example(o, x.start_ns, x.end_ns, x.text, x.op);
    if (o->example_count > n)
        o->examples[n].caller = outcome_caller(t, api);
}

void outcome_example_op(struct outcome *o, const struct timeline *t, uint32_t op, const char *text)
{
    if (op != TL_NONE)
        example_of(o, t,
                   (struct example){.start_ns = t->ops[op].start_ns,
                                    .end_ns = t->ops[op].end_ns,
                                    .text = text,
                                    .op = op},
                   t->ops[op].api);
}

void outcome_example_call(struct outcome *o, const struct timeline *t, uint32_t api,
                          const char *text)
{
    if (api != TL_NONE)
        example_of(o, t,
                   (struct example){.start_ns = t->apis[api].start_ns,
                                    .end_ns = t->apis[api].end_ns,
                                    .text = text,
                                    .op = TL_NONE},
                   api);
}

void outcome_fires(struct outcome *o, int64_t exclusive_ns, const char *summary)
{
    o->verdict = RULE_FIRES;
    o->summary = summary;
    o->saves_low_ns = 0;
    o->saves_mid_ns = o->error_class == ERROR_STRUCTURAL
                          ? exclusive_ns
                          : (int64_t)(ADVICE_BOUND_MIDDLE * (double)exclusive_ns);
    o->saves_high_ns = o->most_ns > exclusive_ns ? o->most_ns : exclusive_ns;
    o->upper_bound = true;
}

static bool gap_used(const struct facts *f, const struct gap *g)
{
    return g->step != TL_NONE && f->steps.at[g->step].used;
}

void outcome_example_gaps(struct outcome *o, const struct facts *f, enum part part,
                          const char *text)
{
    int64_t below = INT64_MAX;
    for (int n = 0; n < 3; n++) {
        const struct gap *best = NULL;
        for (size_t i = 0; i < f->gap_count; i++) {
            const struct gap *g = &f->gaps[i];
            int64_t v = gap_ns(f, g, part);
            if (gap_used(f, g) && v > 0 && v < below && (!best || v > gap_ns(f, best, part)))
                best = g;
        }
        if (!best)
            return;
        below = gap_ns(f, best, part);
        example_of(o, f->tl,
                   (struct example){.start_ns = best->start_ns,
                                    .end_ns = best->end_ns,
                                    .text = text,
                                    .op = best->before_op},
                   best->api);
    }
}

int64_t outcome_of_ns(const struct facts *f, const struct outcome *o)
{
    return o->of_run ? f->run_ns : f->step_ns;
}

const struct scope_words *outcome_scope(const struct facts *f, const struct outcome *o)
{
    return o->of_run ? scope_words_of_run(f) : scope_words(f);
}

const char *outcome_remedy(const struct facts *f, const struct outcome *o)
{
    const char *text = o->words[dialect_framework(f)];
    return text ? text : o->words[FRAMEWORK_PYTORCH] ? o->words[FRAMEWORK_PYTORCH] : "";
}

const char *outcome_place(const struct outcome *o)
{
    const char *place = o->remedy.object.place;
    return place || !o->example_count ? place : o->examples[0].caller;
}

bool outcome_changes_training(const struct outcome *o)
{
    return o->rule->changes_training && !o->trains_not;
}

void outcome_look_at(struct outcome *o, struct arena *arena, const struct query_cause *c)
{
    const struct line *l = c->line;
    o->title = arena_printf(arena, "Look at %s%s", *l->function ? l->function : l->place,
                            *l->function ? "()" : "");
    o->remedy.action = ACTION_SHORTEN_LINE;
    o->remedy.object.place = l->place;
    if (query_line_updates(l)) {
        o->title = "Make the optimizer's step cheaper";
        o->remedy.action = ACTION_FUSE_HOST_UPDATE;
        o->remedy.conditions[CONDITION_SPARSE] = strstr(l->called, "Sparse") != NULL;
    }
    o->remedy.conditions[CONDITION_COMPUTES] = l->does != LINE_SLEEPS && l->does != LINE_DISK;
}
