/* Reads what the hook tells of a module, and finds the module's work. */
#include "analyzer/queries/kernels/modules.h"

#include "analyzer/facts/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct query_module query_module_of(const struct timeline *t, const char *key)
{
    struct query_module m = {.place = timeline_meta_place(t, key)};
    const char *text = timeline_meta(t, key), *end = text ? strpbrk(text, ",") : NULL;
    const char *at = text ? strstr(text, " at ") : NULL;
    if (!text)
        return m;
    if (!end || (at && at < end))
        end = at ? at : text + strlen(text);
    snprintf(m.name, sizeof m.name, "%.*s", (int)(end - text), text);
    m.times = *end == ',' ? strtoll(end + 1, NULL, 10) : 0;
    m.in_turn = strstr(end, ", in turn") != NULL;
    m.sequence = strstr(end, ", takes sequences") != NULL;
    m.same_input = strstr(end, ", same input") != NULL;
    return m;
}

bool query_in_module(const struct facts *f, const struct query_module *m, uint32_t op)
{
    uint32_t line = tl_op_line(f->tl, op);
    uint32_t stack = line ? facts_module_of(f->tl, tl_line_stack(line)) : TL_NONE;
    const char *name = stack == TL_NONE ? "" : tl_text(f->tl, f->tl->stacks[stack].function);
    const char *class = strstr(m->name, " (");
    if (!class) /* the names inside an outermost module do not begin with its own */
        return strcmp(name, m->name) == 0 || strstr(name, " (") != NULL;
    size_t n = (size_t)(class - m->name);
    return strncmp(name, m->name, n) == 0 && (name[n] == '.' || name[n] == ' ');
}

/* A kernel or another kind of operation, and how many there are, all and in the module. */
struct kind {
    uint32_t name, all, inside;
};

static int by_name(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

/* Kinds in the steps that carry lines, sorted by name. Returns their number. */
static size_t kinds_of(const struct facts *f, const struct query_module *m, struct kind *kinds)
{
    size_t n = 0, out = 0;
    for (uint32_t i = 0; i < f->tl->op_count; i++)
        if (query_used(f, i) && facts_gpu_lines_sum(f, i))
            kinds[n++] = (struct kind){f->tl->ops[i].full_name, 1, query_in_module(f, m, i)};
    if (n)
        qsort(kinds, n, sizeof *kinds, by_name);
    for (size_t i = 0; i < n; i++) {
        if (out && kinds[out - 1].name == kinds[i].name) {
            kinds[out - 1].all++;
            kinds[out - 1].inside += kinds[i].inside;
        } else
            kinds[out++] = kinds[i];
    }
    return out;
}

const bool *query_module_ops(const struct facts *f, struct arena *arena,
                             const struct query_module *m)
{
    bool *marks = arena_array(arena, f->tl->op_count + 1, sizeof *marks);
    struct kind *kinds = arena_array(arena, f->tl->op_count + 1, sizeof *kinds);
    size_t n = marks && kinds ? kinds_of(f, m, kinds) : 0;
    for (uint32_t i = 0; marks && i < f->tl->op_count; i++) {
        if (!query_used(f, i))
            continue;
        struct kind want = {f->tl->ops[i].full_name, 0, 0};
        const struct kind *k = n ? bsearch(&want, kinds, n, sizeof *kinds, by_name) : NULL;
        marks[i] = facts_gpu_lines_sum(f, i) || !k ? query_in_module(f, m, i)
                                                   : k->inside * 100 >= k->all * QUERY_ALMOST_PCT;
    }
    return marks;
}
