/* From which line of the program the work comes that a finding is about. */
#include "analyzer/advice/passes.h"
#include "analyzer/queries/query.h"

#include <stdlib.h>

bool outcome_is_about(const struct facts *f, const struct outcome *o, uint32_t op)
{
    const struct aim *at = &o->edit.at;
    if (at->op_marks || at->gone_marks)
        return (at->op_marks && at->op_marks[op]) || (at->gone_marks && at->gone_marks[op]);
    if (at->ops)
        return at->ops(f, op);
    uint32_t example = o->example_count ? o->examples[0].op : TL_NONE;
    return example != TL_NONE && f->tl->ops[op].kind == OP_KERNEL &&
           f->tl->ops[op].name == f->tl->ops[example].name;
}

/* Sums by line; the line with most of them, 0: there is none. */
static uint32_t most_of(const struct facts *f, const struct outcome *o, double *share)
{
    const struct timeline *t = f->tl;
    size_t lines = t->stack_count * SPOOL_LINES + 1;
    int64_t *ns = calloc(lines + 1, sizeof *ns), all = 0;
    uint32_t best = 0;
    for (uint32_t i = 0; ns && i < t->op_count; i++) {
        if (!query_used(f, i) || !outcome_is_about(f, o, i))
            continue;
        uint32_t line = tl_op_line(t, i);
        all += t->ops[i].end_ns - t->ops[i].start_ns;
        ns[line] += t->ops[i].end_ns - t->ops[i].start_ns;
        if (line && (!best || ns[line] > ns[best]))
            best = line;
    }
    *share = best && all > 0 ? (double)ns[best] / (double)all : 0;
    free(ns);
    return best;
}

/* "; 83 % of that work comes from train.py:9 (Net.forward)" behind the summary. */
void outcome_say_where(const struct facts *f, struct arena *arena, struct outcome *o)
{
    double share;
    if (f->tl->launch_line_count == 0 || !o->summary || !o->edit.kind)
        return;
    uint32_t line = most_of(f, o, &share);
    if (share < QUERY_LINE_SHARE)
        return;
    char text[512];
    const char *more =
        arena_printf(arena, "%s; %.0f %% of that work comes from %s", o->summary, 100 * share,
                     timeline_line_text(f->tl, line, text, sizeof text));
    o->summary = more ? more : o->summary;
}
