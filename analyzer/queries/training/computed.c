/* Reads what the hook tells of functions that compute again: "Net.positions; angles, 100 % at model.py:12". */
#include "analyzer/queries/training/computed.h"

#include "wire/fact_keys.h"
#include "wire/spool_format.h"

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

struct query_computed query_computed(const struct facts *f, struct arena *arena)
{
    const char *text = timeline_meta(f->tl, FACT_TORCH_AGAIN),
               *end = text ? strrchr(text, ',') : NULL;
    struct query_computed a = {.known = text != NULL};
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

bool query_computes_again(const struct facts *f, const struct query_computed *a, uint32_t op)
{
    uint32_t line = a->names ? tl_op_line(f->tl, op) : 0;
    if (!line || tl_line_way(line) != SPOOL_LINE_OWN)
        return false;
    return is_named(a->names, tl_text(f->tl, f->tl->stacks[tl_line_stack(line)].function));
}
