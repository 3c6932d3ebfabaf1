/* Finds lines of the program that a step visits again and again, and marks what they launch. */
#include "analyzer/queries/kernels/loops.h"

#include "analyzer/facts/lines.h"
#include "analyzer/queries/kernels/kinds.h"
#include "analyzer/queries/kernels/modules.h"
#include "base/keymap.h"
#include "wire/fact_keys.h"
#include "wire/spool_format.h"

#include <string.h>

/* A line; of those in several modules or processes, the first row. */
struct at {
    int64_t visits;      /* of this row: in the steps that carry lines */
    int64_t count, ns;   /* what the line launches, with its backward pass, in all used steps */
    bool products;       /* of this row: products, convolutions or attention in a module's call */
    bool known;          /* of this row: it is known whether a module runs */
    uint32_t first;      /* index of the line's first row */
    int64_t most_visits; /* of the line: in one module */
};

struct pass {
    const struct facts *f;
    struct at *at; /* by index in timeline.stacks */
    struct query_module repeated;
};

static bool is_product(const struct op *o)
{
    return o->class.family == FAMILY_GEMM || o->class.family == FAMILY_CONV ||
           o->class.family == FAMILY_ATTENTION;
}

/* -1: out of memory. */
static int join_rows(struct pass *p)
{
    const struct timeline *t = p->f->tl;
    struct keymap known = {0};
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < t->stack_count; i++) {
        const struct row_stack *s = &t->stacks[i];
        struct key line = {{s->file, s->function, s->line}};
        uint32_t first = keymap_get(&known, line);
        if (first == KEYMAP_NONE)
            rc = keymap_put(&known, line, first = i);
        p->at[i].first = first;
    }
    keymap_release(&known);
    return rc;
}

/* The row of the line that launches the op, in the steps that carry lines. TL_NONE: none. */
static uint32_t row_of(const struct pass *p, uint32_t op)
{
    uint32_t line = facts_gpu_lines_sum(p->f, op) ? tl_op_line(p->f->tl, op) : 0;
    return line && tl_line_way(line) == SPOOL_LINE_OWN ? tl_line_stack(line) : TL_NONE;
}

static void count_visits(struct pass *p)
{
    const struct timeline *t = p->f->tl;
    const struct thread *th = facts_main_thread(p->f);
    uint32_t last = TL_NONE;
    for (uint32_t c = th->first_api; c < th->first_api + th->apis; c++) {
        uint32_t op = t->apis[c].op, row = op == TL_NONE ? TL_NONE : row_of(p, op);
        if (row == TL_NONE)
            continue;
        uint32_t module = facts_module_of(t, row);
        p->at[row].visits += row != last;
        p->at[row].known = module != TL_NONE;
        p->at[row].products |= is_product(&t->ops[op]) && module != TL_NONE &&
                               strcmp(tl_text(t, t->stacks[module].function), SPOOL_NO_MODULE) != 0;
        last = row;
    }
}

/* Backward passes in the steps, as far as they have ranges. */
static int64_t backward_passes(const struct facts *f)
{
    int64_t n = 0;
    for (size_t i = 0; i < f->tl->range_count; i++) {
        const struct range *r = &f->tl->ranges[i];
        uint32_t step = strcmp(tl_text(f->tl, r->name), "backward") == 0
                            ? facts_step_at(f, r->start_ns)
                            : TL_NONE;
        n += step != TL_NONE && f->steps.at[step].used;
    }
    return n;
}

/* How many times a step runs the model: the fewest visits of a line that computes in a module, but
 * not more than there are backward passes, since a loop may call the model itself. */
static int64_t passes(const struct pass *p, int64_t steps)
{
    int64_t used = (int64_t)p->f->steps.used, backward = backward_passes(p->f);
    int64_t fewest = backward ? (backward * steps + used / 2) / used : INT64_MAX;
    for (uint32_t i = 0; i < p->f->tl->stack_count; i++)
        if (p->at[i].products && p->at[i].visits < fewest)
            fewest = p->at[i].visits;
    return fewest == INT64_MAX || fewest < steps ? 1 : (fewest + steps / 2) / steps;
}

