/* Fires if a step generates text and the GPU waits for the many small launches of each token. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/training/generation.h"
#include "wire/fact_keys.h"

#include <string.h>

static void evidence(const struct facts *f, struct outcome *o, const struct query_generation *g)
{
    const char *rows = query_generation_sql;
    outcome_evidence_per(o, "in generate()", ms(per_step(f, g->ns)), "ms", rows);
    outcome_evidence_per(o, "launches in it", (double)each_step(f, g->launches), "count", rows);
    outcome_evidence_per(o, "GPU idle for the host in it", ms(per_step(f, g->idle_ns)), "ms", rows);
}

static void check_generation(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_generation g;
    if (query_generation(f, arena, &g) < 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    int64_t idle = per_step(f, g.idle_ns);
    o->why = g.calls ? arena_printf(arena, "the GPU waits %.3f ms %s in generate()", ms(idle),
                                    scope_words(f)->per)
                     : "no generate() was recorded";
    if (!query_generates(f, &g))
        return;
    evidence(f, o, &g);
    /* the remedy then does not advise the cache again */
    o->remedy.conditions[CONDITION_CACHED] = g.cached;
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, idle,
                  arena_printf(arena,
                               "generate() takes %s %s and launches %lld times, one token after "
                               "the other; the GPU waits %s of that for the host",
                               time_text(arena, per_step(f, g.ns)), scope_words(f)->per,
                               (long long)each_step(f, g.launches), time_text(arena, idle)));
    const struct range *r = &f->tl->ranges[g.longest];
    outcome_example(o, r->start_ns, r->end_ns, "longest generate()", TL_NONE);
}

const struct rule rule_generation = {
    .id = "generation",
    .title = "Generate text with fewer launches",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_RANGES,
    .check = check_generation,
    .in_window = true,
    .looks_for =
        "Transformers' generate() on the training thread, told by gpuprof's Python hook or "
        "by recorded stacks, and a GPU that waits for launches or other host work in it.",
    .doc = "Reinforcement learning from rewards (GRPO, PPO) generates text in each step. A token "
           "takes as many kernels as a forward pass, each of them works on few values, and the "
           "next token cannot begin before: the host's pace is all that counts. An engine made for "
           "it batches requests, and launches a token as one CUDA graph. A cache of fixed size "
           "lets Transformers compile the pass. The saving is a bound, the whole wait; a rerun "
           "decides.",
    .remedy = {.action = ACTION_GENERATE_IN_FEWER_LAUNCHES},
    .program = {.now = FACT_TRANSFORMERS_GENERATE},
    .tips = {{"generation", "Generate with a static cache and compiled decoding, or with vLLM",
              "Transformers' generate() alone"}},
};
