/* Puts facts about the profile itself: which kinds of records it contains, and what is
 * missing because of its size. */
#include "analyzer/collector/collect_state.h"

#include <string.h>

void collect_put_have(struct collector *c)
{
    char have[256] = "ranges";
    if (c->has.cupti)
        strcat(have, ",kernels,copies,memory_kinds,memsets,api,sync");
    if (c->has.events)
        strcat(have, ",events");
    if (c->has.calls)
        strcat(have, ",calls");
    if (c->has.loader)
        strcat(have, ",loader");
    if (c->has.device)
        strcat(have, ",device");
    if (c->has.rank)
        strcat(have, ",ranks");
    if (c->out.ids[ROW_COLLECTIVE])
        strcat(have, ",collectives");
    if (c->out.ids[ROW_HOST_SAMPLE])
        strcat(have, ",host");
    struct row_meta m = {++c->out.ids[ROW_META], 0, spool_intern(&c->out, "have"),
                         spool_intern(&c->out, have)};
    spool_put(&c->out, ROW_META, &m);
}

/* Reports what is missing because the profile became too large, or the disk full. */
void collect_put_limit(struct collector *c)
{
    const struct spool_limit *l = &c->out.limit;
    if (l->disk)
        collect_health(c, 0, "disk-full",
                       "The disk was full: the profile lacks everything after that. Point -o to a "
                       "disk with more room.",
                       0);
    else if (l->left_out)
        collect_health(
            c, 0, "size-limit",
            "the profile reached its maximum size (--max-size; bytes in value) and lacks "
            "everything after that",
            l->max_bytes);
}
