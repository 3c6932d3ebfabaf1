/* Sums a list of lines up to their callers. */
#include "analyzer/queries/calls.h"

#include "base/keymap.h"
#include "wire/python_owner.h"

#include <string.h>

enum { DEEPEST = 1024 };

/* A line of the user's own code, at the first stack with it. */
struct sum {
    int64_t ns;
    uint32_t depth; /* frames above it, the most of all stacks */
    uint32_t last;  /* the stack that was added last, + 1: a recursion counts once */
};

/* Index of the first stack with this line; TL_NONE: no line of the user's, or out of memory. */
static uint32_t line_key(const struct timeline *t, struct keymap *lines, uint32_t frame)
{
    const struct row_stack *s = &t->stacks[frame];
    struct key key = {{s->file, s->function, s->line}};
    if (s->line <= 0 || python_owner(tl_text(t, s->file)) != PYTHON_OF_USER)
        return TL_NONE;
    uint32_t at = keymap_get(lines, key);
    if (at == KEYMAP_NONE)
        at = keymap_put(lines, key, frame) < 0 ? TL_NONE : frame;
    return at;
}

static void add_stack(const struct timeline *t, struct keymap *lines, struct sum *sums,
                      uint32_t stack, int64_t ns)
{
    uint32_t frames[DEEPEST], n = 0;
    for (uint32_t i = stack; i != TL_NONE && n < DEEPEST;
         i = timeline_stack_index(t, t->stacks[i].caller))
        frames[n++] = i;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = line_key(t, lines, frames[k]);
        if (at == TL_NONE || sums[at].last == stack + 1)
            continue;
        sums[at].ns += ns;
        sums[at].last = stack + 1;
        if (n - k > sums[at].depth)
            sums[at].depth = n - k;
    }
}

struct query_calls query_calls(const struct facts *f, struct arena *arena, enum lines_of which,
                               int64_t least)
{
    const struct timeline *t = f->tl;
    const struct lines *l = facts_lines(f, which);
    struct query_calls found = {.place = NULL, .function = ""};
    struct keymap lines = {0};
    struct sum *sums = arena_array(arena, t->stack_count + 1, sizeof *sums), *best = NULL;
    for (uint32_t i = 0; sums && l->stack_ns && i < t->stack_count; i++)
        if (l->stack_ns[i] > 0)
            add_stack(t, &lines, sums, i, l->stack_ns[i]);
    for (uint32_t i = 0; sums && i < t->stack_count; i++)
        if (sums[i].ns >= least && sums[i].ns > 0 &&
            (!best || sums[i].ns < best->ns ||
             (sums[i].ns == best->ns && sums[i].depth > best->depth)))
            best = &sums[i];
    keymap_release(&lines);
    if (!best)
        return found;
    const struct row_stack *s = &t->stacks[best - sums];
    const char *function = tl_text(t, s->function);
    found.place =
        arena_printf(arena, "%s:%lld", python_short_file(tl_text(t, s->file)), (long long)s->line);
    found.function = strcmp(function, "<module>") == 0 ? "" : function;
    found.ns = best->ns;
    return found;
}

const char *query_calls_text(const struct query_calls *c, struct arena *arena)
{
    return arena_printf(arena, "%s%s%s and what it calls", c->function, *c->function ? "() " : "",
                        c->place);
}
