/* Gives times to waits without own times. CUPTI may report a wait's kind, stream and event,
 * but not when it was. The call with the same correlation id has the times; its record comes
 * before or after the wait's. */
#include "analyzer/collector/spool/spool.h"

#include <string.h>

static void put_as(struct spool_out *out, struct row_sync *row, int64_t start_ns, int64_t end_ns)
{
    row->id = ++out->ids[ROW_SYNC];
    row->start_ns = start_ns;
    row->end_ns = end_ns;
    spool_put(out, ROW_SYNC, row);
}

/* Detects that CUPTI has stopped numbering calls (the agent avoids that: agent/cupti/cupti.c).
 * Normally each runtime call has an id of its own. Without such ids neither kernels nor waits can
 * be matched with calls. */
uint32_t spool_note_call_id(struct spool *s, uint32_t id, int64_t layer)
{
    if (layer == 0 && s->same_ids < SPOOL_SAME_IDS) {
        s->same_ids = id && id == s->newest_id ? s->same_ids + 1 : 0;
        s->newest_id = id;
    }
    return id;
}

void spool_put_wait(struct spool *s, struct spool_out *out, struct row_sync *row, bool timed)
{
    if (timed) {
        put_as(out, row, row->start_ns, row->end_ns);
        return;
    }
    for (size_t i = 0; row->correlation && i < SPOOL_CALLS_SEEN; i++)
        if (s->calls_seen[i].correlation == row->correlation) {
            put_as(out, row, s->calls_seen[i].start_ns, s->calls_seen[i].end_ns);
            return;
        }
    if (s->waits_held.n >= SPOOL_CALLS_SEEN) { /* the oldest one's call will not come */
        s->unplaced++;
        memmove(s->waits_held.at, s->waits_held.at + 1,
                --s->waits_held.n * sizeof *s->waits_held.at);
    }
    struct row_sync *held = row->correlation ? vec_push(&s->waits_held) : NULL;
    if (held)
        *held = *row;
    else
        s->unplaced++;
}

void spool_note_caller(struct spool *s, struct spool_out *out, const struct row_api *call)
{
    s->calls_seen[s->next_call++ % SPOOL_CALLS_SEEN] =
        (struct spool_call_seen){call->correlation, call->start_ns, call->end_ns};
    for (size_t i = 0; i < s->waits_held.n; i++)
        if (s->waits_held.at[i].correlation == call->correlation) {
            put_as(out, &s->waits_held.at[i], call->start_ns, call->end_ns);
            s->waits_held.n--;
            memmove(s->waits_held.at + i, s->waits_held.at + i + 1,
                    (s->waits_held.n - i) * sizeof *s->waits_held.at);
            return;
        }
}
