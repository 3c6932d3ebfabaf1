/* Finds one-time work: contexts, allocations, loading and compiling code, captures, tear-down. */
#include "analyzer/queries/warm.h"

#include "analyzer/queries/once.h"
#include "base/vec.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool one_time_kind(unsigned kind)
{
    switch (kind) {
    case API_LAUNCH:
    case API_ALLOC:
    case API_FREE:
    case API_HOST_ALLOC:
    case API_MODULE:
    case API_OTHER:
    case API_LOOKUP:
        return true;
    default: /* copies and waits are long for other reasons */
        return false;
    }
}

static bool about_memory(unsigned kind)
{
    return kind == API_ALLOC || kind == API_FREE || kind == API_HOST_ALLOC;
}

/* What counts as set-up if the analysis covers a window: loading code, however short the call;
 * allocations unless there are many, because another rule reports those. */
struct set_up {
    bool code, memory;
};

static struct set_up set_up_of(const struct facts *f)
{
    const struct timeline *t = f->tl;
    struct set_up s = {.code = analysis_of_window(f)};
    size_t n = 0;
    for (size_t i = 0; s.code && i < t->api_count; i++)
        n += about_memory(t->apis[i].kind) && query_step_at(f, t->apis[i].start_ns) != TL_NONE;
    s.memory = s.code && n < QUERY_MANY_ALLOCATIONS;
    return s;
}

/* True for calls that move pages each time the program asks for it. */
static bool prefetches(const struct timeline *t, const struct api *c)
{
    return c->kind == API_OTHER && strstr(tl_text(t, c->name), "MemPrefetch");
}

/* True if the call may be one-time work: a long call of a kind that is slow the
 * first time, or set-up. */
static bool candidate(const struct facts *f, const struct set_up *set_up, const struct api *c)
{
    bool counts = c->end_ns - c->start_ns >= QUERY_WARM_LONG_NS
                      ? one_time_kind(c->kind) && !prefetches(f->tl, c)
                  : c->kind == API_MODULE ? set_up->code
                                          : set_up->memory && about_memory(c->kind);
    return counts && f->tl->threads[c->thread].process == f->steps.process;
}

/* The sum that the call's time on the host is added to. */
static int64_t *sum_of(struct query_warm *w, const struct api *c)
{
    return about_memory(c->kind)   ? &w->memory_ns
           : c->kind == API_MODULE ? &w->code_ns
                                   : &w->first_ns;
}

static void count_call(const struct timeline *t, struct query_warm *w, uint32_t call)
{
    const struct api *c = &t->apis[call];
    int64_t ns = c->end_ns - c->start_ns;
    bool down = c->start_ns >= t->gpu_end_ns;
    uint32_t *longest = down ? &w->down : &w->longest;
    *(down ? &w->down_calls : &w->calls) += 1;
    if (!down && c->layer == 0)
        *sum_of(w, c) += ns;
    if (*longest == TL_NONE || ns > t->apis[*longest].end_ns - t->apis[*longest].start_ns)
        *longest = call;
}

/* True if the recording contains the start of the process. PyTorch's profiler starts
 * later, and gpuprof may, too. */
static bool from_the_start(const struct facts *f)
{
    const char *source = timeline_meta(f->tl, "source");
    return !(source && strcmp(source, "kineto") == 0) &&
           !(f->window_count && f->windows[0].leads_in);
}

/* True for calls that load libraries, which need no CUDA context. */
static bool needs_no_context(const struct timeline *t, const struct api *c)
{
    return strstr(tl_text(t, c->name), "LibraryLoad") != NULL;
}

/* Finds the call that creates the context: the longest call, if no other call of the process took
 * noticeable time before it, and no other call of its name takes nearly as long. (If the next
 * cudaMalloc is as slow, the allocation itself takes the time.) Pinning memory is always slow, so
 * there another call of that name must exist to compare with. */
