/* Fires if one line of the program delays the step, whatever the line does: it finds causes that no
 * other rule knows. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/lines.h"
#include "analyzer/queries/query.h"

static void add_evidence(struct outcome *o, const struct query_cause *c)
{
    static const char *const texts[LINE_DOES] = {
        [LINE_COMPUTES] = "in that line, computing",
        [LINE_SLEEPS] = "in that line, asleep",
        [LINE_STARVES] = "in that line, ready but without a core",
        [LINE_DISK] = "in that line, waiting for a disk or a driver",
    };
    const char *rows = "SELECT file, line, function, state, looks FROM stack_time LIMIT 10";
    outcome_evidence_per(o, "time in the line and its function", ms(c->ns), "ms", rows);
    for (int i = 0; i < LINE_DOES; i++)
        if (texts[i] && c->line->does_ns[i] > 0)
            outcome_evidence(o, texts[i], ms(c->line->does_ns[i]), "ms", NULL);
    outcome_evidence(o, "samples in that line", (double)c->line->looks, "count", rows);
}

static void check_slow_line(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_cause c = query_own_cause(f);
    if (facts_line_looks(f) < LINES_LEAST) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: enough samples of the program's Python stacks (gpuprof run takes "
                 "them)";
        return;
    }
    o->why = "no line holds a tenth of the step besides the model's own computing";
    if (!c.line)
        return;
    if (query_line_loads(c.line) && query_lack_of_core_dominates(f)) {
        o->why = "the line with most of the step waits for the loader's batches, and threads lack "
                 "cores: the verdict and the rules about loaders say so";
        return;
    }
    add_evidence(o, &c);
    o->error_class = ERROR_RERUN_DECIDES; /* how much of it the loop needs is not known */
    outcome_look_at(o, arena, &c);
    outcome_fires(o, c.ns,
                  arena_printf(arena, "%s of %s %s pass in %s", time_text(arena, c.ns),
                               time_text(arena, f->step_ns), scope_words(f)->per,
                               query_cause_text(&c, arena)));
}

const struct rule rule_slow_line = {
    .id = "slow-line",
    .title = "Look at the line that holds up the step",
    .needs = HAVE_STEPS,
    .check = check_slow_line,
    .stands_in = true,
    .looks_for = "Samples of the training thread's stack: a line of the user's own code with a "
                 "tenth of the step or more, in which the GPU idles; without a GPU, in which "
                 "neither the model computes nor the thread is ready without a core.",
    .doc = "A program can lose its time in more ways than rules know: a command that it starts, a "
           "sleep, a lock, a file that is written, a loop in Python. The samples show the line and "
           "what the thread does there. The bound is all of that time, as only the program's "
           "author knows how much of the work the loop needs. It gives way to a finding that says "
           "what to do about the same time.",
    .remedy = {.action = ACTION_SHORTEN_LINE, .object.kind = OBJECT_PROGRAM},
    .tips = {{"profile-lines", "Profile the host's code by line (py-spy, cProfile)", NULL}},
};
