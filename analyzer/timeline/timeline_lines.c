/* timeline_finish: finds the Python line from which each launch comes. The agent records lines
 * in stretches of steps: a call in such a stretch gets the line of its thread's last row
 * before it. A call in another step gets the line of calls that launched the same kernel in
 * the same context: what the thread launched before and after. If that context is new, a
 * shorter one is used, finally the kernel alone; at least nine in ten of those calls must
 * agree, in whichever module. Cost: three look-ups per launch. */
#include "analyzer/timeline/build.h"
#include "base/keymap.h"
#include "wire/python_owner.h"
#include "wire/spool_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* AGREE was set by hand: up to one in ten may be from a step that differs. */
enum { BEFORE = 8, LEVELS = 3, AGREE = 9, NO_LINE = 0 };

/* All launches with the same key: their most frequent line, as far as one pass can find it. */
struct seen {
    uint32_t line; /* (index of the stack * SPOOL_LINES + way) + 1 */
    uint32_t same, other;
};

struct lining {
    struct timeline *t;
    struct captures captures;
    struct VEC(struct row_launch_line) stretches;
    uint32_t *rows, *first; /* indices of line rows, by thread and time; where
                               each thread's rows begin */
    struct keymap known;    /* launch and its context -> index in seen */
    struct VEC(struct seen) seen;
    uint32_t *names; /* by line: string id + 1 of its text; 0 = not made yet */
};

/* ---- rows by thread ---- */

/* Sorts the rows of lines by thread, keeping their order in time, and collects the
 * stretches. The first pass counts the rows of thread i in first[i + 2]. In the second,
 * first[i + 1] is the place of the thread's next row, so that in the end it is where thread
 * i + 1 begins. -1: out of memory. */
static int sort_rows(struct lining *l, const struct idmap *threads)
{
    const struct timeline *t = l->t;
    l->first = calloc(t->thread_count + 2, sizeof *l->first);
    l->rows = malloc((t->launch_line_count + 1) * sizeof *l->rows);
    l->names = calloc(t->stack_count * SPOOL_LINES + 1, sizeof *l->names);
    if (!l->first || !l->rows || !l->names)
        return -1;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < t->launch_line_count; i++) {
            const struct row_launch_line *r = &t->launch_lines[i];
            uint32_t thread = idmap_get(threads, r->thread);
            if (r->what == SPOOL_LINE_STRETCH && pass == 0) {
                struct row_launch_line *s = vec_push(&l->stretches);
                if (!s)
                    return -1;
                *s = *r;
            } else if (r->what != SPOOL_LINE_STRETCH && thread != TL_NONE) {
                if (pass == 0)
                    l->first[thread + 2]++;
                else
                    l->rows[l->first[thread + 1]++] = (uint32_t)i;
            }
        }
        for (size_t i = 2; pass == 0 && i < t->thread_count + 2; i++)
            l->first[i] += l->first[i - 1];
    }
    return 0;
}

uint32_t timeline_row_line(const struct timeline *t, const struct row_launch_line *r)
{
    uint32_t stack = timeline_stack_index(t, r->stack);
    if (stack == TL_NONE || r->what <= SPOOL_LINE_STRETCH || r->what == SPOOL_LINE_NONE ||
        r->what >= SPOOL_LINES)
        return NO_LINE;
    return stack * SPOOL_LINES + (uint32_t)r->what + 1;
}

static bool launches(const struct api *a)
{
    return a->op != TL_NONE;
}

/* ---- calls with a recorded line ---- */

/* Gives each of the thread's launches, and each call that makes a graph's node, the line of the
 * last row that begins before the call ends, if both belong to the same stretch. */
static void line_thread(struct lining *l, uint32_t thread)
{
    struct timeline *t = l->t;
    const struct thread *th = &t->threads[thread];
    int64_t process = t->processes[th->process].id;
    size_t stretch = 0;
    uint32_t row = l->first[thread], rows = l->first[thread + 1];
    for (uint32_t i = th->first_api; i < th->first_api + th->apis && row < rows; i++) {
        struct api *a = &t->apis[i];
        while (stretch < l->stretches.n && (l->stretches.at[stretch].process != process ||
                                            l->stretches.at[stretch].end_ns < a->start_ns))
            stretch++;
        if (stretch == l->stretches.n)
            return;
        while (row + 1 < rows && t->launch_lines[l->rows[row + 1]].start_ns <= a->end_ns)
            row++;
        const struct row_launch_line *r = &t->launch_lines[l->rows[row]];
        if ((launches(a) || captures_hold(&l->captures, t, a)) &&
            l->stretches.at[stretch].start_ns <= a->start_ns && r->start_ns <= a->end_ns &&
            r->stretch == l->stretches.at[stretch].stretch)
            a->line = timeline_row_line(t, r);
    }
}

/* ---- calls of other steps ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t kernel_key(const struct timeline *t, const struct api *a)
{
    const struct op *o = &t->ops[a->op];
    uint64_t h = mix(o->full_name, (uint64_t)o->kind << 32 | a->ops);
    return mix(h, (uint64_t)o->grid[0] << 32 ^ (uint64_t)o->grid[1] << 16 ^ o->grid[2]);
}

/* What a thread launched before and next. */
struct context {
    uint64_t before[BEFORE], own, next;
};

/* Key of the launch with its context; level 0 has the longest context, the last
 * level only the kernel. */
static struct key context_key(const struct context *c, int level)
{
    static const int before[LEVELS] = {BEFORE, 3, 0};
    uint64_t h = mix(c->own, (uint64_t)level);
    for (int i = 0; i < before[level]; i++)
        h = mix(h, c->before[i]);
    return (struct key){{(int64_t)(before[level] ? mix(h, c->next) : h)}};
}

