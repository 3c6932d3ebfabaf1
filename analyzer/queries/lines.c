/* Chooses which line of the program a finding names for the time that a step loses. */
#include "analyzer/queries/lines.h"

#include "analyzer/queries/host.h"
#include "analyzer/queries/limits.h"
#include "base/size.h"

#include <string.h>

const struct line *query_line_of(const struct facts *f, uint32_t parts, int64_t *ns)
{
    int64_t all = 0;
    const struct line *l = facts_line_of(f, parts, ns);
    for (int p = 0; p < PART_COUNT; p++)
        all += parts >> p & 1 ? f->breakdown_ns[p] : 0;
    return l && (double)*ns >= QUERY_LINE_SHARE * (double)all ? l : NULL;
}

const char *query_line_text(const struct facts *f, struct arena *arena, uint32_t parts)
{
    int64_t ns;
    char text[512], time[32];
    const struct line *l = query_line_of(f, parts, &ns);
    const char *out = l ? arena_printf(arena, "; %s of it: %s", time_words(time, sizeof time, ns),
                                       line_text(l, text, sizeof text))
                        : NULL;
    return out ? out : "";
}

static const struct line *most_of(const struct facts *f, enum lines_of which)
{
    const struct lines *l = facts_lines(f, which);
    return l->count && (double)l->at[0].looks >= QUERY_LINE_SHARE * (double)l->looks ? &l->at[0]
                                                                                     : NULL;
}

const char *query_wait_line(const struct facts *f, struct arena *arena)
{
    const struct line *l = most_of(f, LINES_WAITS);
    return l ? arena_printf(arena, "%s%s%s", l->function, *l->function ? "() " : "", l->place)
             : NULL;
}

bool query_waits_in_loader(const struct facts *f)
{
    const struct line *l = most_of(f, LINES_WAITS);
    return l && l->loads;
}

const char *query_worker_line(const struct facts *f, struct arena *arena)
{
    const struct line *l = most_of(f, LINES_WORKERS);
    char text[512];
    if (!l)
        return "";
    const char *out =
        arena_printf(arena, "%s, %.0f %% of it", line_text(l, text, sizeof text),
                     100.0 * (double)l->looks / (double)facts_lines(f, LINES_WORKERS)->looks);
    return out ? out : "";
}

/* True for lines of the same function. In a comprehension or at a file's top level: for the same
 * line with different calls. */
static bool same_function(const struct line *a, const struct line *b)
{
    return strcmp(a->file, b->file) == 0 && strcmp(a->function, b->function) == 0 &&
           (*a->function || (a->number > 0 && a->number == b->number));
}

/* The function that makes samples in the training thread, by its lines that do. Lines that call
 * PyTorch's loader are left out: they only receive batches; and those that draw what is in a batch, which
 * no worker does. */
static struct query_cause samples_here(const struct facts *f)
{
    const struct lines *all = facts_lines(f, LINES_STEP);
    struct query_cause best = {.line = NULL};
    for (size_t i = 0; i < all->count; i++) {
        const struct line *l = &all->at[i];
        struct query_cause c = {.line = l, .from = l->number, .to = l->number};
        if (!query_line_of_input(l) || l->draws || strstr(l->called, "DataLoaderIter"))
            continue;
        for (size_t k = 0; k < all->count; k++) {
            const struct line *o = &all->at[k];
            if (!query_line_of_input(o) || o->draws || !(o == l || same_function(o, l)))
                continue;
            c.ns += o->ns;
            c.from = o->number < c.from ? o->number : c.from;
            c.to = o->number > c.to ? o->number : c.to;
        }
        if (c.ns > best.ns)
            best = c;
    }
    return best;
}

const char *query_samples_text(const struct facts *f, struct arena *arena)
{
    const char *worker = query_worker_line(f, arena), *out;
    struct query_cause c = samples_here(f);
    char time[32];
    if (*worker)
        out = arena_printf(arena, "; the workers make it at %s", worker);
    else if (c.line &&
             c.ns * QUERY_CAUSE_LINE >= f->breakdown_ns[f->on_cpu ? PART_DATA : PART_IDLE_INPUT])
        out = arena_printf(arena, "; %s of it: %s", time_words(time, sizeof time, c.ns),
                           query_cause_text(&c, arena));
    else
        out = "";
    return out ? out : "";
}

/* True for the calls of PyTorch with which a model computes: modules, functions, methods of tensors,
 * backward passes, steps of optimizers. What else PyTorch does is the program's own work: it makes
 * modules, copies their state, writes files and logs, checks arguments. */
static bool computes(const char *call)
{
    static const char *const methods[] = {"forward", "__call__", "backward", "step"};
    static const char *const others[] = {"save", "load"};
    const char *dot = strrchr(call, '.'), *last = dot ? dot + 1 : call;
    bool in_class = dot != NULL;
    size_t n = in_class ? sizeof methods / sizeof *methods : sizeof others / sizeof *others;
    for (size_t i = 0; i < n; i++)
        if (strcmp(last, in_class ? methods[i] : others[i]) == 0)
            return in_class;
    return !in_class || (strncmp(call, "Tensor.", 7) == 0 && strncmp(last, "__", 2) != 0);
}

/* True for such a call, or one of a module of another library (forward() by convention) in which
 * PyTorch computes. */
static bool calls_torch(const struct line *l)
{
    if (strncmp(l->called, "torch.", 6) == 0)
        return computes(l->called + 6);
    return str_ends_with(l->called, ".forward") && strncmp(l->innermost, "torch.", 6) == 0;
}

