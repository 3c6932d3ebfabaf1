/* Fires if now and then a step takes much longer because the host does something that the other
 * steps lack: a checkpoint, a log, a validation. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/query.h"

#include <string.h>

/* By the part in which long steps spend more time: which rules answer for it. NULL: this rule
 * does. */
static const char *const others[PART_COUNT] = {
    [PART_COMM] = "the long steps spend more time in communication: the rules on ranks are about "
                  "that",
    [PART_IDLE_INPUT] = "the long steps wait for their batch: the rules on data loading are about "
                        "that",
    [PART_IDLE_COPY] = "the long steps wait in copies: the rules on copies are about that",
    [PART_IDLE_SYNC] = "the long steps wait for the GPU: sync-in-loop is about that",
    [PART_IDLE_LAUNCH] = "the long steps launch too slowly: cuda-graphs is about that",
    [PART_IDLE_ALLOC] = "the long steps allocate memory: allocation-in-loop is about that",
};

/* Returns true if long steps come at equal distances, give or take one step, as work every N steps
 * does. */
static bool every_so_many(const struct steps *s)
{
    size_t last = 0, least = SIZE_MAX, most = 0, seen = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (!s->at[i].slow)
            continue;
        size_t apart = i - last;
        if (seen++) {
            least = apart < least ? apart : least;
            most = apart > most ? apart : most;
        }
        last = i;
    }
    return seen > 2 && most <= least + 1;
}

/* Returns why this rule does not fire, with o->verdict set, or NULL if it does. */
static const char *elsewhere(const struct facts *f, struct outcome *o)
{
    o->verdict = RULE_SUPPRESSED;
    if (f->long_part == PART_IDLE_ALLOC && query_steps_with(f, PART_IDLE_ALLOC) * 2 < f->steps.used)
        return "the long steps allocate memory, which most steps do not: a pool that still grows, "
               "or memory to allocate before the loop";
    if (others[f->long_part])
        return others[f->long_part];
    if (f->long_part == PART_IDLE_HOST && f->long_in && strcmp(f->long_in, "gc") == 0)
        return "Python's garbage collector makes them long: gc-pauses is about that";
    if (f->long_part == PART_IDLE_HOST && query_steps_with(f, PART_IDLE_HOST) * 2 >= f->steps.used)
        return "most steps contain such work, more or less of it: host-work is about that";
    if (f->long_part == PART_IDLE_HOST && query_wait_is_lack_of_core(f))
        return "the training thread had no core when it was ready to run: other programs, or too "
               "many threads, make steps long";
    if (f->long_part == PART_IDLE_HOST && (f->long_in || every_so_many(&f->steps)))
        return NULL;
    o->verdict = RULE_CANNOT_TELL;
    if (f->long_part == PART_IDLE_HOST)
        return "the host keeps the GPU waiting in the long steps, which come at no regular "
               "distance and in no recorded range: another program may have had the core";
    return "in the long steps the same work on the GPU takes longer, and no record says why: "
           "clocks, or another program on the GPU or on the link to it";
}

static void check_long_steps(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const struct steps *s = &f->steps;
    o->why = "no steps that take half as long again recur";
    if (!s->recurs || s->slow == 0)
        return;
    if (!f->long_text) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = arena_printf(arena,
                              "%zu of %zu steps take much longer, for no one reason: no "
                              "part of the step has half of what they take more",
                              s->slow, steps_like(s));
        return;
    }
    const char *other = elsewhere(f, o);
    if (other) {
        o->why = other;
        return;
    }
    int64_t gain = (int64_t)((double)f->long_extra_ns * (double)s->slow / (double)steps_like(s));
    if (gain * QUERY_WORTH < f->step_ns) {
        o->why = "what makes some steps long is less than 1 % of all steps";
        return;
    }
    o->error_class = ERROR_RERUN_DECIDES; /* how much of it can go or move is not known */
    outcome_evidence(o, "long steps", (double)s->slow, "count", NULL);
    outcome_evidence(o, "a long step, on average", ms(s->long_ns), "ms", NULL);
    outcome_evidence(o, "any other step", ms(s->short_ns), "ms", NULL);
    outcome_evidence(o, "more in each long step than in the others", ms(f->long_extra_ns), "ms",
                     outcome_idle_sql(f, (enum part)f->long_part));
    outcome_fires(o, gain, f->long_text);
    o->saves_mid_ns =
        /* Such work is moved or done more rarely; little of it disappears. */
        (int64_t)(RULES_LONG_SAVED * (double)gain);
    outcome_example_gaps(o, f, (enum part)f->long_part, "GPU idle in a long step");
}

const struct rule rule_long_steps = {
    .id = "long-steps",
    .title = "Do less often, or beside the loop, what makes some steps long",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_long_steps,
    .looks_for = "Steps that take at least half as long again as the others, recur, and spend most "
                 "of that time with an idle GPU while the host does something that the other steps "
                 "lack.",
    .doc = "Checkpoints, logs, metrics and validation every N steps leave the median step as it "
           "is, and still take their share of every run. gpuprof compares the long steps with the "
           "others part by part, and names the range that most of the difference lies in, if there "
           "is one. The saving is a bound: the whole difference, spread over all steps.",
    .remedy = {.action = ACTION_MOVE_RARE_WORK},
    .tips = {{"rare-work", "Save checkpoints and log beside the loop, or less often", NULL}},
};
