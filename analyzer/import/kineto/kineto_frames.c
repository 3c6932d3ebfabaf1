/* Turns calls of Python functions, which torch.profiler records with with_stack=True, into the same
 * stacks and samples ("looks") as those of gpuprof's recorder (docs/lines.md). A thread's calls
 * come in the order of their beginnings, so its stack is tracked while reading. Calls that begin
 * before one that was already read are counted and left out.
 *
 * PyTorch records where a function begins; newer ones (2.14) also from which line it is called
 * ("CallFrom"): there the caller is in this line until its next call. A call older than the trace
 * has the line it was in when the trace began. That is where the profiler was started, which says
 * nothing, so its line is set to 0. Calls of the profiler itself give no looks.
 *
 * Cost: two look-ups per call. Memory: one number per name, the open calls, and each stack once. */
#include "analyzer/import/kineto/kineto.h"

#include "base/str.h"
#include "wire/spool_format.h"

#include <stdio.h>
#include <string.h>

#define PUT(kind, row) k->out->put(k->out->self, kind, &(row), k->e)

/* All set by hand. PERIOD_NS and MOST_LOOKS: a gap of 2 ms gets enough looks to be meaningful
 * (facts/lines.h), and a long trace gets no more looks than the recorder takes in an hour.
 * SHORT_NS: no launch is that short. */
enum { PERIOD_NS = 100000, MOST_LOOKS = 1 << 18, SHORT_NS = 2000 };

/* Length of the name without an object's address, which would make each call's name different. */
static size_t without_address(const char *s, size_t n)
{
    static const char before[] = " object at ";
    size_t most = sizeof before - 1, at = n;
    if (n < most + 10 || s[0] != '<' || s[n - 1] != '>')
        return n;
    while (at > most && s[at - 1] != ' ')
        at--;
    return at > most && memcmp(s + at - most, before, most) == 0 ? at - most : n;
}

/* The name that the hook of gpuprof's own recordings has for this call; NULL: none. */
static const char *known_as(const char *s, size_t n)
{
    static const char collects[] = "<built-in function collect>",
                      engine[] = "<built-in method run_backward of ";
    if (n == sizeof collects - 1 && memcmp(s, collects, n) == 0)
        return "gc";
    return n >= sizeof engine && memcmp(s, engine, sizeof engine - 1) == 0 ? "backward" : NULL;
}

uint32_t kineto_frames_name(struct kineto *k, const char *s, size_t n)
{
    struct kineto_frames *fs = &k->frames;
    const char *known = known_as(s, n);
    uint32_t name = known ? k->out->intern(k->out->self, known, strlen(known))
                          : k->out->intern(k->out->self, s, without_address(s, n));
    bool room = name != STR_NONE;
    while (room && fs->of_name.n <= name)
        room = vec_push(&fs->of_name) != NULL;
    struct kineto_frame *f = room && !fs->of_name.at[name] ? vec_push(&fs->at) : NULL;
    if (f) {
        fs->of_name.at[name] = (uint32_t)fs->at.n;
        return kineto_frame_read(k, f, s, n) < 0 ? STR_NONE : name;
    }
    if (!room || !fs->of_name.at[name]) {
        err_set(k->e, "out of memory");
        return STR_NONE;
    }
    return name;
}

/* ---- looks (samples) ---- */

static int put_look(struct kineto *k, struct kineto_calls *c)
{
    struct row_stack_sample row = c->look;
    c->look.looks = 0;
    if (row.looks == 0)
        return 0;
    row.id = ++k->ids[ROW_STACK_SAMPLE];
    return PUT(ROW_STACK_SAMPLE, row);
}

