/* Fires if taking tensors over from the loader's workers, one by one, takes much of the step. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/facts/lines.h"
#include "analyzer/queries/input/feed.h"
#include "analyzer/queries/input/handed.h"
#include "wire/fact_keys.h"

#include <string.h>

/* The program's own function that joins samples, "pack.py:14". */
static const char *joins(const struct facts *f, struct arena *arena)
{
    struct feed feed;
    const char *by =
        query_feed(f, arena, &feed) ? query_feed_fact(f, arena, &feed, FACT_LOADER_COLLATE) : NULL;
    const char *place = by ? strrchr(by, ' ') : NULL;
    return place && !strchr(place, '/') ? place + 1 : NULL;
}

static void check_many_tensors(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t cost = query_handed_ns(f), tensors = query_batch_tensors(f);
    if (tensors == 0 || facts_lines(f, LINES_STEP)->count == 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: how many tensors a batch has, or what the training thread does "
                 "while the GPU "
                 "waits (gpuprof run records both of PyTorch programs)";
        return;
    }
    o->why = arena_printf(arena, "taking %lld tensors a batch over from workers takes %s %s",
                          (long long)tensors, time_text(arena, cost), scope_words(f)->per);
    if (cost * QUERY_SOME < f->step_ns || tensors < RULES_MANY_TENSORS)
        return;
    outcome_evidence(o, "tensors in the first batch", (double)tensors, "count", NULL);
    outcome_evidence_per(o, "taking tensors over from the workers,", ms(cost), "ms",
                         "SELECT * FROM stack_time LIMIT 20");
    o->remedy.object.place = joins(f, arena);
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "a batch has %lld tensors or more, and the training thread takes "
                               "each over from a worker by itself: %s of %s %s pass in that",
                               (long long)tensors, time_text(arena, cost),
                               time_text(arena, f->step_ns), scope_words(f)->per));
    outcome_example_gaps(o, f, PART_IDLE_INPUT, "GPU idle, next batch not ready");
}

const struct rule rule_many_tensors = {
    .id = "many-tensors",
    .title = "Hand over batches in few tensors",
    .needs = HAVE_STEPS,
    .check = check_many_tensors,
    .about_input = true,
    .looks_for = "Samples of the training thread in PyTorch's code that takes tensors over from "
                 "other processes, a tenth of the step in all.",
    .doc = "A worker puts each tensor of a batch into memory of its own, and sends the number of "
           "its file; the training thread connects to the worker for each, and maps it. That takes "
           "some 0.1 ms for a tensor, however small. A batch of sixteen samples with seven small "
           "tensors each is over a hundred of them: joined in the collate function (torch.cat, "
           "with the lengths beside) they are seven. The bound is all of that time.",
    .remedy = {.action = ACTION_HAND_OVER_LESS, .object.kind = OBJECT_CALL},
    .tips = {{"one-piece-batches", "Hand batches over in few large tensors", NULL}},
};
