/* Sums looks by stack into time by line. */
#include "analyzer/facts/lines/lines_parts.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* The sum of one line. */
struct sum {
    uint32_t line; /* index of a stack whose innermost frame is that line */
    struct charged charged;
    int64_t loads, draws; /* looks in PyTorch's loader; of these, in its sampler */
    struct {
        uint32_t stack; /* index of the stack that names it */
        int64_t looks;
    } called, innermost; /* taken from the stack with the most looks */
};
struct sums VEC(struct sum);

static bool same_function_of(const struct timeline *t, uint32_t a, uint32_t b)
{
    return a == b || (a != TL_NONE && b != TL_NONE && t->stacks[a].file == t->stacks[b].file &&
                      t->stacks[a].function == t->stacks[b].function);
}

/* The sum for this line, added if it is new. A trace of PyTorch's profiler names functions but no
 * lines; then what a function calls takes the place of the line. NULL: out of memory. */
static struct sum *sum_of(const struct facts *f, struct sums *sums, const struct stack_line *l)
{
    bool by_call = f->health.python_functions > 0;
    for (size_t i = 0; i < sums->n; i++)
        if (stack_same_line(f->tl, sums->at[i].line, l->line) &&
            (!by_call || same_function_of(f->tl, sums->at[i].called.stack, l->called)))
            return &sums->at[i];
    struct sum *s = vec_push(sums);
    if (s)
        *s = (struct sum){.line = l->line, .called = {l->called, 0}, .innermost = {TL_NONE, 0}};
    return s;
}

static void add(struct charged *to, const struct charged *from)
{
    for (int i = 0; i < LINE_DOES; i++)
        to->by_does[i] += from->by_does[i];
    for (int i = 0; i < PART_COUNT; i++)
        to->by_part[i] += from->by_part[i];
    to->all += from->all;
    if (from->call_looks > to->call_looks) {
        to->call_looks = from->call_looks;
        to->call = from->call;
    }
}

static int64_t scaled(int64_t whole, int64_t part, int64_t all)
{
    return all > 0 ? (int64_t)((double)whole * (double)part / (double)all) : 0;
}

/* Divides each part's time among the lines in proportion to their looks in that part. */
static void charge(struct line *l, const struct charged *c, const struct charged *total,
                   const int64_t part_ns[PART_COUNT])
{
    for (int p = 0; p < PART_COUNT; p++) {
        l->part_ns[p] = scaled(part_ns[p], c->by_part[p], total->by_part[p]);
        l->ns += l->part_ns[p];
    }
    l->looks = c->all;
    for (int d = 0; d < LINE_DOES; d++)
        l->does_ns[d] = scaled(l->ns, c->by_does[d], c->all);
}

/* Decides first whether the line mostly waits or mostly works, then which kind prevails. */
static uint8_t does_most(const struct charged *c)
{
    const int64_t *n = c->by_does;
    int64_t waits = n[LINE_SLEEPS] + n[LINE_DISK] + n[LINE_BACKWARD];
    if (waits * 2 <= c->all)
        return n[LINE_STARVES] > n[LINE_COMPUTES] ? LINE_STARVES : LINE_COMPUTES;
    return n[LINE_BACKWARD] * 2 > waits ? LINE_BACKWARD
           : n[LINE_DISK] * 2 > waits   ? LINE_DISK
                                        : LINE_SLEEPS;
}

/* True for a function of PyTorch's compiler, but not of what runs the code that it made. */
static bool is_compiler(const struct timeline *t, uint32_t stack)
{
    const char *file = stack == TL_NONE ? "" : tl_text(t, t->stacks[stack].file);
    if (strstr(file, "torch/_dynamo/eval_frame.py") || strstr(file, "torch/_inductor/runtime/") ||
        strstr(file, "torch/_inductor/cudagraph_trees.py"))
        return false;
    return strstr(file, "torch/_dynamo/") || strstr(file, "torch/_inductor/");
}

static void name(struct facts *f, struct line *l, const struct sum *s)
{
    const struct timeline *t = f->tl;
    struct arena *a = &f->arena;
    l->place = stack_place(t, s->line, a);
    l->file = tl_text(t, t->stacks[s->line].file);
    l->function = stack_function(t, s->line, a);
    l->called = s->called.stack == TL_NONE ? "" : stack_function(t, s->called.stack, a);
    l->innermost = s->innermost.stack == TL_NONE ? "" : stack_function(t, s->innermost.stack, a);
    l->compiles = is_compiler(t, s->called.stack) || is_compiler(t, s->innermost.stack);
    l->loads = s->loads * 2 > s->charged.all;
    l->draws = s->draws * 2 > s->charged.all;
    l->call = tl_text(t, s->charged.call);
    l->number = (int)t->stacks[s->line].line;
    l->does = does_most(&s->charged);
}

