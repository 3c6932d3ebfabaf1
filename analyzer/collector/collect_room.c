/* Keeps what the program has recorded when the disk gets full on which both the spools and the
 * profile lie. It works in three stages.
 * 1. Less than LITTLE_ROOM is left: the agents may not take more of the disk, and the collector
 *    commits the rows of each buffer before it reads the next one.
 * 2. Less than LEAST_ROOM is left, or a write of SQLite's has found no space: of the buffers that were
 *    committed, the collector sets two aside. When a write finds no space, it gives up the disk
 *    space of one buffer, and SQLite tries the write again. The rows of a buffer are smaller than
 *    the buffer, so the rows of one buffer fit where another buffer was.
 * 3. No buffer is free either: the collector puts no more rows with a time. All rows until then are
 *    committed. */
#include "analyzer/collector/collect_state.h"

#include <sys/statvfs.h>

enum { LEAST_ROOM = 1 << 20, LITTLE_ROOM = 4 << 20 }; /* bytes */
static const int64_t look_ns = 20000000;              /* between two looks at the disk */

static void tell_spools(struct collector *c, uint64_t room)
{
    c->tight = room < LITTLE_ROOM;
    for (size_t i = 0; i < c->spools.n; i++) {
        c->spools.at[i]->tight = c->tight;
        c->spools.at[i]->saves = room < LEAST_ROOM;
    }
}

bool collect_make_room(struct collector *c)
{
    tell_spools(c, 0);
    for (size_t i = 0; i < c->spools.n; i++)
        if (!c->spools.at[i]->done) {
            atomic_store(&c->spools.at[i]->h->full, 1);
            if (spool_give_up(c->spools.at[i]))
                return true;
        }
    return false;
}

void collect_look_at_room(struct collector *c)
{
    struct statvfs st;
    int64_t now_ns = clock_monotonic_ns();
    if (!c->keeper.commit || now_ns < c->next_room_ns || statvfs(c->dir, &st) != 0)
        return;
    c->next_room_ns = now_ns + look_ns;
    uint64_t room = (uint64_t)st.f_bavail * st.f_frsize;
    tell_spools(c, room);
    bool fits = room >= LEAST_ROOM, any_buffers = false;
    for (size_t i = 0; i < c->spools.n && !fits; i++) {
        struct spool *s = c->spools.at[i];
        if (s->done)
            continue;
        any_buffers |= atomic_load(&s->h->counter[SPOOL_BUFFERS_MADE]) > 0;
        fits = spool_has_spare(s);
    }
    if (fits || !any_buffers || c->out.limit.reached)
        return;
    c->out.limit.reached = c->out.limit.disk = true;
    c->out.limit.from_ns = INT64_MAX;
}
