/* Fires if start-up work lies inside the recording, so that it does not show the steady state. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/warm.h"

#include <string.h>

/* For a window: returns what the start-up consists of, because that is the answer if it fills most
 * of the window. */
static const char *kinds_text(const struct facts *f, struct arena *arena,
                              const struct query_warm *w)
{
    if (!analysis_of_window(f))
        return "";
    const char *memory = w->memory_ns
                             ? arena_printf(arena, ", %s in calls that allocate or free memory",
                                            time_text(arena, w->memory_ns))
                             : "";
    const char *code = w->code_ns ? arena_printf(arena, ", %s in calls that load or unload code",
                                                 time_text(arena, w->code_ns))
                                  : "";
    return arena_printf(arena, "%s%s", memory ? memory : "", code ? code : "");
}

/* Returns e.g. "; longest: a cudaMalloc of 60 ms". */
static const char *longest_text(const struct facts *f, struct arena *arena, uint32_t call)
{
    const struct api *c = &f->tl->apis[call];
    return arena_printf(arena, "; longest: a %s of %s", tl_text(f->tl, c->name),
                        time_text(arena, c->end_ns - c->start_ns));
}

/* Names what takes most of the start-up: compilation, a capture, the context, or the longest
 * call. */
static const char *what_most(const struct facts *f, struct arena *arena, const struct query_warm *w)
{
    if (w->compile_ns > w->calls_ns) {
        const char *name = query_compiled(f, w);
        bool itself = strcasestr(name, "compile") != NULL;
        return arena_printf(arena, ", most of it %scompilation %s '%s'",
                            w->loaded ? "before code is loaded, which looks like " : "",
                            itself ? "in" : "before", name);
    }
    if (w->capture_ns * QUERY_SOME > w->ns)
        return arena_printf(arena, ", %s%s%s while it captures %lld CUDA graph%s",
                            w->capture_ns * 2 > w->ns ? "most of it (" : "",
                            time_text(arena, per_step(f, w->capture_ns)),
                            w->capture_ns * 2 > w->ns ? ")" : "", (long long)w->captures,
                            w->captures == 1 ? "" : "s");
    if (w->context != TL_NONE)
        return arena_printf(arena,
                            "; %s of it in the first call to the GPU, a %s, which creates the CUDA "
                            "context, and takes that time whatever call it is",
                            time_text(arena, w->context_ns),
                            tl_text(f->tl, f->tl->apis[w->context].name));
    return w->longest != TL_NONE ? longest_text(f, arena, w->longest) : "";
}

static const char *start_text(const struct facts *f, struct arena *arena,
                              const struct query_warm *w)
{
    const char *kinds = kinds_text(f, arena, w), *most = what_most(f, arena, w);
    return arena_printf(
        arena,
        "the window contains warm-up: the GPU waits %s %swhile the program loads or "
        "compiles code and first allocates memory%s%s",
        time_text(arena, per_step(f, w->ns - w->down_ns)), f->steps.used > 1 ? "per step " : "",
        kinds ? kinds : "", most ? most : "");
}

static const char *end_text(const struct facts *f, struct arena *arena, const struct query_warm *w)
{
    const char *longest = longest_text(f, arena, w->down);
    bool one = w->down_calls == 1;
    return arena_printf(arena,
                        "behind the GPU's last work, %lld call%s to free memory, unload code or "
                        "end otherwise take%s %s%s",
                        (long long)w->down_calls, one ? "" : "s", one ? "s" : "",
                        time_text(arena, w->down_ns), longest ? longest : "");
}

/* Describes start-up and, for a window, also the end of the program. */
static const char *summary(const struct facts *f, struct arena *arena, const struct query_warm *w)
{
    const char *start = start_text(f, arena, w);
    if (w->down == TL_NONE || w->down_ns * RULES_TOLD < w->ns)
        return start;
    const char *end = end_text(f, arena, w);
    if ((w->ns - w->down_ns) * RULES_TOLD < w->ns || !start || !end)
        return end ? end : start;
    return arena_printf(arena, "%s; %s", start, end);
}

