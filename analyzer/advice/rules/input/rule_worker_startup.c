/* Workers are started anew for each loop over the loader: processes, imports, the first batch. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/input/feed.h"

#include <string.h>

static void evidence(const struct facts *facts, struct arena *arena, struct outcome *o,
                     const struct feed *f)
{
    const char *how = query_feed_fact(facts, arena, f, "start");
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
        o->why = "no loader of a framework is waited for";
        return;
    }
    if (f.have <= 0 || f.loops <= 0) {
        o->why = f.have == 0 ? "the loader has no workers to start" : "no loop begins in the steps";
        return;
    }
    double each = f.startup_ns * f.loops / f.steps;
    o->why = arena_printf(arena, "starting workers costs %.3f ms per step%s", each / 1e6,
                          f.persistent ? "; they are kept already" : "");
    if (f.persistent || each * 50 < f.step_ns)
        return;
    const char *how = query_feed_fact(facts, arena, &f, "start"),
               *where = query_feed_fact(facts, arena, &f, "where");
    bool spawns = how && strcmp(how, "fork") != 0;
    evidence(facts, arena, o, &f);
    o->remedy = o->rule->remedy;
    o->remedy.pytorch = query_feed_line(
        facts, arena, &f,
        f.anew ? "make the DataLoader once, before the loop over the epochs, with "
                 "persistent_workers=True"
        : spawns
            ? "DataLoader(..., persistent_workers=True); with multiprocessing_context=\"fork\" "
              "the first start is faster, too, where no thread or GPU is at work yet"
            : "DataLoader(..., persistent_workers=True)");
    if (!f.anew)
        o->setting = query_feed_setting(facts, arena, &f, "persistent_workers=1");
    outcome_fires(o, query_feed_share(facts, &f, each),
                  arena_printf(arena,
                               "each loop%s%s starts %d worker%s anew, which holds it up for "
                               "%.0f ms: %.1f ms of the %.1f ms that a step takes on average",
                               where ? " at " : "", where ? where : "", f.have,
                               f.have == 1 ? "" : "s", f.startup_ns / 1e6, each / 1e6,
                               f.step_ns / 1e6));
    /* Kept workers are still told of the new loop and make its first batch. */
    o->saves_low_ns = o->saves_high_ns * 6 / 10;
    o->saves_mid_ns = o->saves_high_ns * 9 / 10;
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
    .looks_for = "Loops over a loader that start its worker processes anew, with the time from the "
                 "beginning of the loop to its first batch beyond making that, and for stopping "
                 "them.",
    .doc = "A loader with workers starts them when a loop over it begins and stops them when it "
           "ends: a process each, which is copied (fork) or imports the program again (spawn, "
           "seconds each), then fills its queue. Over a short set that is most of an epoch. Kept "
           "workers hold the dataset as it was when they started: what the program changes in it "
           "between epochs they do not see. More workers cost more of it.",
    .remedy = {"DataLoader(..., persistent_workers=True), made once, before the loop over the "
               "epochs",
               "one dataset.repeat(epochs) instead of a new iterator for each epoch",
               "start the reader threads once, and let them wait between epochs"},
    .setting = "persistent_workers",
    .tips = {{"persistent-workers", "Keep the loader's workers from one epoch to the next", NULL}},
};
