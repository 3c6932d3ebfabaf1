/* Takes the collector's samples: gauges of the GPUs that a process uses, and the process' use of
 * the host. Also decides the pause between drains. */
#include "analyzer/collector/collect_state.h"

/* GAUGES_MS: between two looks at a GPU; CLOSE_MS: in a process' first seconds. The pause is at
 * least COST_SHARE times as long as the look took. */
enum { GAUGES_MS = 100, CLOSE_MS = 10, COST_SHARE = 50 };
/* Between windows that the pace of the steps opens, gauges are all that tells of the GPU, for days
 * maybe: at first one look a second, later one in so many parts of the run. */
static const int64_t rest_ns = 1000000000;
enum { REST_SHARE = 1000 };
/* REST_MS: while all processes rest. A GPU fills the spare buffers of a process in 0.4 s or more. */
enum { DRAIN_MS = 50, SOON_MS = 2, REST_MS = 200, MANY_BUFFERS = 8 };

/* True if NVML is available. It is loaded once, when the first device needs it. */
static bool gauges_ready(struct collector *c)
{
    struct err e = ERR_INIT;
    if (c->gauges_state != GAUGES_UNTRIED)
        return c->gauges_state == GAUGES_OPEN;
    c->gauges_state = gauges_open(&c->gauges, c->virtual_nvml, &e) == 0 ? GAUGES_OPEN : GAUGES_NONE;
    if (c->gauges_state == GAUGES_NONE)
        collect_health(c, 0, "no-gauges", e.text, 0);
    return c->gauges_state == GAUGES_OPEN;
}

/* True if the process uses this GPU. A rank sees all GPUs of the machine, but works on one. */
static bool works_on(const struct spool *s, const struct spool_device *d)
{
    bool used = s->devices.n == 1;
    for (size_t i = 0; i < s->streams.n; i++)
        used |= (int64_t)s->streams.at[i].device == (int64_t)d->row.ordinal;
    return used;
}

static void sample_gpus(struct collector *c, struct spool *s, int64_t now)
{
    for (size_t i = 0; i < s->devices.n; i++) {
        struct spool_device *d = &s->devices.at[i];
        if (!d->described || !!d->row.is_virtual != !!c->virtual_nvml || !works_on(s, d) ||
            !gauges_ready(c))
            continue;
        if (!d->asked)
            d->gauges_device = gauges_find(&c->gauges, d->uuid);
        d->asked = true;
        struct row_gpu_sample g = {.device = d->row.id, .time_ns = now - c->start_ns};
        if (!d->gauges_device || !gauges_read(&c->gauges, d->gauges_device, &g))
            continue;
        g.id = ++c->out.ids[ROW_GPU_SAMPLE];
        spool_put(&c->out, ROW_GPU_SAMPLE, &g);
    }
}

int collect_pause_ms(struct collector *c)
{
    int64_t now = clock_monotonic_ns();
    if (c->out.times.steps && collect_asked(c) == COLLECT_OPEN)
        return CLOSE_MS; /* a step may be short */
    int pause = DRAIN_MS;
    bool rests = c->spools.n > 0;
    for (size_t i = 0; i < c->spools.n; i++) {
        struct spool *s = c->spools.at[i];
        if (s->done)
            continue;
        if (s->were_ready >= MANY_BUFFERS)
            /* short-lived threads leave one buffer each, and each buffer takes a megabyte */
            return SOON_MS;
        if (spool_samples_often(s, now))
            pause = CLOSE_MS;
        rests &= spool_rests(s, now - c->start_ns);
    }
    return rests ? REST_MS : pause;
}

static bool rest_is_due(struct collector *c, const struct spool *s, int64_t now)
{
    int64_t run_ns = now - c->start_ns;
    bool by_pace =
        s->fixed.window == SPOOL_WINDOWS_STEADY || s->fixed.window == SPOOL_WINDOWS_LIGHT;
    if (!by_pace || now < c->next_rest_ns)
        return false;
    c->next_rest_ns = now + (run_ns / REST_SHARE > rest_ns ? run_ns / REST_SHARE : rest_ns);
    return true;
}

static void sample(struct collector *c, struct spool *s, int64_t now, bool due)
{
    if (spool_rests(s, now - c->start_ns)) {
        if (due && rest_is_due(c, s, now))
            sample_gpus(c, s, now); /* as rows of no process, which no window leaves out */
        return;
    }
    c->out.from = s;
    spool_sample_host(s, &c->out);
    if (due)
        sample_gpus(c, s, now);
    c->out.from = NULL;
}

void collect_sample(struct collector *c)
{
    int64_t now = clock_monotonic_ns();
    bool due = now >= c->next_gauges_ns;
    for (size_t i = 0; i < c->spools.n; i++)
        if (!c->spools.at[i]->done)
            sample(c, c->spools.at[i], now, due);
    if (!due)
        return;
    int64_t most = GAUGES_MS * INT64_C(1000000), pause = (clock_monotonic_ns() - now) * COST_SHARE;
    int64_t least = collect_pause_ms(c) == CLOSE_MS ? CLOSE_MS * INT64_C(1000000) : most;
    pause = pause > least ? pause : least;
    c->next_gauges_ns = now + (pause < most ? pause : most);
}
