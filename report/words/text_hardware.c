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
    char rest[48] = "";
    if (known < 99)
        snprintf(rest, sizeof rest, "; sizes are known for %.0f %% of these", known);
    snprintf(
        b->s, sizeof b->s,
        "%s%.3g %% of the peak of %s (%.4g TFLOP/s in %s): %.3g TFLOP %s; %.3g %% while products, "
        "convolutions and attention run%s",
        known < 99 ? "at least " : "", 100 * h->peak_ns / (double)f->used_ns, h->peak->device,
        h->peak->tflops[type], peak_type_text(type),
        flops / (double)f->used_ns * (double)f->step_ns / 1e12, scope_words(f)->per,
        100 * h->peak_ns / (double)h->known_ns, rest);
    return b->s;
}
