/* Fires if an IterableDataset does so much before the first batch of each loop over its loader that the
 * loops wait for it: it fills a buffer to shuffle in, lists or opens files. */
#include "analyzer/advice/outcome_loader.h"
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/input/feed.h"
#include "analyzer/queries/lines.h"
#include "wire/fact_keys.h"

/* The data set's __iter__, as the hook names it. */
static const char *opener(const struct facts *facts, struct arena *arena, const struct feed *f)
{
    const char *set = query_feed_fact(facts, arena, f, FACT_LOADER_DATASET);
    return set ? set : "the data set";
}

static void evidence(struct outcome *o, const struct feed *f)
{
    const char *rows = "SELECT * FROM loader_span WHERE what = 1 ORDER BY end_ns - start_ns DESC";
    outcome_evidence(o, "more than a later one takes to make", f->opening_ns / 1e6, "ms", rows);
    outcome_evidence(o, "a later batch", f->fetch_ns / 1e6, "ms", rows);
    outcome_evidence(o, "loops in the steady steps", f->loops, "count",
                     "SELECT * FROM loader_span WHERE what = 4");
    outcome_evidence(o, "steps in a loop", f->steps / f->loops, "count", NULL);
}

static void check_slow_first_batch(const struct facts *facts, struct arena *arena,
                                   struct outcome *o)
{
    struct feed f;
    if (!query_feed(facts, arena, &f)) {
        o->why = "no step waits for a framework's data loader";
        return;
    }
    if (!f.iterable || f.loops <= 0) {
        o->why = f.iterable ? "no loop begins in the steps"
                            : "the loader's data set is no IterableDataset";
        return;
    }
    double each = f.opening_ns * f.loops / f.steps;
    o->why = arena_printf(arena, "what comes before the first batch of a loop costs %.3f ms %s",
                          each / 1e6, scope_words(facts)->per);
    if (each * RULES_RARE < f.step_ns)
        return;
    const char *where = query_feed_fact(facts, arena, &f, FACT_LOADER_WHERE);
    evidence(o, &f);
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, query_feed_share(facts, &f, each),
                  arena_printf(arena,
                               "each loop%s%s waits %.0f ms more for its first batch than a later "
                               "one takes to make: %s of the %s that a step takes on average. "
                               "%s does that anew for each loop%s",
                               where ? " at " : "", where ? where : "", f.opening_ns / 1e6,
                               time_text(arena, (int64_t)each),
                               time_text(arena, (int64_t)f.step_ns), opener(facts, arena, &f),
                               query_samples_text(facts, arena)));
    outcome_of_loader(facts, arena, o, &f);
}

const struct rule rule_slow_first_batch = {
    .id = "slow-first-batch",
    .title = "Do less before the first batch of each loop",
    .needs = HAVE_STEPS | HAVE_LOADER,
    .check = check_slow_first_batch,
    .about_input = true,
    .program = {.now = FACT_TORCH_LOADER},
    .looks_for = "Loops over a loader with an IterableDataset whose first batch takes longer to "
                 "make than later ones, by a fiftieth of a step for each of the loop's steps.",
    .doc = "A DataLoader calls the __iter__ of an IterableDataset anew for each loop, also in "
           "workers that it keeps. What that does before it yields its first sample, the loop "
           "waits for: a buffer to shuffle in that is filled, files that are listed, opened or "
           "decoded. The bound is all of it; where a buffer of some size is wanted, less can be "
           "saved, unless one loop goes on through all epochs.",
    .remedy = {.action = ACTION_OPEN_DATA_ONCE, .object.kind = OBJECT_LOADER},
    .tips = {{"open-data-once", "Fill buffers and open files once, not in each epoch", NULL}},
};
