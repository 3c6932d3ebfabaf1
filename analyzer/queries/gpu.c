/* Sums up the GPU's gauges over the used steps: clocks, reasons for reduced
 * clocks, memory in use. */
#include "analyzer/queries/gpu.h"
#include "analyzer/facts/memory.h"

#include <string.h>

/* The time from which memory samples count. Before its first step a program has not yet
 * allocated the memory that it trains with. PyTorch's profiler starts in the middle of the
 * loop; there an unused first step with an estimated beginning is an ordinary step of a
 * program that already trains. */
static int64_t trains_from(const struct facts *f)
{
    const char *source = timeline_meta(f->tl, "source");
    bool amid = source && strcmp(source, "kineto") == 0;
    for (size_t i = 0; f->steps.source != STEPS_NONE && i < f->steps.count; i++)
        if (f->steps.at[i].used || (amid && f->steps.at[i].estimated))
            return f->steps.at[i].start_ns;
    return INT64_MIN;
}

struct query_gpu query_gpu(const struct facts *f)
{
    const struct timeline *t = f->tl;
    struct query_gpu g = {.memory_peak = -1,
                          .memory_sql = "SELECT * FROM gpu_sample ORDER BY memory_used_bytes DESC",
                          .hottest_c = -1,
                          .most_mw = -1};
    double sum = 0;
    int64_t from = trains_from(f);
    bool training = false; /* memory was sampled during training */
    for (size_t i = 0; i < t->gpu_sample_count; i++) {
        const struct row_gpu_sample *s = &t->gpu_samples[i];
        if (f->device && s->device != f->device->id)
            continue;
        if (s->memory_used_bytes > g.memory_peak)
            g.memory_peak = s->memory_used_bytes;
        training |= s->memory_used_bytes > 0 && s->time_ns >= from;
        if (!analysis_of_window(f) && query_step_at(f, s->time_ns) == TL_NONE)
            continue;
        if (s->sm_clock_mhz <= 0 || s->throttle_reasons < 0)
            continue;
        g.samples++;
        g.hottest_c = s->temperature_c > g.hottest_c ? s->temperature_c : g.hottest_c;
        g.most_mw = s->power_mw > g.most_mw ? s->power_mw : g.most_mw;
        if (!(s->throttle_reasons & QUERY_SLOWED))
            continue;
        g.slowed++;
        g.reasons |= s->throttle_reasons & QUERY_SLOWED;
        sum += (double)s->sm_clock_mhz;
    }
    if (!training)
        g.memory_peak = -1;
    struct memory_use m = facts_memory(f);
    if (m.known) {
        g.memory_peak = m.peak + m.total - m.available;
        g.memory_sql = "SELECT * FROM fact WHERE key = 'torch.memory'";
    }
    g.slowed_mhz = g.slowed ? sum / (double)g.slowed : 0;
    g.slowed_pct = g.samples ? 100.0 * (double)g.slowed / (double)g.samples : 0;
    return g;
}
