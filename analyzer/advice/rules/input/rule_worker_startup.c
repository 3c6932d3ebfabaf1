/* Fires if each loop over the loader starts its workers again: processes, imports, the first
 * batch. */
#include "analyzer/advice/outcome_loader.h"
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/input/feed.h"
#include "wire/fact_keys.h"

#include <string.h>

static void evidence(const struct facts *facts, struct arena *arena, struct outcome *o,
                     const struct feed *f)
{
    const char *how = query_feed_fact(facts, arena, f, FACT_LOADER_START);
    outcome_evidence(o, "to start and stop workers, for each loop", f->startup_ns / 1e6, "ms",
                     "SELECT * FROM loader_span WHERE what IN (4, 5)");
    outcome_evidence(o, "loops in the steady steps", f->loops, "count",
                     "SELECT * FROM loader_span WHERE what = 4");
    outcome_evidence(o, "steps in a loop", f->steps / f->loops, "count", NULL);
    outcome_evidence(o, "a step, on average", f->step_ns / 1e6, "ms", NULL);
    outcome_evidence(o,
                     arena_printf(arena, "workers%s%s%s", how ? " (started by " : "",
                                  how ? how : "", how ? ")" : ""),
                     f->have, "count", NULL);
}

static void check_worker_startup(const struct facts *facts, struct arena *arena, struct outcome *o)
{
    struct feed f;
    if (!query_feed(facts, arena, &f)) {
        o->why = "no step waits for a framework's data loader";
        return;
    }
    if (f.have <= 0 || f.loops <= 0) {
        o->why = f.have == 0 ? "the loader has no workers to start" : "no loop begins in the steps";
        return;
    }
    double each = f.startup_ns * f.loops / f.steps;
    o->why = arena_printf(arena, "starting workers costs %.3f ms %s%s", each / 1e6,
                          scope_words(facts)->per,
                          f.persistent ? "; the program keeps them already" : "");
    if (f.persistent || each * RULES_RARE < f.step_ns)
        return;
    const char *how = query_feed_fact(facts, arena, &f, FACT_LOADER_START),
               *where = query_feed_fact(facts, arena, &f, FACT_LOADER_WHERE);
    evidence(facts, arena, o, &f);
    outcome_of_loader(facts, arena, o, &f);
    if (f.foreign)
        o->remedy.action = ACTION_USE_FEWER_WORKERS;
    else if (f.anew)
        o->remedy.action = ACTION_CREATE_LOADER_ONCE;
    else if (how && strcmp(how, "fork") != 0)
        remedy_text(&o->remedy, PARAM_START_METHOD, how);
    outcome_fires(o, query_feed_share(facts, &f, each),
                  arena_printf(arena,
                               "each loop%s%s starts %d new worker%s and waits %.0f ms for that: "
                               "%s of the %s that a step takes on average",
                               where ? " at " : "", where ? where : "", f.have,
                               f.have == 1 ? "" : "s", f.startup_ns / 1e6,
                               time_text(arena, (int64_t)each),
                               time_text(arena, (int64_t)f.step_ns)));
    if (f.foreign)
        return;
    /* Kept workers must still be notified of the new loop and make its first batch. */
    o->saves_low_ns = (int64_t)(RULES_KEPT_WORKERS.bad * (double)o->saves_high_ns);
    o->saves_mid_ns = (int64_t)(RULES_KEPT_WORKERS.likely * (double)o->saves_high_ns);
    o->own_low_ns = o->saves_low_ns;
    o->own_high_ns = o->saves_high_ns;
    o->upper_bound = false;
}

const struct rule rule_worker_startup = {
    .id = "worker-startup",
    .title = "Keep the loader's workers from one epoch to the next",
    .needs = HAVE_STEPS | HAVE_LOADER,
    .check = check_worker_startup,
    .about_input = true,
    .program = {.line = FACT_TORCH_LOADER "." FACT_LOADER_MADE, .now = FACT_TORCH_LOADER},
    .looks_for = "Loops over a loader that start new worker processes. gpuprof counts the time "
                 "from the start of the loop to its first batch, without the time to make that "
                 "batch, and the time to stop the workers.",
    .doc = "A loader starts its workers when a loop over it begins and stops them when the loop "
           "ends. Each worker is a process that is forked, or that imports the program again "
           "(spawn, seconds each), and then fills its queue. With a short data set this takes most "
           "of an epoch, and more workers take longer. Persistent workers keep the dataset as it "
           "was when they started: they do not see what the program changes in it between epochs.",
    .remedy = {.action = ACTION_KEEP_WORKERS, .object.kind = OBJECT_LOADER},
    .tips = {{"persistent-workers", "Keep the loader's workers from one epoch to the next", NULL}},
};