/* True if PyTorch computes in the line or waits for its own threads: that is the model's work, or
 * the overhead from one launch to the next. */
static bool is_computing(const struct line *l)
{
    static const enum part own[] = {PART_FORWARD, PART_BACKWARD, PART_OPTIMIZER, PART_IDLE_HOST,
                                    PART_IDLE_LAUNCH};
    int64_t ns = 0;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        ns += l->part_ns[own[i]];
    return l->does == LINE_BACKWARD || str_ends_with(l->innermost, "_engine_run_backward") ||
           (calls_torch(l) && ns * 2 > l->ns &&
            (l->does == LINE_COMPUTES || l->does == LINE_STARVES));
}

bool query_line_updates(const struct line *l)
{
    return l->part_ns[PART_OPTIMIZER] * 2 > l->ns;
}

/* Time that the line itself takes. Slow launching is not caused by a line. Without a GPU the step of
 * an optimizer that takes much of the loop's step is a cause as well. */
static int64_t own_ns(const struct facts *f, const struct line *l)
{
    int64_t launching = f->on_cpu ? 0 : l->part_ns[PART_IDLE_LAUNCH];
    bool update = f->on_cpu && query_line_updates(l) && l->ns * QUERY_MUCH_UPDATE >= f->step_ns;
    return is_computing(l) && !update ? 0 : l->ns - launching;
}

/* The line together with the other lines of its function. Alone if the function also runs the
 * model, because it is then the training loop. */
static struct query_cause cause_at(const struct facts *f, const struct line *l)
{
    const struct lines *all = facts_lines(f, LINES_STEP);
    struct query_cause alone = {l, own_ns(f, l), l->does_ns[LINE_STARVES], l->number, l->number};
    struct query_cause c = alone;
    for (size_t i = 0; i < all->count; i++) {
        const struct line *o = &all->at[i];
        if (o == l || !same_function(o, l))
            continue;
        if (is_computing(o))
            return alone;
        if (own_ns(f, o) > alone.ns)
            return (struct query_cause){.line = NULL}; /* that line represents the function */
        c.ns += own_ns(f, o);
        c.starved_ns += o->does_ns[LINE_STARVES];
        c.from = o->number < c.from ? o->number : c.from;
        c.to = o->number > c.to ? o->number : c.to;
    }
    return c;
}

/* The line must take 1/QUERY_CAUSE_LINE of the step, or as much of the step without the time
 * in which lines wait for a core (the line's own such time is then left out, too). If cores
 * are scarce, all computing takes longer, so that a line that sleeps would take too small a
 * share of the whole step. An update may be what the model needs, so any other such line is named
 * before it. `input`: lines that wait for batches or make them count, too. */
static struct query_cause largest(const struct facts *f, bool input)
{
    const struct lines *all = facts_lines(f, LINES_STEP);
    struct query_cause best = {.line = NULL};
    int64_t rest = f->step_ns;
    for (size_t i = 0; i < all->count; i++)
        rest -= all->at[i].does_ns[LINE_STARVES];
    for (size_t i = 0; i < all->count; i++) {
        struct query_cause c = cause_at(f, &all->at[i]);
        bool much = c.ns * QUERY_CAUSE_LINE >= f->step_ns ||
                    (c.ns - c.starved_ns) * QUERY_CAUSE_LINE >= rest;
        bool update = query_line_updates(&all->at[i]);
        bool before = !best.line || c.ns > best.ns;
        if (best.line && update != query_line_updates(best.line))
            before = !update;
        if (c.line && c.ns > 0 && much && before && (input || !query_line_loads(c.line)))
            best = c;
    }
    return best;
}

struct query_cause query_cause(const struct facts *f)
{
    return largest(f, true);
}

struct query_cause query_own_cause(const struct facts *f)
{
    struct query_cause c = largest(f, false);
    return c.line ? c : query_cause(f);
}

bool query_pauses_may_lack_core(const struct facts *f)
{
    const struct line *l = query_cause(f).line;
    return query_lack_of_core_dominates(f) &&
           !(l && l->part_ns[PART_IDLE_HOST] * 2 >= f->breakdown_ns[PART_IDLE_HOST]);
}

int64_t query_cause_in_model(const struct facts *f)
{
    struct query_cause c = query_cause(f);
    const int64_t *part = c.line ? c.line->part_ns : NULL;
    if (!f->on_cpu || !c.line || c.line->ns <= 0 || query_line_updates(c.line))
        return 0;
    int64_t in = part[PART_FORWARD] + part[PART_BACKWARD] + part[PART_OPTIMIZER];
    return (int64_t)((double)c.ns * (double)in / (double)c.line->ns);
}

const char *query_cause_text(const struct query_cause *c, struct arena *arena)
{
    char text[512];
    const struct line *l = c->line;
    const char *out =
        c->from == c->to
            ? arena_printf(arena, "%s", line_text(l, text, sizeof text))
            : arena_printf(arena, "%s() %.*s:%d to %d, mostly line %d%s%s (%s)", l->function,
                           (int)strcspn(l->place, ":"), l->place, c->from, c->to, l->number,
                           *l->called ? ", in " : "", l->called, line_does_text(l));
    return out ? out : "";
}

bool query_line_loads(const struct line *l)
{
    return l->loads && query_line_of_input(l);
}

bool query_line_of_input(const struct line *l)
{
    int64_t ns = l->part_ns[PART_IDLE_INPUT] + l->part_ns[PART_DATA] + l->part_ns[PART_COLLATE] +
                 l->part_ns[PART_WORKERS];
    return ns * 2 > l->ns;
}
