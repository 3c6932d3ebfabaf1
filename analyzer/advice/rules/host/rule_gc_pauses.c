/* Fires if Python's garbage collector stops the training thread. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"
#include "wire/fact_keys.h"

#include <math.h>
#include <string.h>

struct pauses {
    double ns, count;
    const struct range *longest;
};

static double length(const struct range *r)
{
    return (double)r->end_ns - (double)r->start_ns;
}

static struct pauses find(const struct facts *f)
{
    const struct timeline *t = f->tl;
    const struct thread *th = facts_main_thread(f);
    struct pauses p = {0};
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        uint32_t s =
            strcmp(tl_text(t, r->name), "gc") == 0 ? facts_step_at(f, r->start_ns) : TL_NONE;
        if (s == TL_NONE || !(f->steps.at[s].used || f->steps.at[s].slow))
            continue;
        p.ns += length(r);
        p.count++;
        if (!p.longest || length(r) > length(p.longest))
            p.longest = r;
    }
    return p;
}

static void check_gc_pauses(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const char *where = timeline_meta(f->tl, FACT_TORCH_GC_WHERE);
    const char *asked = timeline_meta(f->tl, FACT_TORCH_GC_ASKED);
    if (!timeline_meta(f->tl, FACT_TORCH_VERSION) && !asked) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: pauses of Python's garbage collector (gpuprof run records them in "
                 "programs that use PyTorch)";
        return;
    }
    if (f->tl->thread_count == 0 || f->steps.pace_ns <= 0) {
        o->why = "the recording contains no step";
        return;
    }
    struct pauses p = find(f);
    double steps = (double)steps_like(&f->steps), each = p.ns / steps;
    o->why =
        arena_printf(arena, "the garbage collector stops the program %.3f ms per step", each / 1e6);
    if (each * RULES_RARE < (double)f->steps.pace_ns || p.count < RULES_PAUSES)
        return;
    const char *rows = "SELECT * FROM range r JOIN string s ON s.id = r.name WHERE s.text = 'gc'";
    outcome_evidence_per(o, "average time of the garbage collector's pauses", each / 1e6, "ms",
                         rows);
    outcome_evidence(o, "a step, on average", (double)f->steps.pace_ns / 1e6, "ms", NULL);
    outcome_evidence_per(o, "pauses of 1 ms and more,", p.count / steps, "count", rows);
    if (asked) {
        o->remedy.action = ACTION_COLLECT_GARBAGE_RARELY;
        o->remedy.object.place = asked;
    }
    double part = fmin(1, each / (double)f->steps.pace_ns), share = part * (double)f->step_ns;
    /* A collection reads every object, so the rest of the step continues with cold caches. */
    o->most_ns = (int64_t)(share + RULES_COLD_AFTER * part * ((double)f->step_ns - share));
    outcome_fires(o, (int64_t)share,
                  arena_printf(arena,
                               "Python's garbage collector stops the training thread %s of the %s "
                               "that a step takes on average, in pauses of up to %s%s%s",
                               time_text(arena, (int64_t)each), time_text(arena, f->steps.pace_ns),
                               time_text(arena, (int64_t)length(p.longest)),
                               where ? ", most often at " : "", where ? where : ""));
    outcome_example(o, p.longest->start_ns, p.longest->end_ns, "longest pause", TL_NONE);
}

const struct rule rule_gc_pauses = {
    .id = "gc-pauses",
    .title = "Keep Python's garbage collector out of the loop",
    .needs = HAVE_STEPS,
    .check = check_gc_pauses,
    .looks_for = "Pauses of Python's garbage collector of 1 ms and more on the training thread.",
    .doc = "Each time the collector runs over the oldest generation, it examines every live "
           "container object. The lists, dicts and tuples of a dataset make each pause longer, "
           "although none of them is ever garbage. gc.freeze() exempts the objects that are alive "
           "when it is called. With automatic collection off, a gc.collect() every few hundred "
           "steps puts the pauses where you want them, and on all ranks at once. The saving is a "
           "bound, because the collector must still examine the objects that the loop creates.",
    .remedy = {.action = ACTION_FREEZE_GARBAGE},
    .tips = {{"garbage", "Keep Python's garbage collector out of the loop",
              "pauses of a millisecond and more, in programs that use PyTorch"}},
};
