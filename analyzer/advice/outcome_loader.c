/* Fills outcomes of rules that ask which library stands between the program and PyTorch: about
 * loaders and their workers, and about waits. */
#include "analyzer/advice/outcome_loader.h"

#include "analyzer/queries/input/feed.h"
#include "wire/fact_keys.h"

#include <string.h>

bool outcome_awaited_loader(const struct facts *f, struct arena *arena, struct outcome *o,
                            struct query_loader *l)
{
    int64_t idle = f->breakdown_ns[PART_IDLE_INPUT];
    o->why =
        arena_printf(arena, "the GPU waits %.3f ms %s for data", ms(idle), scope_words(f)->per);
    if (idle * QUERY_WORTH < f->step_ns)
        return false;
    *l = query_loader(f, arena);
    struct feed feed;
    if (l->workers > 0 && query_feed(f, arena, &feed) && feed.have > 0)
        l->workers = (size_t)feed.have; /* do not count workers of other loaders */
    if (l->workers == 0)
        o->why = "the training thread makes the batches itself, so no worker waits";
    return l->workers > 0;
}

void outcome_awaited_evidence(const struct facts *f, struct outcome *o,
                              const struct query_loader *l)
{
    outcome_evidence_idle(o, f, "GPU idle for input", ms(f->breakdown_ns[PART_IDLE_INPUT]),
                          PART_IDLE_INPUT);
    outcome_evidence(o, "workers", (double)l->workers, "count", NULL);
}

void outcome_of_loader(const struct facts *f, struct arena *arena, struct outcome *o,
                       const struct feed *feed)
{
    struct remedy *r = &o->remedy;
    r->object.made_by = query_feed_fact(f, arena, feed, FACT_LOADER_BY);
    r->object.fixed = feed->foreign;
    r->conditions[CONDITION_MADE_ANEW] = feed->anew;
    r->conditions[CONDITION_ONE_OF_LOADERS] =
        feed->loaders > 1 && query_feed_fact(f, arena, feed, FACT_LOADER_MADE);
}

/* Returns how workers start if the program had none before and the method is not fork: only then
 * the remedy mentions it. */
static const char *first_start(const struct facts *f, struct arena *arena, const struct feed *feed)
{
    const char *how = feed->have > 0 ? NULL : query_feed_fact(f, arena, feed, FACT_LOADER_START);
    return how && strcmp(how, "fork") != 0 ? how : NULL;
}

void outcome_set_workers(const struct facts *f, struct arena *arena, struct outcome *o,
                         const struct feed *feed, int n)
{
    o->remedy.action = ACTION_SET_WORKERS;
    remedy_number(&o->remedy, PARAM_WORKERS, n);
    if (!feed)
        return;
    outcome_of_loader(f, arena, o, feed);
    o->remedy.conditions[CONDITION_FEWER_THAN_NOW] = n > 0 && n < feed->have;
    if (n > 0)
        remedy_text(&o->remedy, PARAM_START_METHOD, first_start(f, arena, feed));
}

const char *outcome_refuses_workers(const struct facts *f, struct arena *arena,
                                    const struct feed *feed)
{
    const struct dialect *d = dialect_of_packages(query_feed_fact(f, arena, feed, FACT_LOADER_BY));
    return d && d->no_workers_on_cpu && f->on_cpu ? d->package : NULL;
}

void outcome_waits_in(struct outcome *o, const char *place, const char *package)
{
    if (!dialect_of_place(place))
        return;
    o->remedy.action = ACTION_LOG_RARELY;
    o->remedy.object.made_by = package;
}
