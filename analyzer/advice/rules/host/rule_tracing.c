/* Fires if the program trains with a profiler or tracer of its own switched on. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/query.h"
#include "wire/fact_keys.h"

/* Returns the ns per step that the tracer may prolong: the host's work while the GPU waits for it,
 * or without a GPU the whole step. Which share of that the tracer costs is not known. */
static int64_t slowed_ns(const struct facts *f)
{
    const int64_t *part = f->breakdown_ns;
    return f->on_cpu ? f->step_ns : part[PART_IDLE_LAUNCH] + part[PART_IDLE_HOST];
}

static const char *summary(struct arena *arena, const struct facts *f, const char *tracer,
                           const char *where, int64_t ns)
{
    const char *per = scope_words(f)->per;
    if (tracer)
        return arena_printf(arena,
                            "the interpreter calls %s for lines or calls of Python while the "
                            "program trains; %s %s are the host's work that this makes longer",
                            tracer, time_text(arena, ns), per);
    return arena_printf(arena,
                        "torch.profiler%s%s still records behind step 30; %s %s are the host's "
                        "work that this makes longer",
                        where ? ", started at " : "", where ? where : "", time_text(arena, ns),
                        per);
}

static void check_tracing(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const char *tracer = timeline_meta(f->tl, FACT_PYTHON_TRACER);
    const char *on = timeline_meta(f->tl, FACT_TORCH_PROFILER);
    const char *where = timeline_meta_place(f->tl, FACT_TORCH_PROFILER);
    int64_t ns = slowed_ns(f);
    o->why = "neither a profiler nor a tracer of the program's own is on";
    if (!timeline_meta(f->tl, FACT_TORCH_VERSION)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: whether a profiler or a tracer is on (gpuprof run records it of "
                 "PyTorch programs)";
        return;
    }
    if (!tracer && !on)
        return;
    o->why = arena_printf(arena, "%s is on; the GPU hardly waits for the host",
                          tracer ? tracer : "torch.profiler");
    if (ns * QUERY_WORTH < f->step_ns)
        return;
    outcome_evidence_per(o, "host work that it makes longer", ms(ns), "ms", NULL);
    o->error_class = ERROR_RERUN_DECIDES;
    remedy_text(&o->remedy, PARAM_CALL, tracer ? tracer : "torch.profiler");
    o->remedy.object.place = tracer ? NULL : where;
    outcome_fires(o, ns, summary(arena, f, tracer, where, ns));
}

const struct rule rule_tracing = {
    .id = "tracing",
    .title = "Train without a tracer or profiler of your own",
    .needs = HAVE_STEPS,
    .check = check_tracing,
    .looks_for = "Functions that the interpreter calls for lines or calls (sys.settrace, "
                 "sys.setprofile, sys.monitoring) at the first step, and a torch.profiler that "
                 "still records behind the thirtieth.",
    .doc = "Coverage, debuggers and profilers run code of their own for every line, call or "
           "operator. They are tools for a few steps: torch.profiler.schedule() records some and "
           "then leaves the program alone. How much of the host's work is theirs is not recorded, "
           "so the bound is all of it for which the GPU waits; a rerun without them decides.",
    .remedy = {.action = ACTION_STOP_TRACING, .object.kind = OBJECT_PROGRAM},
    .tips = {{"debug-off", "Switch debugging aids off (blocking launches, anomaly checks, logs)",
              NULL}},
};
