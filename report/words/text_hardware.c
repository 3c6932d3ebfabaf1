/* How near the GPU comes to its peak, in words. */
#include "report/words/text.h"

#include <stdio.h>

/* The type in which the GPU computes for most of the time that the arithmetic takes at its peak. */
static enum peak_type main_type(const struct hardware_facts *h)
{
    enum peak_type main = PEAK_FP32;
    double most = 0;
    for (int i = 0; i < PEAK_TYPES; i++)
        if (h->peak->tflops[i] > 0 && h->flops[i] / h->peak->tflops[i] > most) {
            most = h->flops[i] / h->peak->tflops[i];
            main = (enum peak_type)i;
        }
    return main;
}

/* "3.5 TFLOP" */
static void put_work(char *out, size_t size, double flops)
{
    bool tera = flops >= 1e11, giga = flops >= 1e8;
    snprintf(out, size, "%.3g %s",
             flops / (tera   ? 1e12
                      : giga ? 1e9
                             : 1e6),
             tera   ? "TFLOP"
             : giga ? "GFLOP"
                    : "MFLOP");
}

static void put_share(char *out, size_t size, double pct)
{
    if (pct < 0.1)
        snprintf(out, size, "under 0.1 %%");
    else
        snprintf(out, size, "%.1f %%", pct);
}

const char *text_hardware(struct text *b, const struct advice *a)
{
    const struct facts *f = a->facts;
    const struct hardware_facts *h = &f->hardware;
    if (!h->peak || f->used_ns <= 0 || h->known_ns * 2 < h->matrix_ns)
        return NULL; /* the least that the shares can be would say little */
    double flops = 0, known = percent_of(h->known_ns, h->matrix_ns);
    for (int i = 0; i < PEAK_TYPES; i++)
        flops += h->flops[i];
    enum peak_type type = main_type(h);
    char rest[48] = "", work[24], all[24], running[24];
    if (known < 99)
        snprintf(rest, sizeof rest, " (sizes known for %.0f %%)", known);
    put_work(work, sizeof work, flops / (double)f->used_ns * (double)f->step_ns);
    put_share(all, sizeof all, 100 * h->peak_ns / (double)f->used_ns);
    put_share(running, sizeof running, 100 * h->peak_ns / (double)h->known_ns);
    snprintf(
        b->s, sizeof b->s,
        "%s%s of the peak of %s (%.4g TFLOP/s in %s): %s %s; %s while products, convolutions and "
        "attention run%s",
        known < 99 ? "at least " : "", all, h->peak->device, h->peak->tflops[type],
        peak_type_text(type), work, scope_words(f)->per, running, rest);
    return b->s;
}
