/* The order between the legacy default stream and other streams. Private to replay/. */
#ifndef GPUPROF_REPLAY_REPLAY_LEGACY_H
#define GPUPROF_REPLAY_REPLAY_LEGACY_H

#include "analyzer/replay/replay.h"

/* The legacy default stream and the blocking streams of its context wait for each other. */
static inline bool legacy_pair(const struct stream *s, const struct stream *o)
{
    return s != o && s->row.flags >= 0 && o->row.flags >= 0 &&
           !((s->row.flags | o->row.flags) & STREAM_NON_BLOCKING) &&
           (s->row.flags | o->row.flags) & STREAM_LEGACY_DEFAULT &&
           s->row.context == o->row.context && s->device == o->device;
}

/* Fills r->legacy: which streams have a legacy_pair(). -1: no memory. Cost: n log n. */
int replay_find_legacy(struct replay *r, const struct graph *g);

#endif
