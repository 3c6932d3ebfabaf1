/* Reads what the hook recorded of the allocator: "peak=1644925952, reserved=1851785216, ...". */
#include "analyzer/facts/memory.h"

#include "analyzer/facts/limits.h"
#include "wire/fact_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number behind "name=", 0 without it, or -1 for what no memory holds. */
static int64_t number(const char *text, const char *name)
{
    const int64_t most = (int64_t)1 << 50;
    size_t n = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += n)
        if ((at == text || at[-1] == ' ') && at[n] == '=') {
            int64_t v = strtoll(at + n + 1, NULL, 10);
            return v < 0 || v > most ? -1 : v;
        }
    return 0;
}

/* Gradients and temporary memory may be part of the peak or not, and pieces that lie free at the peak
 * may be of use to a larger batch or not: the bounds assume the one or the other. */
static void find_times(struct memory_use *m)
{
    double fixed = (double)(m->weights + m->optimizer), peak = (double)m->peak;
    double most = (double)m->available, held = fmax(1, (double)m->reserved / peak);
    if (m->activations <= 0 || peak <= fixed || most < peak)
        return;
    m->times_likely = fmax(1, (most * FACTS_MEMORY_WHOLE - fixed) / (peak - fixed));
    m->times_low = fmin(m->times_likely, fmax(1, (most / held - fixed) / (peak - fixed)));
    m->times_high = fmax(m->times_likely, 1 + (most - peak) / (double)m->activations);
}

int64_t facts_batch_samples(const struct facts *f)
{
    const char *loader = timeline_meta(f->tl, FACT_TORCH_LOADER);
    const char *size = loader ? strstr(loader, "batch_size=") : NULL;
    return size ? strtoll(size + strlen("batch_size="), NULL, 10) : 0;
}

struct memory_use facts_memory(const struct facts *f)
{
    const char *text = timeline_meta(f->tl, FACT_TORCH_MEMORY);
    struct memory_use m = {.known = text != NULL};
    if (!text)
        return m;
    m.peak = number(text, "peak");
    m.reserved = number(text, "reserved");
    m.available = number(text, "available");
    m.total = number(text, "total");
    m.weights = number(text, "weights");
    m.gradients = number(text, "gradients");
    m.optimizer = number(text, "optimizer");
    m.activations = number(text, "forward");
    m.known = m.peak > 0 && m.total >= m.available && m.available > 0 && m.weights >= 0 &&
              m.gradients >= 0 && m.optimizer >= 0 && m.activations >= 0;
    m.batch = facts_batch_samples(f);
    if (m.known)
        find_times(&m);
    return m;
}

struct memory_failed facts_memory_failed(const struct facts *f)
{
    const char *text = timeline_meta(f->tl, FACT_TORCH_MEMORY_FAILED);
    struct memory_failed m = {.where = ""};
    if (!text)
        return m;
    const char *in = strstr(text, " in "), *at = strstr(text, " at ");
    m.asked = number(text, "asked");
    m.in_use = number(text, "allocated");
    m.held = number(text, "held");
    m.available = number(text, "available");
    m.total = number(text, "total");
    m.times = number(text, "times");
    m.where = in ? in + 1 : at ? at + 1 : "";
    return m;
}

bool facts_failed(const struct facts *f)
{
    const char *code = timeline_meta(f->tl, "ended.status");
    return timeline_meta(f->tl, "ended.signal") || (code && atoi(code) != 0);
}