static void evidence(const struct facts *f, struct outcome *o, const struct query_warm *w)
{
    bool window = analysis_of_window(f);
    const char *rows =
        window
            ? "SELECT a.*, s.text FROM api a JOIN string s ON s.id = a.name WHERE end_ns - "
              "start_ns >= 5000000 OR s.text LIKE '%alloc%' OR s.text LIKE '%Free%' OR s.text LIKE "
              "'%Module%' OR s.text LIKE '%Library%' OR s.text LIKE '%Ctx%' OR s.text LIKE "
              "'%Host%egister%' OR s.text LIKE '%Link%' OR s.text LIKE '%Init%' ORDER BY end_ns - "
              "start_ns DESC"
            : "SELECT a.*, s.text FROM api a JOIN string s ON s.id = a.name WHERE end_ns - "
              "start_ns >= 5000000 ORDER BY end_ns - start_ns DESC";
    outcome_evidence(o, "GPU idle during one-time work", ms(w->ns), "ms", NULL);
    outcome_evidence(o,
                     window ? "calls that load, create or allocate"
                            : "calls of 5 ms and more that load, create or allocate",
                     (double)w->calls, "count", rows);
    outcome_evidence(o, "GPU idle during these calls", ms(w->calls_ns - w->down_ns), "ms", rows);
    if (w->context != TL_NONE)
        outcome_evidence(o, "host in the first call, which creates the CUDA context",
                         ms(w->context_ns), "ms", rows);
    if (window && w->memory_ns)
        outcome_evidence(o, "host in calls that allocate or free memory", ms(w->memory_ns), "ms",
                         NULL);
    if (window && w->code_ns)
        outcome_evidence(o, "host in calls that load or unload code", ms(w->code_ns), "ms", NULL);
    if (w->down != TL_NONE)
        outcome_evidence(o, "GPU idle in such calls behind its last work", ms(w->down_ns), "ms",
                         rows);
    if (w->captures)
        outcome_evidence(o, "GPU idle while CUDA graphs are captured", ms(w->capture_ns), "ms",
                         NULL);
    if (w->compile_ns)
        outcome_evidence(o, "GPU idle before freshly compiled code", ms(w->compile_ns), "ms", NULL);
}

/* True if the recording begins with a later step: what takes long there is no start-up. A CUDA call
 * takes milliseconds as well where its thread lacks a core. */
static bool begins_later(const struct facts *f)
{
    return f->window_count && f->windows[0].number > RULES_STARTED_STEPS;
}

static void check_warm_up(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_warm w = query_warm_up(f);
    int64_t each = per_step(f, w.ns);
    o->why = arena_printf(arena, "%.3f ms%s of one-time work", ms(each), scope_words(f)->per_of);
    if (each * (analysis_of_window(f) ? QUERY_SOME : QUERY_WORTH) <
        f->step_ns) /* a window may contain one set-up */
        return;
    if (begins_later(f)) {
        o->why = arena_printf(arena, "the recording begins with step %lld, behind the start",
                              (long long)f->windows[0].number);
        return;
    }
    evidence(f, o, &w);
    outcome_fires(o, each, summary(f, arena, &w));
    bool ends = 2 * w.down_ns > w.ns;
    if (analysis_of_window(f)) {
        o->remedy.action = ends                      ? ACTION_LEAVE_END_OUT
                           : 2 * w.context_ns > w.ns ? ACTION_SHARE_CONTEXT /* in any call */
                           : 2 * w.compile_ns > w.ns ? ACTION_KEEP_COMPILED_CODE
                                                     : ACTION_RECORD_LONGER;
        o->title = ends ? "Leave the end of the program out, or shorten it" : o->title;
    }
    outcome_example_call(o, f->tl, ends ? w.down : w.longest, "longest one-time call");
    if (w.compiled != TL_NONE)
        outcome_example(o, f->tl->ranges[w.compiled].start_ns, f->tl->ranges[w.compiled].end_ns,
                        "runs right after it was compiled", TL_NONE);
}

const struct rule rule_warm_up = {
    .id = "warm-up",
    .title = "Record later steps: the window contains warm-up",
    .needs = HAVE_KERNELS | HAVE_API,
    .check = check_warm_up,
    .in_window = true,
    .looks_for = "A GPU that idles during single long calls (contexts, first allocations, lazy "
                 "loading on the first launch) and before code that was just compiled.",
    .doc =
        "The first steps load code, create contexts, allocate and compile. None of this happens "
        "again, so a recording of these steps shows little about the loop, and advice from it "
        "(larger batches, more workers) is wrong. Start recording after about ten steps. If "
        "start-up time itself matters, keep the compilation caches, and warm up before serving. "
        "The first call of a process creates the CUDA context and loads the program's code, "
        "whatever the call is: a cudaMalloc that does so is no slow allocation. Calls behind the "
        "GPU's last work free and unload, and are the program's end.",
    .remedy = {.action = ACTION_RECORD_LATER, .object.kind = OBJECT_RECORDING},
    .window_title = "Record more than start-up, or shorten it",
    .start_up = true,
    .tips = {{"warm-up", "Leave the first steps out; compile and tune before the clock starts",
              NULL}},
};
