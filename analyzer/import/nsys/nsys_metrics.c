/* Reads samples of the GPUs' own counters (nsys profile --gpu-metrics-devices). The table
 * GPU_METRICS has one row per counter and moment, with up to 200,000 moments a second. A sample of
 * the profile is the mean over 10 ms of the counters that it has columns for: the SM clock, and the
 * share of time in which the graphics engine was active. Cost: one pass over the table. */
#include "analyzer/import/nsys/nsys.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WINDOW_NS = 10000000, GPUS = 64, METRICS = 4096 };
enum metric { METRIC_OTHER, METRIC_CLOCK, METRIC_ACTIVE, METRIC_COUNT };

struct mean {
    double sum;
    int64_t n;
};

struct gpu {
    int64_t since_ns; /* start of the current 10 ms */
    bool open;
    struct mean mean[METRIC_COUNT];
};

static enum metric metric_of(const char *name)
{
    if (strncasecmp(name, "GPC Clock Frequency", 19) == 0)
        return METRIC_CLOCK;
    return strncasecmp(name, "GR Active", 9) == 0 ? METRIC_ACTIVE : METRIC_OTHER;
}

/* The numbers of a counter. GPUs of different kinds (typeId) may number counters differently. */
struct metric_key {
    int64_t type, metric;
    enum metric what;
};

static int read_keys(struct nsys *n, struct metric_key *keys, size_t *count)
{
    static const char *const columns[] = {"typeId", "metricId", "metricName", NULL};
    struct sql_stmt *q = nsys_open_table(n, "TARGET_INFO_GPU_METRICS", columns);
    int rc = -1;
    while (q && (rc = sql_step(q, n->e)) == 1 && *count < METRICS) {
        size_t size;
        enum metric what = metric_of(sql_text(q, 2, &size));
        if (what != METRIC_OTHER)
            keys[(*count)++] = (struct metric_key){sql_int(q, 0), sql_int(q, 1), what};
    }
    sql_finalize(q);
    return rc < 0 ? -1 : 0;
}

static int64_t device_row(const struct nsys *n, int64_t ordinal)
{
    for (size_t i = 0; i < n->devices.n; i++)
        if (n->devices.at[i].ordinal == ordinal)
            return (int64_t)i + 1;
    return -1;
}

static int64_t mean_of(const struct mean *m)
{
    return m->n ? (int64_t)(m->sum / (double)m->n + 0.5) : -1;
}

static int flush(struct nsys *n, struct gpu *g, int64_t ordinal)
{
    struct row_gpu_sample s = {.device = device_row(n, ordinal),
                               .time_ns = g->since_ns - n->base_ns,
                               .util_pct = mean_of(&g->mean[METRIC_ACTIVE]),
                               .memory_used_bytes = -1,
                               .sm_clock_mhz = mean_of(&g->mean[METRIC_CLOCK]),
                               .memory_clock_mhz = -1,
                               .power_mw = -1,
                               .temperature_c = -1,
                               .throttle_reasons = -1,
                               .pcie_tx_bytes_per_s = -1,
                               .pcie_rx_bytes_per_s = -1};
    *g = (struct gpu){0};
    if (s.device < 0)
        return 0;
    s.id = ++n->ids[ROW_GPU_SAMPLE];
    return n->out->put(n->out->self, ROW_GPU_SAMPLE, &s, n->e);
}

static int take(struct nsys *n, struct gpu *gpus, int64_t time, int64_t type, enum metric what,
                double value)
{
    int64_t ordinal = type & 0xff; /* the lowest byte of a type is the GPU's number */
    if (ordinal >= GPUS || time < 0 || time > NSYS_LATEST || value < 0)
        return 0;
    struct gpu *g = &gpus[ordinal];
    if (g->open && (time - g->since_ns >= WINDOW_NS || time < g->since_ns) &&
        flush(n, g, ordinal) < 0)
        return -1;
    if (!g->open)
        *g = (struct gpu){.since_ns = time, .open = true};
    if (what == METRIC_CLOCK && value > 1e5)
        value /= 1e6; /* the value is in Hz whatever the counter's name
                         says: no clock has 100 GHz */
    g->mean[what].sum += value;
    g->mean[what].n++;
    return 0;
}

static enum metric look_up(const struct metric_key *keys, size_t count, int64_t type,
                           int64_t metric)
{
    for (size_t i = 0; i < count; i++)
        if (keys[i].metric == metric && keys[i].type == type)
            return keys[i].what;
    return METRIC_OTHER;
}

int nsys_put_metrics(struct nsys *n)
{
    static const char *const columns[] = {"timestamp", "typeId", "metricId", "value", NULL};
    if (!sql_has_table(n->db, "GPU_METRICS") || !sql_has_table(n->db, "TARGET_INFO_GPU_METRICS"))
        return 0;
    struct metric_key *keys = calloc(METRICS, sizeof *keys);
    struct gpu *gpus = calloc(GPUS, sizeof *gpus);
    size_t count = 0;
    int rc = keys && gpus ? read_keys(n, keys, &count) : err_set(n->e, "out of memory");
    struct sql_stmt *q = rc == 0 && count ? nsys_open_table(n, "GPU_METRICS", columns) : NULL;
    if (rc == 0 && count && !q)
        rc = -1;
    while (q && rc >= 0 && (rc = sql_step(q, n->e)) == 1) {
        int64_t type = sql_int(q, 1);
        enum metric what = look_up(keys, count, type, sql_int(q, 2));
        if (what != METRIC_OTHER && !sql_is_null(q, 3))
            rc = take(n, gpus, sql_int(q, 0), type, what, (double)sql_int(q, 3));
    }
    for (int i = 0; rc >= 0 && i < GPUS; i++)
        if (gpus[i].open)
            rc = flush(n, &gpus[i], i);
    sql_finalize(q);
    free(keys);
    free(gpus);
    return rc < 0 ? -1 : 0;
}
