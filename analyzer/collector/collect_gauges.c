/* The collector's samples: GPU gauges of the devices that a process works on, and what the process
 * uses of the host. */
#include "analyzer/collector/collect_state.h"

/* Between two looks at a GPU; in the first seconds of a process; and how many times as long as the
 * look itself took the pause is at least. */
enum { GAUGES_MS = 100, CLOSE_MS = 10, COST_SHARE = 50 };
enum { DRAIN_MS = 50, SOON_MS = 2, MANY_BUFFERS = 8 };

/* NVML is tried once, when there is a device to ask it about. */
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

/* A rank sees all GPUs of the machine, and works on one: the others have nothing to do with it. */
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
    for (size_t i = 0; i < c->spools.n; i++) {
        struct spool *s = c->spools.at[i];
        if (s->done)
            continue;
        if (s->were_ready >= MANY_BUFFERS)
            return SOON_MS; /* threads that come and go leave one each, and each takes a megabyte */
        if (spool_closely(s, now))
            pause = CLOSE_MS;
    }
    return pause;
}

void collect_sample(struct collector *c)
{
    int64_t now = clock_monotonic_ns();
    bool due = now >= c->next_gauges_ns;
    for (size_t i = 0; i < c->spools.n; i++)
        if (!c->spools.at[i]->done) {
            c->out.from = c->spools.at[i];
            spool_sample_host(c->spools.at[i], &c->out);
            if (due)
                sample_gpus(c, c->spools.at[i], now);
            c->out.from = NULL;
        }
    if (!due)
        return;
    int64_t most = GAUGES_MS * INT64_C(1000000), pause = (clock_monotonic_ns() - now) * COST_SHARE;
    int64_t least = collect_pause_ms(c) == CLOSE_MS ? CLOSE_MS * INT64_C(1000000) : most;
    pause = pause > least ? pause : least;
    c->next_gauges_ns = now + (pause < most ? pause : most);
}
