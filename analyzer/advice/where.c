/* Finds the line of the program from which a finding's GPU work comes. */
#include "analyzer/advice/passes.h"
#include "analyzer/queries/query.h"
#include "base/keymap.h"

#include <stdlib.h>
#include <string.h>

/* Returns the operation that is the finding's first example, or NULL if there is none (or if the
 * example is a gap before an operation). */
static const struct op *example_of(const struct facts *f, const struct outcome *o)
{
    uint32_t i = o->example_count ? o->examples[0].op : TL_NONE;
    const struct op *op = i == TL_NONE ? NULL : &f->tl->ops[i];
    return op && op->start_ns == o->examples[0].start_ns ? op : NULL;
}

bool outcome_is_about(const struct facts *f, const struct outcome *o, uint32_t op)
{
    const struct aim *at = &o->edit.at;
    if (at->op_marks || at->gone_marks)
        return (at->op_marks && at->op_marks[op]) || (at->gone_marks && at->gone_marks[op]);
    if (at->ops)
        return at->ops(f, op);
    const struct op *x = &f->tl->ops[op], *y = example_of(f, o);
    return y && x->kind == y->kind && x->name == y->name && x->copy_kind == y->copy_kind;
}

/* Returns the first line seen at the same place: a line may run in several modules, and no module
 * is known in the first steps. */
static uint32_t first_of(struct keymap *places, const struct timeline *t, uint32_t line)
{
    const struct row_stack *s = line ? &t->stacks[tl_line_stack(line)] : NULL;
    if (!s)
        return 0;
    struct key key = {{s->file, s->function, s->line, tl_line_way(tl_line_plain(line))}};
    uint32_t first = keymap_get(places, key);
    if (first == KEYMAP_NONE)
        keymap_put(places, key, line);
    return first == KEYMAP_NONE ? line : first;
}

/* Sums the finding's work by line. Returns the line with most of it, and *share of all; 0: there is
 * none. */
static uint32_t most_of(const struct facts *f, const struct outcome *o, double *share)
{
    const struct timeline *t = f->tl;
    size_t lines = t->stack_count * SPOOL_LINES + 1;
    int64_t *ns = calloc(lines + 1, sizeof *ns), all = 0;
    struct keymap places = {.slots = NULL};
    uint32_t best = 0;
    for (uint32_t i = 0; ns && i < t->op_count; i++) {
        if (!query_used(f, i) || !outcome_is_about(f, o, i))
            continue;
        uint32_t line = first_of(&places, t, tl_op_line(t, i));
        all += t->ops[i].end_ns - t->ops[i].start_ns;
        ns[line] += t->ops[i].end_ns - t->ops[i].start_ns;
        if (line && (!best || ns[line] > ns[best]))
            best = line;
    }
    *share = best && all > 0 ? (double)ns[best] / (double)all : 0;
    keymap_release(&places);
    free(ns);
    return best;
}

/* Names the line as the place of the call or copy to change. */
static void name_object(struct arena *arena, struct outcome *o, const char *line)
{
    struct remedy_object *object = &o->remedy.object;
    if (!object->place && (object->kind == OBJECT_CALL || object->kind == OBJECT_COPY))
        object->place = arena_printf(arena, "%.*s", (int)strcspn(line, " ,"), line);
}

/* Adds "; 83 % of that work comes from train.py:9 (Net.forward)" to the summary. Bounds without an
 * edit get it only if they are about copies, because then the example shows the work that the
 * finding is about. */
void outcome_say_where(const struct facts *f, struct arena *arena, struct outcome *o)
{
    double share;
    const struct op *shown = example_of(f, o);
    bool copies = shown && shown->kind == OP_COPY;
    if (f->tl->launch_line_count == 0 || !o->summary || !(o->edit.kind || copies))
        return;
    uint32_t line = most_of(f, o, &share);
    if (share < QUERY_LINE_SHARE)
        return;
    char text[512];
    const char *more = arena_printf(arena, "%s; %.0f %% of %s from %s", o->summary, 100 * share,
                                    copies ? "these copies come" : "that work comes",
                                    timeline_line_text(f->tl, line, text, sizeof text));
    if (share * 2 >= 1)
        name_object(arena, o, text);
    o->summary = more ? more : o->summary;
}
