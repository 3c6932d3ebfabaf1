/* See outcome_loader.h. */
#include "analyzer/advice/outcome_loader.h"

#include "analyzer/queries/input/feed.h"

bool outcome_awaited_loader(const struct facts *f, struct arena *arena, struct outcome *o,
                            struct query_loader *l)
{
    int64_t idle = f->breakdown_ns[PART_IDLE_INPUT];
    o->why =
        arena_printf(arena, "the GPU waits %.3f ms %s for data", ms(idle), scope_words(f)->per);
    if (idle * 100 < f->step_ns)
        return false;
    *l = query_loader(f, arena);
    struct feed feed;
    if (l->workers > 0 && query_feed(f, arena, &feed) && feed.have > 0)
        l->workers = (size_t)feed.have; /* without those of other loaders */
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
