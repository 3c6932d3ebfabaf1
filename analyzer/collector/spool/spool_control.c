/* Tells the agents what to record while the program runs: everything or only step marks, and how
 * far apart windows are. A process that counts steps decides for itself; the others follow it. */
#include "analyzer/collector/spool/spool.h"

enum { THIN_MAX = 12 };

bool spool_leads(const struct spool *s)
{
    if (s->fixed.window == SPOOL_WINDOWS_ALL)
        return false;
    if (s->fixed.window == SPOOL_WINDOWS_PROFILER)
        return s->windows.n > 0;
    return !s->h ? s->steps > 0 : atomic_load(&s->h->steps) > 0;
}

/* The leader of process s: its parent if that leads, otherwise the first process
 * that leads. NULL: none. */
static struct spool *find_leader(struct spool *const *spools, size_t n, const struct spool *s)
{
    struct spool *first = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!spool_leads(spools[i]))
            continue;
        if (spools[i]->fixed.pid == s->fixed.ppid)
            return spools[i];
        if (!first)
            first = spools[i];
    }
    return first;
}

static bool closed(const struct spool *leader, int64_t now_ns)
{
    if (!leader->windows.n)
        return leader->fixed.window == SPOOL_WINDOWS_LIGHT;
    return leader->windows.at[leader->windows.n - 1].gpu_end_ns < now_ns;
}

bool spool_rests(const struct spool *s, int64_t now_ns)
{
    const struct spool *leader = s->leader ? s->leader : s;
    return !spool_whole(leader) && closed(leader, now_ns);
}

/* Must this process, which marks no steps, record nothing now? */
static bool waits(const struct spool *s, int64_t now_ns)
{
    if (spool_leads(s))
        return false;
    return s->leader ? closed(s->leader, now_ns) : s->fixed.window == SPOOL_WINDOWS_LIGHT;
}

/* How many times to double the distance between windows: each time the remaining
 * space is halved, one more. */
static uint32_t spacing_doublings(const struct spool_limit *l)
{
    uint32_t thin = 0;
    if (!l->bytes || l->max_bytes <= l->spool_bytes)
        return 0;
    int64_t room = l->max_bytes - l->spool_bytes, left = room - l->bytes(l->self);
    while (thin < THIN_MAX && left < room >> (thin + 1))
        thin++;
    return thin;
}

static void tell(struct spool *s, bool pause)
{
    uint32_t word = pause ? SPOOL_PAUSE : SPOOL_RUN, now = atomic_load(&s->h->control);
    if (now != word && now != SPOOL_STOP)
        atomic_store(&s->h->control, word);
}

void spool_direct(struct spool **spools, size_t n, struct spool_out *out, int64_t now_ns)
{
    uint32_t thin = spacing_doublings(&out->limit);
    spool_times_advance(&out->times, now_ns, thin);
    spool_ask_advance(&out->times, spools, n, now_ns);
    if (out->limit.reached && out->times.asked)
        spool_ask_end(&out->times, now_ns);
    bool pause =
        out->limit.reached || !spool_times_open(&out->times, now_ns, now_ns + SPOOL_EARLY_NS);
    /* reads the windows of all leaders before any follower is told, whatever their order */
    for (size_t i = 0; i < n; i++)
        if (!spools[i]->done && spools[i]->h && spools[i]->fixed.window != SPOOL_WINDOWS_ALL)
            spool_read_windows(spools[i]);
    for (size_t i = 0; i < n; i++) {
        struct spool *s = spools[i];
        if (s->done || !s->h)
            continue;
        if (s->fixed.window == SPOOL_WINDOWS_ALL) {
            tell(s, pause);
            continue;
        }
        s->leader = spool_leads(s) ? NULL : find_leader(spools, n, s);
        tell(s, pause || waits(s, now_ns));
        atomic_store(&s->h->thin, thin);
    }
}
