/* Start-up work lies inside the recording: what it shows is not the steady state. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/warm.h"

/* Where that is most of a window, what it goes to is the answer. */
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

/* Nothing repeats: there may be no loop. */
static const struct remedy remedy_of_window = {"let the loop run longer, or record later: gpuprof "
                                               "run --delay; if this is all that the program "
                                               "does, load and allocate less",
                                               "let the loop run longer, or record later: gpuprof "
                                               "run --delay; if this is all that the program "
                                               "does, load and allocate less",
                                               "let the loop run longer, or record later: gpuprof "
                                               "run --delay; if this is all that the program "
                                               "does, allocate once, in few calls"};

static void check_warm_up(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_warm w = query_warm_up(f);
    int64_t each = per_step(f, w.ns);
    o->why = arena_printf(arena, "%.3f ms per step of one-time work", ms(each));
    if (each * (analysis_of_window(f) ? 10 : 100) < f->step_ns) /* a window may set up once */
        return;
    const char *rows =
        analysis_of_window(f)
            ? "SELECT a.*, s.text FROM api a JOIN string s ON s.id = a.name WHERE end_ns - "
              "start_ns >= 5000000 OR s.text LIKE '%alloc%' OR s.text LIKE '%Free%' OR s.text LIKE "
              "'%Module%' OR s.text LIKE '%Library%' OR s.text LIKE '%Ctx%' OR s.text LIKE "
              "'%Host%egister%' OR s.text LIKE '%Link%' OR s.text LIKE '%Init%' ORDER BY end_ns - "
              "start_ns DESC"
            : "SELECT a.*, s.text FROM api a JOIN string s ON s.id = a.name WHERE end_ns - "
              "start_ns >= 5000000 ORDER BY end_ns - start_ns DESC";
    outcome_evidence(o, "GPU idle during one-time work", ms(w.ns), "ms", NULL);
    outcome_evidence(o,
                     analysis_of_window(f) ? "calls that load, create or allocate"
                                           : "calls of 5 ms and more that load, create or allocate",
                     (double)w.calls, "count", rows);
    outcome_evidence(o, "GPU idle during these calls", ms(w.calls_ns), "ms", rows);
    if (analysis_of_window(f) && w.memory_ns)
        outcome_evidence(o, "host in calls that allocate or free memory", ms(w.memory_ns), "ms",
                         NULL);
    if (analysis_of_window(f) && w.code_ns)
        outcome_evidence(o, "host in calls that load or unload code", ms(w.code_ns), "ms", NULL);
    if (w.compile_ns)
        outcome_evidence(o, "GPU idle before freshly compiled code", ms(w.compile_ns), "ms", NULL);
    const char *what = "";
    if (w.compile_ns > w.calls_ns)
        what = arena_printf(arena, ", most of it compilation before '%s'",
                            tl_text(f->tl, f->tl->ranges[w.compiled].name));
    else if (w.longest != TL_NONE)
        what = arena_printf(
            arena, "; longest: a %s of %s", tl_text(f->tl, f->tl->apis[w.longest].name),
            time_text(arena, f->tl->apis[w.longest].end_ns - f->tl->apis[w.longest].start_ns));
    outcome_fires(o, each,
                  arena_printf(arena,
                               "the window contains warm-up: the GPU waits %s %swhile the program "
                               "loads or compiles code and first allocates memory%s%s",
                               time_text(arena, each), f->steps.used > 1 ? "per step " : "",
                               kinds_text(f, arena, &w), what));
    if (analysis_of_window(f))
        o->remedy = remedy_of_window;
    outcome_example_call(o, f->tl, w.longest, "longest one-time call");
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
    .doc = "The first steps load code, create contexts, allocate and compile. None of this happens "
           "again, so a recording of these steps shows little about the loop, and advice from it "
           "(larger batches, more workers) is wrong. Start recording after about ten steps. If "
           "start-up time itself matters, keep the compilation caches, and warm up before serving.",
    .remedy = {"torch.profiler.schedule(skip_first=10, wait=1, warmup=3, active=5), or gpuprof run "
               "--steps 10:20",
               "profile from the tenth step: tf.profiler.experimental.start after warm-up, or "
               "gpuprof run --steps 10:20",
               "run the loop ten times before recording: gpuprof run --steps 10:20, or --delay"},
    .window_title = "Record more than start-up, or shorten it",
    .start_up = true,
    .tips = {{"warm-up", "Leave the first steps out; compile and tune before the clock starts",
              NULL}},
};
