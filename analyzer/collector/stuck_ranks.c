/* Compares the ranks of one communicator: which ranks wait, and for which. A rank that has not
 * joined a collective may have a reason, so it is named only if it is idle. */
#include "analyzer/collector/stuck.h"

#include <inttypes.h>
#include <stdio.h>

/* Finds the smallest and largest number of collectives begun on the communicator. False: its ranks
 * cannot be compared, were compared already, or not all ranks are visible although other gpuprofs
 * record some: the missing one may be the late one. */
static bool find_span(const struct rank_places *p, size_t first, struct wait *w)
{
    *w = (struct wait){.comm = p->at[first].comm, .least = UINT64_MAX, .waited_ns = INT64_MAX};
    int32_t known = 0, ranks = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct rank_place *x = &p->at[i];
        if (x->comm != w->comm)
            continue;
        if (i < first || x->in_pairs)
            return false;
        if (x->begun >= w->most)
            w->newest = x;
        w->least = x->begun < w->least ? x->begun : w->least;
        w->most = x->begun > w->most ? x->begun : w->most;
        w->hosts |= !x->s;
        known++;
        ranks = x->ranks > ranks ? x->ranks : ranks;
    }
    return !w->hosts || known >= ranks;
}

/* Among several late ranks the first one is named, so that all gpuprofs of
 * a job choose the same. */
static bool comes_before(const struct rank_place *x, const struct rank_place *late)
{
    return !late || x->rank < late->rank;
}

/* See stuck.h. If all ranks have begun the same collectives, a stopped rank may still prevent the
 * newest one from ending; step marks then show that the others wait. */
bool stuck_find(const struct rank_places *p, size_t first, struct wait *w)
{
    if (!find_span(p, first, w))
        return false;
    bool level = w->least == w->most;
    for (size_t i = first; i < p->n; i++) {
        const struct rank_place *x = &p->at[i];
        if (x->comm != w->comm)
            continue;
        if (level ? x->stopped : x->begun == w->least) {
            if (!x->idle)
                return false;
            w->late_count++;
            w->late = comes_before(x, w->late) ? x : w->late;
            continue;
        }
        if (!x->waits || (level && !x->marks))
            return false;
        w->waiting++;
        w->waited_ns = x->waited_ns < w->waited_ns ? x->waited_ns : w->waited_ns;
    }
    return w->late_count && w->waiting;
}

static void rank_name(const struct rank_place *x, bool host, char *out, size_t n)
{
    const char *on = host ? " on " : "";
    if (x->rank >= 0)
        snprintf(out, n, "rank %d (process %d%s%s)", (int)x->rank, (int)x->pid, on,
                 host ? x->host : "");
    else
        snprintf(out, n, "process %d%s%s", (int)x->pid, on, host ? x->host : "");
}

void stuck_describe(const struct wait *w, char *line, size_t n)
{
    char late[STUCK_HOST + 64], place[STUCK_WHERE], more[48] = "";
    const char *function = *w->newest->function ? w->newest->function : "a collective";
    double waited_s = (double)w->waited_ns / 1e9;
    rank_name(w->late, w->hosts, late, sizeof late);
    snprintf(place, sizeof place, "%s", w->late->where);
    if (w->late->s)
        stuck_where(w->late->pid, place, sizeof place);
    if (w->late_count > 1)
        snprintf(more, sizeof more, ", and %zu more like it,", w->late_count - 1);
    if (w->least == w->most)
        snprintf(line, n,
                 "%s%s has begun %s, collective %" PRIu64 " of a communicator, but no rank has "
                 "begun another for %.0f s: %s",
                 late, more, function, w->most, waited_s, place);
    else
        snprintf(line, n,
                 "%s%s has not joined collective %" PRIu64 " of a communicator, for which %zu "
                 "other rank%s waited for %.0f s (%s, number %" PRIu64 "): %s",
                 late, more, w->least + 1, w->waiting, w->waiting == 1 ? " has" : "s have",
                 waited_s, function, w->most, place);
}