static bool same_function(const struct line *a, const struct line *b)
{
    return strcmp(a->file, b->file) == 0 && strcmp(a->function, b->function) == 0;
}

/* Fills out->stack_ns, for outputs that show whole stacks. -1: out of memory. */
static int keep_stacks(struct facts *f, const struct stack_line *stacks,
                       const struct charged *charged, const struct charged *total,
                       const int64_t part_ns[PART_COUNT], struct lines *out)
{
    out->stack_ns = arena_array(&f->arena, f->tl->stack_count, sizeof *out->stack_ns);
    for (size_t i = 0; out->stack_ns && i < f->tl->stack_count; i++)
        for (int p = 0; stacks[i].line != TL_NONE && p < PART_COUNT; p++)
            out->stack_ns[i] += scaled(part_ns[p], charged[i].by_part[p], total->by_part[p]);
    return out->stack_ns ? 0 : -1;
}

static void sum_functions(struct lines *out)
{
    for (size_t i = 0; i < out->count; i++) {
        struct line *l = &out->at[i];
        l->function_from = l->function_to = l->number;
        for (size_t k = 0; k < out->count; k++) {
            const struct line *o = &out->at[k];
            if (!same_function(l, o))
                continue;
            l->function_ns += o->ns;
            l->function_from = o->number < l->function_from ? o->number : l->function_from;
            l->function_to = o->number > l->function_to ? o->number : l->function_to;
        }
    }
}

static int by_time(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return x->looks != y->looks ? (x->looks < y->looks ? 1 : -1) : strcmp(x->place, y->place);
}

/* The stack's line; of work besides the training the one that calls the model, since the model's
 * lines do not say what for. `besides`: all of the list is such work. */
static struct stack_line line_for(const struct stack_line *s, const struct charged *c, bool besides)
{
    struct stack_line l = *s;
    if (s->outside != TL_NONE && (besides || c->by_part[PART_VALIDATION] * 2 > c->all)) {
        l.line = s->outside;
        l.called = TL_NONE;
    }
    return l;
}

static int sum_stacks(const struct facts *f, const struct stack_line *stacks,
                      const struct charged *charged, bool besides, struct sums *sums,
                      struct charged *total)
{
    for (size_t i = 0; i < f->tl->stack_count; i++) {
        if (charged[i].all == 0 || stacks[i].line == TL_NONE)
            continue;
        struct stack_line l = line_for(&stacks[i], &charged[i], besides);
        struct sum *s = sum_of(f, sums, &l);
        if (!s)
            return -1;
        add(&s->charged, &charged[i]);
        s->loads += stacks[i].in_loader ? charged[i].all : 0;
        s->draws += stacks[i].in_sampler ? charged[i].all : 0;
        add(total, &charged[i]);
        if (charged[i].all > s->called.looks) {
            s->called.stack = l.called;
            s->called.looks = charged[i].all;
            s->innermost.stack = l.innermost;
        }
    }
    return 0;
}

int lines_sum(struct facts *f, const struct stack_line *stacks, const struct charged *charged,
              const int64_t part_ns[PART_COUNT], struct lines *out)
{
    struct sums sums = {0};
    struct charged total = {0};
    bool besides = out == &f->lines->of[LINES_OTHER];
    int rc = sum_stacks(f, stacks, charged, besides, &sums, &total);
    out->looks = total.all;
    for (int p = 0; p < PART_COUNT; p++)
        out->ns += part_ns[p];
    if (rc == 0 && total.all >= LINES_LEAST) {
        out->at = arena_array(&f->arena, sums.n, sizeof *out->at);
        out->count = out->at ? sums.n : 0;
        rc = out->at ? keep_stacks(f, stacks, charged, &total, part_ns, out) : -1;
    }
    for (size_t i = 0; i < out->count; i++) {
        charge(&out->at[i], &sums.at[i].charged, &total, part_ns);
        name(f, &out->at[i], &sums.at[i]);
    }
    sum_functions(out);
    if (out->count)
        qsort(out->at, out->count, sizeof *out->at, by_time);
    vec_release(&sums);
    return rc;
}
