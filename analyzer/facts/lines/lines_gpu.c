/* GPU time by line of the program. Sums the used steps whose launches carry lines; if no step does,
 * sums all used steps, with lines taken from matching launches of other steps. */
#include "analyzer/facts/lines/lines_parts.h"
#include "analyzer/facts/limits.h"

#include <stdlib.h>
#include <string.h>

static struct gpu_line *line_of(struct gpu_lines *g, uint32_t *at, const struct timeline *t,
                                uint32_t stack)
{
    for (size_t i = 0; !at[stack] && i < g->count; i++)
        if (stack_same_line(t, g->at[i].stack, stack))
            at[stack] = (uint32_t)i + 1;
    if (!at[stack]) {
        g->at[g->count] = (struct gpu_line){.stack = stack};
        at[stack] = (uint32_t)++g->count;
    }
    return &g->at[at[stack] - 1];
}

struct pass {
    const struct facts *f;
    uint32_t *line_at;           /* by stack (of a line or a module): index + 1 in its
                                    list, 0 = not listed yet */
    int64_t *work_ns, *lined_ns; /* by step: time of its work, and of the work whose
                                    launch carries a line itself */
    bool in_all; /* no step carries lines: all used steps are summed, with matched lines */
};

static bool counts(const struct facts *f, uint32_t op)
{
    uint32_t step = f->steps.op_step[op];
    return step != TL_NONE && f->steps.at[step].used &&
           (f->steps.device == TL_NONE || tl_op_device(f->tl, op) == f->steps.device);
}

/* True if nearly all of the step's work has a line. The agent records lines in stretches, and one
 * may end within the step. */
static bool carries(const struct pass *p, uint32_t step)
{
    return p->work_ns[step] > 0 &&
           (double)p->lined_ns[step] >= FACTS_STEP_LINED * (double)p->work_ns[step];
}

static void find_steps_with_lines(struct pass *p)
{
    const struct timeline *t = p->f->tl;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (!counts(p->f, i))
            continue;
        uint32_t step = p->f->steps.op_step[i];
        const struct api *a = o->api == TL_NONE ? NULL : &t->apis[o->api];
        p->work_ns[step] += o->end_ns - o->start_ns;
        p->lined_ns[step] += a && a->line && !a->line_matched ? o->end_ns - o->start_ns : 0;
    }
    p->in_all = true;
    for (uint32_t i = 0; i < p->f->steps.count; i++)
        p->in_all &= !carries(p, i);
}

static void add_module(struct pass *p, struct gpu_lines *g, uint32_t stack, int64_t ns)
{
    const struct timeline *t = p->f->tl;
    uint32_t module = facts_module_of(t, stack);
    if (module == TL_NONE)
        return;
    for (size_t i = 0; !p->line_at[module] && i < g->module_count; i++)
        if (t->stacks[g->modules[i].stack].function == t->stacks[module].function)
            p->line_at[module] = (uint32_t)i + 1;
    if (!p->line_at[module]) {
        const char *name = tl_text(t, t->stacks[module].function);
        g->modules[g->module_count] = (struct gpu_module){.name = name, .stack = module};
        p->line_at[module] = (uint32_t)++g->module_count;
    }
    g->modules[p->line_at[module] - 1].ns += ns;
    g->module_ns += ns;
}

static void add(struct pass *p, struct gpu_lines *g, uint32_t op)
{
    const struct timeline *t = p->f->tl;
    const struct op *o = &t->ops[op];
    uint32_t line = tl_op_line(t, op);
    int64_t ns = o->end_ns - o->start_ns;
    g->ns += ns;
    if (!line)
        return;
    struct gpu_line *l = line_of(g, p->line_at, t, tl_line_stack(line));
    g->lined_ns += ns;
    l->ns += ns;
    l->backward_ns += tl_line_way(line) == SPOOL_LINE_OWN ? 0 : ns;
    l->count++;
    add_module(p, g, tl_line_stack(line), ns);
}

static int by_ns(const void *a, const void *b)
{
    const struct gpu_line *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1)
                          : (x->stack > y->stack) - (x->stack < y->stack);
}

static int modules_by_ns(const void *a, const void *b)
{
    const struct gpu_module *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : strcmp(x->name, y->name);
}

/* Converts a sum over some steps to the length of the reported step. */
static int64_t scaled(int64_t ns, int64_t of_ns, int64_t to_ns)
{
    return of_ns > 0 ? (int64_t)((double)ns / (double)of_ns * (double)to_ns) : 0;
}

static void finish(struct facts *f, struct gpu_lines *g, int64_t step_ns)
{
    int64_t of = g->ns;
    if (g->count)
        qsort(g->at, g->count, sizeof *g->at, by_ns);
    for (size_t i = 0; i < g->count; i++) {
        struct gpu_line *l = &g->at[i];
        const struct row_stack *s = &f->tl->stacks[l->stack];
        l->ns = scaled(l->ns, of, step_ns);
        l->backward_ns = scaled(l->backward_ns, of, step_ns);
        l->place = stack_place(f->tl, l->stack, &f->arena);
        l->function = stack_function(f->tl, l->stack, &f->arena);
        l->file = tl_text(f->tl, s->file);
        l->number = (int)s->line;
    }
    for (size_t i = 0; i < g->module_count; i++)
        g->modules[i].ns = scaled(g->modules[i].ns, of, step_ns);
    if (g->module_count)
        qsort(g->modules, g->module_count, sizeof *g->modules, modules_by_ns);
    g->module_ns = scaled(g->module_ns, of, step_ns);
    g->lined_ns = scaled(g->lined_ns, of, step_ns);
    g->ns = step_ns;
}

static void sum(struct pass *p, struct facts *f, struct gpu_lines *g)
{
    int64_t all_ns = 0;
    find_steps_with_lines(p);
    for (uint32_t i = 0; i < f->steps.count; i++) {
        all_ns += p->work_ns[i];
        g->of_step[i] = p->in_all || carries(p, i);
        g->steps += (size_t)(!p->in_all && g->of_step[i]);
    }
    for (uint32_t i = 0; i < f->tl->op_count; i++)
        if (facts_gpu_lines_sum(f, i))
            add(p, g, i);
    finish(f, g, facts_per_step(f, all_ns));
}

int lines_measure_gpu(struct facts *f)
{
    const struct timeline *t = f->tl;
    struct gpu_lines *g = &f->lines->gpu;
    struct pass p = {.f = f};
    if (t->launch_line_count == 0 || t->stack_count == 0 || f->steps.count == 0)
        return 0;
    p.line_at = calloc(t->stack_count, sizeof *p.line_at);
    p.work_ns = calloc(f->steps.count, sizeof *p.work_ns);
    p.lined_ns = calloc(f->steps.count, sizeof *p.lined_ns);
    g->at = arena_array(&f->arena, t->stack_count, sizeof *g->at);
    g->modules = arena_array(&f->arena, t->stack_count, sizeof *g->modules);
    g->of_step = arena_array(&f->arena, f->steps.count, sizeof *g->of_step);
    int rc = p.line_at && p.work_ns && p.lined_ns && g->at && g->modules && g->of_step ? 0 : -1;
    if (rc == 0)
        sum(&p, f, g);
    free(p.line_at);
    free(p.work_ns);
    free(p.lined_ns);
    return rc;
}