static void find_context(const struct facts *f, struct query_warm *w)
{
    const struct timeline *t = f->tl;
    const struct api *x = w->longest == TL_NONE ? NULL : &t->apis[w->longest];
    if (!x || x->end_ns - x->start_ns < QUERY_CONTEXT_NS || x->start_ns > t->gpu_start_ns ||
        !from_the_start(f))
        return;
    int64_t next = 0;
    bool others = x->kind != API_HOST_ALLOC;
    for (size_t i = 0; i < t->api_count; i++) {
        const struct api *c = &t->apis[i];
        int64_t ns = c->end_ns - c->start_ns;
        if (c == x || t->threads[c->thread].process != f->steps.process)
            continue;
        if (c->end_ns <= x->start_ns && ns >= QUERY_BEFORE_NS && !needs_no_context(t, c))
            return;
        others |= c->name == x->name;
        next = c->name == x->name && ns > next ? ns : next;
    }
    if (!others || next * QUERY_CONTEXT_DWARFS > x->end_ns - x->start_ns)
        return;
    w->context = w->longest;
    w->context_ns = x->end_ns - x->start_ns;
    if (x->layer == 0)
        *sum_of(w, x) -= w->context_ns;
}

struct found VEC(struct span);

/* True if the training thread often waits for a core: then calls of all kinds are
 * long, not only the first. */
static bool lacks_core(const struct facts *f)
{
    return f->host.starved_ns * QUERY_WARM_STARVED >= f->step_ns && f->step_ns > 0;
}

/* Adds the captures unless the program captures all the time. -1: out of memory. */
static int add_captures(const struct facts *f, struct found *found, struct spans *captures,
                        struct query_warm *w)
{
    struct query_captures c;
    int rc = query_captures(f, &c);
    bool once = c.n <= QUERY_WARM_SEVERAL || f->steps.count == 1;
    for (size_t i = 0; rc == 0 && once && i < c.n; i++) {
        if (query_step_at(f, c.at[i].start_ns) == TL_NONE)
            continue;
        struct span *s = vec_push(found);
        if (s)
            *s = c.at[i];
        rc = s ? spans_add(captures, c.at[i].start_ns, c.at[i].end_ns) : -1;
        w->captures++;
    }
    free(c.at);
    return rc < 0 ? -1 : spans_index(captures);
}

/* Finds long first calls and captures, merged into `out`. -1: out of memory. */
static int long_calls(const struct facts *f, struct spans *out, struct spans *captures,
                      struct query_warm *w)
{
    const struct timeline *t = f->tl;
    struct found found = {0};
    uint32_t *seen = calloc((size_t)t->strings.n + 1, sizeof *seen);
    const struct set_up set_up = set_up_of(f);
    int rc = seen ? add_captures(f, &found, captures, w) : -1;
    for (size_t i = 0; rc == 0 && i < t->api_count; i++)
        seen[t->apis[i].name] += candidate(f, &set_up, &t->apis[i]);
    for (uint32_t i = 0; rc == 0 && i < t->api_count; i++) {
        const struct api *c = &t->apis[i];
        if (!candidate(f, &set_up, c) ||
            (f->steps.count > 1 && seen[c->name] > QUERY_WARM_SEVERAL) ||
            query_step_at(f, c->start_ns) == TL_NONE)
            continue;
        struct span *s = vec_push(&found);
        if (!s) {
            rc = -1;
            break;
        }
        *s = (struct span){c->start_ns, c->end_ns};
        count_call(t, w, i);
    }
    /* Insertion sort: calls are sorted by thread and start, so only spans of several
     * threads are out of order. */
    for (size_t i = 1; i < found.n; i++)
        for (size_t j = i; j > 0 && found.at[j].start_ns < found.at[j - 1].start_ns; j--) {
            struct span swap = found.at[j];
            found.at[j] = found.at[j - 1];
            found.at[j - 1] = swap;
        }
    for (size_t i = 0; rc == 0 && i < found.n; i++)
        rc = spans_add(out, found.at[i].start_ns, found.at[i].end_ns);
    vec_release(&found);
    free(seen);
    return rc < 0 ? -1 : spans_index(out);
}

