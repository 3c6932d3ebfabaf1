/* Reads what the hook tells of a module, and finds the module's work. */
#include "analyzer/queries/kernels/modules.h"

#include "analyzer/facts/lines.h"
#include "analyzer/queries/kernels/kinds.h"

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
    m.cell = strstr(end, ", a cell") != NULL;
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

const bool *query_module_ops(const struct facts *f, struct arena *arena,
                             const struct query_module *m)
{
    bool *marks = arena_array(arena, f->tl->op_count + 1, sizeof *marks);
    for (uint32_t i = 0; marks && i < f->tl->op_count; i++)
        marks[i] = query_used(f, i) && query_in_module(f, m, i);
    struct query_kinds kinds = {0};
    if (marks)
        kinds = query_kinds(f, arena, marks);
    for (uint32_t i = 0; i < f->tl->op_count && kinds.n; i++) {
        const struct query_kind *k = query_kind_of(f, &kinds, i);
        if (k && query_used(f, i) && !facts_gpu_lines_sum(f, i))
            marks[i] = query_kind_is_marked(k);
    }
    return marks;
}