/* The same line and way, in whichever module: layers that are alike launch the same, and before the
 * first step of the optimizer no module is known. */
static bool agree(const struct timeline *t, uint32_t a, uint32_t b)
{
    const struct row_stack *x = &t->stacks[tl_line_stack(a)], *y = &t->stacks[tl_line_stack(b)];
    return a == b || (tl_line_way(a) == tl_line_way(b) && x->file == y->file &&
                      x->function == y->function && x->line == y->line);
}

static int learn(struct lining *l, struct key key, uint32_t line)
{
    uint32_t at = keymap_get(&l->known, key);
    if (at == KEYMAP_NONE) {
        struct seen *new = vec_push(&l->seen);
        if (!new || keymap_put(&l->known, key, (uint32_t)(l->seen.n - 1)) < 0)
            return -1;
        *new = (struct seen){.line = line, .same = 1};
        return 0;
    }
    struct seen *s = &l->seen.at[at];
    bool same = agree(l->t, s->line, line);
    s->same += same;
    s->other += !same;
    if (same && !l->t->stacks[tl_line_stack(s->line)].caller)
        s->line = line;
    return 0;
}

static uint32_t recall(const struct lining *l, struct key key)
{
    uint32_t at = keymap_get(&l->known, key);
    const struct seen *s = at == KEYMAP_NONE ? NULL : &l->seen.at[at];
    return s && s->same >= AGREE * s->other ? s->line : NO_LINE;
}

/* First pass (learns): notes the call's line under each key. Second pass: gives a call without line
 * the one with the longest known context. */
static int visit(struct lining *l, struct api *a, const struct context *c, bool learns)
{
    int rc = 0;
    for (int level = 0; learns && a->line != NO_LINE && level < LEVELS && rc == 0; level++)
        rc = learn(l, context_key(c, level), tl_line_plain(a->line));
    for (int level = 0; !learns && a->line == NO_LINE && level < LEVELS; level++) {
        a->line = recall(l, context_key(c, level));
        a->line_matched = a->line != NO_LINE;
    }
    return rc;
}

/* Visits the thread's launches in order. A launch's context includes the next one, so it is visited
 * when that is known. -1: out of memory. */
static int match_thread(struct lining *l, const struct thread *th, bool learns)
{
    struct timeline *t = l->t;
    struct context c = {0};
    struct api *last = NULL;
    int rc = 0;
    for (uint32_t i = th->first_api; i < th->first_api + th->apis && rc == 0; i++) {
        struct api *a = &t->apis[i];
        if (!launches(a))
            continue;
        c.next = kernel_key(t, a);
        if (last)
            rc = visit(l, last, &c, learns);
        memmove(c.before + 1, c.before, (BEFORE - 1) * sizeof *c.before);
        c.before[0] = c.own;
        c.own = c.next;
        last = a;
    }
    c.next = 0;
    return last && rc == 0 ? visit(l, last, &c, learns) : rc;
}

/* ---- names ---- */

/* The same form as the callers of C programs have. */
const char *timeline_line_text(const struct timeline *t, uint32_t line, char *out, size_t size)
{
    const struct row_stack *s = &t->stacks[tl_line_stack(line)];
    const char *function = tl_text(t, s->function);
    bool named = function[0] && function[0] != '<';
    char number[32] = "";
    if (s->line > 0)
        snprintf(number, sizeof number, ":%lld", (long long)s->line);
    snprintf(out, size, "%.600s%s%s%.300s%s%s", python_short_file(tl_text(t, s->file)), number,
             named ? " (" : "", named ? function : "", named ? ")" : "",
             tl_line_way(tl_line_plain(line)) == SPOOL_LINE_FORWARD ? ", its backward pass" : "");
    return out;
}

static uint32_t name_of(struct lining *l, uint32_t line)
{
    struct timeline *t = l->t;
    char text[1024];
    if (l->names[line - 1])
        return l->names[line - 1] - 1;
    timeline_line_text(t, line, text, sizeof text);
    uint32_t id = str_intern(&t->strings, text, strlen(text));
    if (id != STR_NONE)
        l->names[line - 1] = id + 1;
    return id;
}

/* Fills api.caller for launches only: for copies, the hook's range around
 * the wait names the line. */
static int name_calls(struct lining *l)
{
    struct timeline *t = l->t;
    for (size_t i = 0; i < t->api_count; i++) {
        struct api *a = &t->apis[i];
        if (a->line == NO_LINE || a->caller ||
            (a->kind != API_LAUNCH && a->kind != API_GRAPH_LAUNCH && a->kind != API_MEMSET))
            continue;
        uint32_t name = name_of(l, a->line);
        if (name == STR_NONE)
            return -1;
        a->caller = name;
    }
    return 0;
}

int build_launch_lines(struct build *b)
{
    struct lining l = {.t = &b->t};
    if (b->t.launch_line_count == 0)
        return 0;
    int rc = captures_find(&l.captures, l.t) < 0 ? -1 : sort_rows(&l, &b->thread_map);
    for (uint32_t i = 0; rc == 0 && i < b->t.thread_count; i++)
        line_thread(&l, i);
    for (int learns = 1; learns >= 0; learns--)
        for (size_t i = 0; rc == 0 && i < b->t.thread_count; i++)
            rc = match_thread(&l, &b->t.threads[i], learns);
    if (rc == 0)
        rc = name_calls(&l) < 0 ? -1 : captures_line(&l.captures, l.t);
    captures_release(&l.captures);
    vec_release(&l.stretches);
    vec_release(&l.seen);
    keymap_release(&l.known);
    free(l.rows);
    free(l.first);
    free(l.names);
    return rc;
}