/* True for names of ranges in which frameworks compile, or run what they just compiled. */
static bool compiles(const char *name)
{
    return strcmp(name, "fallback_function") == 0 || strstr(name, "_compile.<locals>") ||
           strstr(name, "compile_fx") || strstr(name, "nvrtcCompile") ||
           strstr(name, "convert_frame") || strstr(name, "triton.compile");
}

/* True for a long range whose name says that it compiles ("Nvrtc::CompileProgram", "XlaCompile").
 * Not for "compiled", nor for functions of Python. */
static bool says_compile(const struct timeline *t, const struct range *r)
{
    if (r->end_ns - r->start_ns < QUERY_WARM_LONG_NS)
        return false;
    const char *name = tl_text(t, r->name), *at = strcasestr(name, "compile");
    return at && tolower((unsigned char)at[strlen("compile")]) != 'd' && !strstr(name, ".py(");
}

/* What shows one-time work in a recording. */
struct signs {
    struct spans calls, captures; /* calls: long first calls and captures;
                                     captures: captures alone */
    uint32_t marks[64];           /* indices of ranges of compilation */
    size_t n;
    uint32_t *first; /* from query_first_compiled */
    bool loads;      /* loading code is a sign of compiling, because the program does not
                        load code all the time */
};

/* Index of a compilation range that begins inside the gap or just after it, or TL_NONE. */
static uint32_t compiled_at(const struct timeline *t, const struct signs *s, const struct gap *g)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct range *r = &t->ranges[s->marks[i]];
        if (r->start_ns < g->start_ns || r->start_ns >= g->end_ns + QUERY_WARM_NEAR_NS)
            continue;
        if (compiles(tl_text(t, r->name)) || r->end_ns < g->end_ns + QUERY_WARM_NEAR_NS)
            return s->marks[i];
    }
    return TL_NONE;
}

/* Adds `ns` of idle time to down_ns or inside_ns, depending on where the gap lies. */
static void place_in(const struct timeline *t, const struct gap *g, int64_t ns,
                     struct query_warm *w)
{
    if (g->start_ns >= t->gpu_end_ns)
        w->down_ns += ns;
    else if (g->start_ns >= t->gpu_start_ns)
        w->inside_ns += ns;
}

/* True if the gap ends with a kernel that was compiled on first use. */
static bool first_use(const struct timeline *t, const struct signs *s, const struct gap *g)
{
    return g->before_op != TL_NONE && s->first[t->ops[g->before_op].name] == g->before_op;
}

/* True if the program itself loads code. The runtime's loading inside its
 * own calls does not count. */
static bool loads_code(const struct timeline *t, const struct api *c)
{
    const char *name = c->kind == API_MODULE && c->layer == 0 ? tl_text(t, c->name) : "";
    return strstr(name, "ModuleLoad") || strstr(name, "LibraryLoad");
}

/* True if the thread loads code in the gap and then launches the operation that ends it: Triton,
 * NVRTC and XLA compile before they load. */
static bool loads_before(const struct timeline *t, const struct signs *s, const struct gap *g)
{
    uint32_t launch = s->loads && g->before_op != TL_NONE ? t->ops[g->before_op].api : TL_NONE;
    if (launch == TL_NONE)
        return false;
    uint32_t thread = t->apis[launch].thread;
    for (uint32_t i = launch; i-- > 0 && t->apis[i].thread == thread;) {
        if (t->apis[i].start_ns < g->start_ns)
            return false;
        if (loads_code(t, &t->apis[i]))
            return true;
    }
    return false;
}

/* Adds to *w the part of a gap in which the GPU was idle because the program set something
 * up: during long set-up calls and captures, and, if the rest of the gap is long, while code
 * was compiled or loaded. */
