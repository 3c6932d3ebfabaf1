/* Fires if the training thread waits while another thread of the program computes in Python. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/lines.h"
#include "analyzer/queries/query.h"

static void check_python_threads(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const struct lines *l = facts_lines(f, LINES_THREADS);
    const char *rows = "SELECT file, line, function, state, looks FROM stack_time LIMIT 10";
    char text[512];
    if (facts_line_looks(f) < LINES_LEAST) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: enough samples of the program's Python stacks (gpuprof run takes "
                 "them)";
        return;
    }
    o->why = "the training thread hardly waits for other threads that compute in Python";
    if (l->count == 0 || l->ns * QUERY_SOME < f->step_ns)
        return;
    const struct line *most = &l->at[0];
    outcome_evidence_per(o, "the training thread waits for a lock meanwhile", ms(l->ns), "ms",
                         rows);
    outcome_evidence(o, "samples of those threads", (double)l->looks, "count", rows);
    outcome_evidence_share(o, "of them, in that line's function",
                           l->ns > 0 ? 100.0 * (double)most->function_ns / (double)l->ns : 0, rows);
    o->error_class = ERROR_RERUN_DECIDES; /* the training thread waits for other things, too */
    if (*most->function)
        o->title = arena_printf(arena, "Take %s() out of the training process", most->function);
    o->remedy.object.place = most->place;
    outcome_fires(o, l->ns,
                  arena_printf(arena,
                               "for %s of %s %s the training thread waits for a lock, while "
                               "another thread computes in Python, mostly in %s: only one thread "
                               "can at a time",
                               time_text(arena, l->ns), time_text(arena, f->step_ns),
                               scope_words(f)->per, line_text(most, text, sizeof text)));
}

const struct rule rule_python_threads = {
    .id = "python-threads",
    .title = "Take Python work out of the training process",
    .needs = HAVE_STEPS,
    .check = check_python_threads,
    .looks_for = "Samples that find the training thread asleep on a lock, where it keeps the GPU "
                 "idle, and another thread of the same process computing in Python.",
    .doc = "Python runs the code of one thread at a time. A thread that logs, watches, prefetches "
           "or compresses in Python beside the loop takes the interpreter's lock in turns of five "
           "milliseconds, and each operator of PyTorch gives the lock away and waits for it again. "
           "The bound is the time in which both were found: the training thread may also wait for "
           "a result of that thread, which then has to come sooner.",
    .remedy = {.action = ACTION_MOVE_TO_PROCESS, .object.kind = OBJECT_CALL},
    .tips = {{"python-threads", "Do not compute in Python threads beside the loop", NULL}},
};