/* Adds looks at the innermost call up to until_ns. */
static int look(struct kineto *k, struct kineto_calls *c, int64_t until_ns)
{
    struct kineto_frames *fs = &k->frames;
    if (c->look_ns >= until_ns)
        return 0;
    int64_t n = (until_ns - 1 - c->look_ns) / fs->period_ns + 1;
    int64_t first = c->look_ns, last = first + (n - 1) * fs->period_ns;
    c->look_ns = last + fs->period_ns;
    const struct kineto_call *top = c->open.n ? &c->open.at[c->open.n - 1] : NULL;
    if (!top || !top->stack || c->profiler)
        return put_look(k, c);
    fs->looks += n;
    if (fs->looks > MOST_LOOKS) {
        fs->looks /= 2;
        fs->period_ns *= 2;
    }
    if (c->look.looks && c->look.stack == top->stack && first - c->look.end_ns <= fs->period_ns) {
        c->look.end_ns = last;
        c->look.looks += n;
        return 0;
    }
    if (put_look(k, c) < 0)
        return -1;
    uint32_t call = fs->at.at[top->frame].call;
    c->look = (struct row_stack_sample){.process = kineto_at(k),
                                        .thread = c - fs->threads.at + 1,
                                        .start_ns = first,
                                        .end_ns = last,
                                        .looks = n,
                                        .state = call ? STACK_ASLEEP : STACK_RUNNING,
                                        .call = call,
                                        .stack = top->stack};
    return 0;
}

/* ---- the line that a thread launches from ---- */

/* Notes the thread's line if it changed at `ns`. A line that lasts less than
 * SHORT_NS is overwritten. */
static int change_line(struct kineto *k, struct kineto_calls *c, int64_t ns)
{
    struct kineto_frames *fs = &k->frames;
    uint32_t line = 0;
    if (!c->profiler && !kineto_launches_from(k, c, &line))
        return -1;
    if (line == c->line)
        return 0;
    uint32_t thread = (uint32_t)(c - fs->threads.at);
    struct kineto_line *last = fs->changes.n ? &fs->changes.at[fs->changes.n - 1] : NULL;
    if (!last || last->thread != thread || ns - last->start_ns >= SHORT_NS)
        last = vec_push(&fs->changes);
    if (!last)
        return err_set(k->e, "out of memory");
    *last = (struct kineto_line){.start_ns = ns, .thread = thread, .stack = line};
    c->line = line;
    return 0;
}

/* ---- calls ---- */

/* Takes off the calls that ended by `ns`, with the looks at them. */
static int return_until(struct kineto *k, struct kineto_calls *c, int64_t ns)
{
    while (c->open.n && c->open.at[c->open.n - 1].end_ns <= ns) {
        struct kineto_call top = c->open.at[c->open.n - 1];
        if (look(k, c, top.end_ns) < 0)
            return -1;
        c->open.n--;
        c->profiler -= k->frames.at.at[top.frame].is_profiler;
        c->began = true;
        if (change_line(k, c, top.end_ns) < 0)
            return -1;
    }
    return look(k, c, ns);
}

/* The open calls are older than the trace: clears their lines. */
static int cut_lines(struct kineto *k, struct kineto_calls *c)
{
    uint32_t caller = 0;
    for (size_t i = 0; i < c->open.n; i++) {
        caller = kineto_stack(k, caller, c->open.at[i].frame, 0);
        if (!caller && k->frames.at.at[c->open.at[i].frame].kind != KINETO_FRAME_MODULE)
            return -1;
        c->open.at[i].stack = caller;
        c->open.at[i].line = 0;
    }
    return 0;
}

/* True if the event says from which line the innermost open call makes it. */
static bool calls_from(struct kineto *k, const struct kineto_call *top,
                       const struct kineto_event *v)
{
    k->frames.exact |= v->from_line > 0;
    return v->from_line > 0 && k->frames.at.at[top->frame].said == v->from_file;
}

/* The innermost open call is at this line, from which it makes a call. */
static int go_to_line(struct kineto *k, struct kineto_calls *c, int64_t line, int64_t ns)
{
    struct kineto_call *top = &c->open.at[c->open.n - 1];
    if (top->line == line)
        return 0;
    top->stack = kineto_stack(k, c->open.n > 1 ? top[-1].stack : 0, top->frame, line);
    top->line = line;
    return top->stack ? change_line(k, c, ns) : -1;
}

