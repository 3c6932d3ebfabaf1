/* Reads what the hook tells of functions that compute again, "Net.positions; angles, 100 % at model.py:12",
 * and of modules, "made (Generator), 4 of 8; cell.weight (ParametrizationList), 46 of 48 at train.py:9". */
#include "analyzer/queries/kernels/computed.h"

#include "analyzer/facts/lines.h"
#include "wire/fact_keys.h"
#include "wire/spool_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ONE_BATCH[] = "one batch: ";

/* True if a copy brings more than a few numbers to the GPU in most steps. */
static bool brings_data(const struct facts *f)
{
    int64_t copies = 0;
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        const struct op *o = &f->tl->ops[i];
        copies += o->kind == OP_COPY && o->copy_kind == COPY_H2D && o->bytes > QUERY_ANSWER_BYTES &&
                  query_used(f, i);
    }
    return copies * 2 > (int64_t)f->steps.used;
}

/* Takes the names behind " but " out of that of a first outermost module. */
static void read_outermost(struct query_same *s, struct arena *arena)
{
    char *but = strstr(s->module.name, " but ");
    if (but) {
        s->but = arena_printf(arena, "%s", but + strlen(" but "));
        *but = '\0';
    }
    s->outermost = !strstr(s->module.name, " (");
}

/* True if the list of words has the first `n` bytes of `name`. */
static bool has_word(const char *list, const char *name, size_t n)
{
    for (const char *at = list; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && strncmp(at, name, n) == 0)
            return true;
    return false;
}

static bool is_in(const struct facts *f, const struct query_same *s, uint32_t op)
{
    if (!s->outermost)
        return query_in_module(f, &s->module, op);
    uint32_t line = tl_op_line(f->tl, op);
    uint32_t stack = line ? facts_module_of(f->tl, tl_line_stack(line)) : TL_NONE;
    const char *name = stack == TL_NONE ? "" : tl_text(f->tl, f->tl->stacks[stack].function);
    size_t n = strcspn(name, ".");
    if (strcmp(name, s->module.name) == 0)
        return !s->but || !has_word(s->but, name, strlen(name));
    if (s->but)
        return strstr(name, " (") && !(name[n] && has_word(s->but, name, n));
    return name[n] && strlen(s->module.name) == n && strncmp(name, s->module.name, n) == 0;
}

static void read_modules(const struct facts *f, struct arena *arena, struct query_computed *a)
{
    const char *at = timeline_meta(f->tl, FACT_TORCH_MODULES_AGAIN);
    const char *place = timeline_meta_place(f->tl, FACT_TORCH_MODULES_AGAIN);
    while (at && a->module_count < QUERY_SAME_MODULES) {
        struct query_same *m = &a->modules[a->module_count];
        const char *comma = strchr(at, ','), *of = comma ? strstr(comma, " of ") : NULL;
        if (!of)
            return;
        *m = (struct query_same){.module.place = place};
        snprintf(m->module.name, sizeof m->module.name, "%.*s", (int)(comma - at), at);
        m->again = strtoll(comma + 1, NULL, 10);
        m->calls = strtoll(of + 4, NULL, 10);
        read_outermost(m, arena);
        m->parametrized = strstr(m->module.name, "(ParametrizationList)") != NULL;
        a->module_count += m->again > 0 && m->calls >= m->again;
        at = strstr(of, "; ");
        at = at ? at + 2 : NULL;
    }
}

struct query_computed query_computed(const struct facts *f, struct arena *arena)
{
    const char *text = timeline_meta(f->tl, FACT_TORCH_AGAIN),
               *end = text ? strrchr(text, ',') : NULL;
    struct query_computed a = {.known = text != NULL};
    read_modules(f, arena, &a);
    a.known |= a.module_count > 0;
    if (!end)
        return a;
    /* Where nothing new comes to a step, a model is timed on one batch, and nothing is to be kept. */
    if (strncmp(text, ONE_BATCH, strlen(ONE_BATCH)) == 0) {
        if (!brings_data(f))
            return a;
        text += strlen(ONE_BATCH);
    }
    a.names = arena_printf(arena, "%.*s", (int)(end - text), text);
    a.place = timeline_meta_place(f->tl, FACT_TORCH_AGAIN);
    a.pct = strtoll(end + 1, NULL, 10);
    return a;
}

static bool is_named(const char *names, const char *function)
{
    size_t n = strlen(function);
    for (const char *at = names; n && (at = strstr(at, function)); at += n)
        if ((at == names || at[-1] == ' ') && (!at[n] || at[n] == ';'))
            return true;
    return false;
}

int64_t query_computes_again(const struct facts *f, const struct query_computed *a, uint32_t op,
                             size_t *module)
{
    *module = QUERY_SAME_MODULES;
    uint32_t line = a->names || a->module_count ? tl_op_line(f->tl, op) : 0;
    if (!line)
        return 0;
    /* Each use of a computed weight has a backward pass. Of other modules it is not known how many calls
     * have one, so only their forward work counts. */
    for (size_t i = 0; i < a->module_count; i++) {
        const struct query_same *s = &a->modules[i];
        if ((s->parametrized || tl_line_way(line) == SPOOL_LINE_OWN) && is_in(f, s, op)) {
            *module = i;
            return 100 * s->again / s->calls;
        }
    }
    bool named = a->names && tl_line_way(line) == SPOOL_LINE_OWN &&
                 is_named(a->names, tl_text(f->tl, f->tl->stacks[tl_line_stack(line)].function));
    return named ? a->pct : 0;
}