/* False for what other rules are about, and for graphs. */
static bool counts(const struct pass *p, uint32_t op)
{
    return query_used(p->f, op) && !p->f->tl->ops[op].in_graph &&
           query_is_optimizer(p->f, op) == QUERY_NO && query_is_zeroing(p->f, op) == QUERY_NO &&
           !(p->repeated.times > 1 && query_in_module(p->f, &p->repeated, op));
}

static uint32_t line_of(const struct pass *p, uint32_t op)
{
    uint32_t line = counts(p, op) ? tl_op_line(p->f->tl, op) : 0;
    return line ? p->at[tl_line_stack(line)].first : TL_NONE;
}

/* True if the line belongs to a loop, and what it launches is short: long work fills the GPU. */
static bool loops(const struct at *line, int64_t least)
{
    return line->most_visits >= least && line->count > 0 &&
           line->ns / line->count <= QUERY_PIECE_NS;
}

static void sum_lines(struct pass *p)
{
    for (uint32_t i = 0; i < p->f->tl->stack_count; i++) {
        const struct at *row = &p->at[i];
        struct at *line = &p->at[row->first];
        if (row->known && row->visits > line->most_visits)
            line->most_visits = row->visits;
    }
    for (uint32_t i = 0; i < p->f->tl->op_count; i++) {
        uint32_t at = line_of(p, i);
        if (at == TL_NONE)
            continue;
        p->at[at].count++;
        p->at[at].ns += p->f->tl->ops[i].end_ns - p->f->tl->ops[i].start_ns;
    }
}

/* Marks what the lines launch that a step runs `least` times or more. *most: that with most of it. */
static void mark_lines(struct pass *p, bool *marks, int64_t least, const struct at **most)
{
    for (uint32_t i = 0; i < p->f->tl->op_count; i++) {
        uint32_t at = line_of(p, i);
        marks[i] = at != TL_NONE && loops(&p->at[at], least);
        if (marks[i] && (!*most || p->at[at].count > (*most)->count))
            *most = &p->at[at];
    }
}

/* In steps whose launches carry no lines, similar lines of a loop are not told apart: there kernels
 * decide. Returns how many are marked. */
static int64_t mark_others(const struct pass *p, struct arena *arena, bool *marks)
{
    struct query_kinds kinds = query_kinds(p->f, arena, marks);
    int64_t n = 0;
    for (uint32_t i = 0; i < p->f->tl->op_count; i++) {
        marks[i] |= counts(p, i) && !facts_gpu_lines_sum(p->f, i) &&
                    query_kind_is_marked(query_kind_of(p->f, &kinds, i));
        n += marks[i];
    }
    return n;
}

struct query_loops query_loops(const struct facts *f, struct arena *arena)
{
    struct query_loops out = {.op_marks = NULL};
    struct pass p = {.f = f, .repeated = query_module_of(f->tl, FACT_TORCH_MODULES_REPEATED)};
    int64_t steps = (int64_t)facts_gpu_lines(f)->steps;
    const struct at *most = NULL;
    if (steps == 0 || facts_gpu_lines(f)->module_ns == 0 || f->tl->thread_count == 0)
        return out;
    p.at = arena_array(arena, f->tl->stack_count + 1, sizeof *p.at);
    bool *marks = arena_array(arena, f->tl->op_count + 1, sizeof *marks);
    if (!p.at || !marks || join_rows(&p) < 0)
        return out;
    count_visits(&p);
    sum_lines(&p);
    mark_lines(&p, marks, QUERY_LOOP_VISITS * steps * passes(&p, steps), &most);
    if (!most)
        return out;
    return (struct query_loops){marks, mark_others(&p, arena, marks),
                                (most->most_visits + steps / 2) / steps};
}