static struct kineto_calls *calls_of(struct kineto *k, const struct kineto_event *v, int64_t ns)
{
    int64_t id = kineto_thread_id(k, v->tid);
    if (id < 0)
        return NULL;
    while (k->frames.threads.n < (size_t)id)
        if (!vec_push(&k->frames.threads)) {
            err_set(k->e, "out of memory");
            return NULL;
        }
    struct kineto_calls *c = &k->frames.threads.at[id - 1];
    k->frames.period_ns = k->frames.period_ns ? k->frames.period_ns : PERIOD_NS;
    if (!c->began && c->open.n == 0) {
        c->from_ns = ns;
        c->look_ns = ns + k->frames.period_ns;
    }
    return c;
}

int kineto_frames_put(struct kineto *k, const struct kineto_event *v, int64_t start_ns)
{
    struct kineto_frames *fs = &k->frames;
    uint32_t frame = v->name < fs->of_name.n ? fs->of_name.at[v->name] : 0;
    if (!frame || fs->at.at[--frame].kind == KINETO_FRAME_NONE)
        return 0;
    struct kineto_calls *c = calls_of(k, v, start_ns);
    if (!c)
        return -1;
    if (start_ns < c->from_ns) {
        fs->late++;
        return 0;
    }
    if (return_until(k, c, start_ns) < 0)
        return -1;
    c->from_ns = start_ns;
    if (fs->at.at[frame].is_profiler && !c->began && !c->profiler) {
        if (cut_lines(k, c) < 0)
            return -1;
        c->began = true;
    }
    const struct kineto_call *top = c->open.n ? &c->open.at[c->open.n - 1] : NULL;
    if (top && calls_from(k, top, v) && go_to_line(k, c, v->from_line, start_ns) < 0)
        return -1;
    struct kineto_call new = {.end_ns = start_ns + v->dur_ns,
                              .frame = frame,
                              .line = fs->at.at[frame].line,
                              .module = top ? top->module : 0};
    if (top && new.end_ns > top->end_ns)
        new.end_ns = top->end_ns;
    if (kineto_tells(k, c, frame, start_ns, start_ns + v->dur_ns) < 0 || !kineto_module(k, &new))
        return -1;
    new.stack = kineto_stack(k, top ? top->stack : 0, frame, new.line);
    struct kineto_call *slot =
        new.stack || fs->at.at[frame].kind == KINETO_FRAME_MODULE ? vec_push(&c->open) : NULL;
    if (!slot)
        return new.stack ? err_set(k->e, "out of memory") : -1;
    *slot = new;
    c->profiler += fs->at.at[frame].is_profiler;
    return change_line(k, c, start_ns);
}

int kineto_frames_end(struct kineto *k)
{
    for (size_t i = 0; i < k->frames.threads.n; i++) {
        struct kineto_calls *c = &k->frames.threads.at[i];
        k->process = k->threads.at[i].process;
        int64_t end_ns = c->open.n ? c->open.at[0].end_ns : c->from_ns;
        if (return_until(k, c, end_ns) < 0 || put_look(k, c) < 0)
            return -1;
    }
    return kineto_tells_end(k) < 0 ? -1 : kineto_lines_end(k);
}

void kineto_frames_release(struct kineto *k)
{
    struct kineto_frames *fs = &k->frames;
    for (size_t i = 0; i < fs->threads.n; i++)
        vec_release(&fs->threads.at[i].open);
    vec_release(&fs->of_name);
    vec_release(&fs->at);
    vec_release(&fs->threads);
    vec_release(&fs->owners);
    vec_release(&fs->changes);
    vec_release(&fs->forward);
    vec_release(&fs->nodes);
    keymap_release(&fs->stack_of);
}