static void take_gap(const struct facts *f, const struct gap *g, const struct signs *s,
                     struct query_warm *w)
{
    int64_t covered = spans_covered(&s->calls, g->start_ns, g->end_ns);
    int64_t captured = spans_covered(&s->captures, g->start_ns, g->end_ns);
    int64_t host = gap_ns(f, g, PART_IDLE_HOST),
            idle = host + gap_ns(f, g, PART_IDLE_ALLOC) + gap_ns(f, g, PART_IDLE_LAUNCH);
    covered = covered < idle ? covered : idle;
    captured = captured < covered ? captured : covered;
    w->calls_ns += covered;
    w->capture_ns += captured;
    place_in(f->tl, g, g->start_ns < f->tl->gpu_end_ns ? covered : covered - captured, w);
    w->host_ns += covered < host ? covered : host;
    int64_t rest = host - (covered < host ? covered : host);
    if (rest < QUERY_WARM_LONG_NS)
        return;
    uint32_t mark = compiled_at(f->tl, s, g);
    if (mark != TL_NONE)
        w->compiled = mark;
    else if (first_use(f->tl, s, g) || loads_before(f->tl, s, g))
        w->compiled_op = g->before_op;
    else
        return;
    w->loaded |= mark == TL_NONE && !first_use(f->tl, s, g);
    w->compile_ns += rest;
    place_in(f->tl, g, rest, w);
    w->host_ns += rest;
}

/* Fills *s, and the counts of calls in *w. -1: out of memory. */
static int find_signs(const struct facts *f, struct signs *s, struct query_warm *w)
{
    const struct timeline *t = f->tl;
    for (uint32_t i = 0; i < t->range_count && s->n < sizeof s->marks / sizeof *s->marks; i++)
        if (compiles(tl_text(t, t->ranges[i].name)) || says_compile(t, &t->ranges[i]))
            s->marks[s->n++] = i;
    if (s->n >= QUERY_WARM_SEVERAL && f->steps.count > 1)
        s->n = 0;
    size_t loads = 0;
    for (size_t i = 0; i < t->api_count; i++)
        loads += loads_code(t, &t->apis[i]) && query_step_at(f, t->apis[i].start_ns) != TL_NONE;
    s->loads = loads < QUERY_WARM_SEVERAL || f->steps.count == 1;
    s->first = query_first_compiled(f, QUERY_WARM_LONG_NS);
    if (!s->first)
        return -1;
    if (lacks_core(f))
        return spans_index(&s->calls) < 0 ? -1 : spans_index(&s->captures);
    return long_calls(f, &s->calls, &s->captures, w);
}

struct query_warm query_warm_gaps(const struct facts *f, int64_t *host)
{
    struct query_warm w = {.longest = TL_NONE,
                           .down = TL_NONE,
                           .context = TL_NONE,
                           .compiled = TL_NONE,
                           .compiled_op = TL_NONE};
    struct signs s = {0};
    if (find_signs(f, &s, &w) == 0)
        for (size_t i = 0; i < f->gap_count; i++) {
            uint32_t step = f->gaps[i].step;
            int64_t before = w.host_ns;
            if (step != TL_NONE && f->steps.at[step].used)
                take_gap(f, &f->gaps[i], &s, &w);
            if (host)
                host[i] = w.host_ns - before;
        }
    spans_release(&s.calls);
    spans_release(&s.captures);
    free(s.first);
    find_context(f, &w);
    w.ns = w.calls_ns + w.compile_ns;
    return w;
}

struct query_warm query_warm_up(const struct facts *f)
{
    return query_warm_gaps(f, NULL);
}

const char *query_compiled(const struct facts *f, const struct query_warm *w)
{
    return w->compiled != TL_NONE      ? tl_text(f->tl, f->tl->ranges[w->compiled].name)
           : w->compiled_op != TL_NONE ? tl_text(f->tl, f->tl->ops[w->compiled_op].name)
                                       : NULL;
}
