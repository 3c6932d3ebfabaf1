/* Reads what the hook tells of functions that compute again: "Net.positions; angles, 100 % at model.py:12". */
#include "analyzer/queries/training/computed.h"

#include "wire/fact_keys.h"
#include "wire/spool_format.h"

#include <stdlib.h>
#include <string.h>

struct query_computed query_computed(const struct facts *f, struct arena *arena)
{
    const char *text = timeline_meta(f->tl, FACT_TORCH_AGAIN),
               *end = text ? strrchr(text, ',') : NULL;
    struct query_computed a = {.known = text != NULL};
    if (!end)
        return a;
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
