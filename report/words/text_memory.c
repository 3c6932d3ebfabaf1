/* The GPU's memory, in words. */
#include "analyzer/facts/allocations.h"
#include "analyzer/facts/memory.h"
#include "report/words/text.h"

#include <stdio.h>
#include <string.h>

/* "; batches up to about 183 fit (166 to 192; now 16)", or relative to the batch. */
static void put_largest(char *out, size_t size, const struct memory_use *m)
{
    double now = m->batch > 0 ? (double)m->batch : 1;
    if (m->times_likely <= 0)
        return;
    if (m->batch > 0)
        snprintf(out, size, "; batches up to about %.0f fit (%.0f to %.0f; now %.0f)",
                 now * m->times_likely, now * m->times_low, now * m->times_high, now);
    else
        snprintf(out, size, "; a batch of about %.1f times this one fits (%.1f to %.1f)",
                 m->times_likely, m->times_low, m->times_high);
}

const char *text_pieces(struct text *b, const struct facts *f)
{
    const struct allocations *a = f->allocations;
    struct text peak, held, before, most;
    char first[110] = "";
    if (!a)
        return NULL;
    const struct holder *h = a->holder_count ? &a->holders[0] : NULL;
    if (h && h->name)
        snprintf(first, sizeof first, "; since then the most by %.50s (%.12s)", h->name,
                 text_bytes(&most, h->bytes));
    snprintf(b->s, sizeof b->s, "%s%.12s in use at the peak", a->whole ? "" : "at least ",
             text_bytes(&peak, a->peak_bytes));
    size_t n = strlen(b->s);
    if (a->held_bytes >= 0)
        n += (size_t)snprintf(b->s + n, sizeof b->s - n, ", %.12s held by the allocator",
                              text_bytes(&held, a->held_bytes));
    if (a->before_bytes > 0)
        n += (size_t)snprintf(b->s + n, sizeof b->s - n, "; %.12s from before the recording",
                              text_bytes(&before, a->before_bytes));
    snprintf(b->s + n, sizeof b->s - n, "%s", first);
    return b->s;
}

const char *text_memory(struct text *b, const struct advice *a)
{
    struct memory_use m = facts_memory(a->facts);
    struct text peak, total, parts[4];
    char largest[80] = "";
    if (!m.known)
        return text_pieces(b, a->facts);
    put_largest(largest, sizeof largest, &m);
    snprintf(b->s, sizeof b->s,
             "%.12s of %.12s at the peak: weights %.12s, their gradients %.12s, optimizer %.12s, "
             "kept for backward %.12s%s",
             text_bytes(&peak, m.peak), text_bytes(&total, m.total),
             text_bytes(&parts[0], m.weights), text_bytes(&parts[1], m.gradients),
             text_bytes(&parts[2], m.optimizer), text_bytes(&parts[3], m.activations), largest);
    return b->s;
}

const char *text_out_of_memory(struct text *b, const struct advice *a)
{
    struct memory_failed m = facts_memory_failed(a->facts);
    struct text asked, used, cached, total;
    if (m.asked <= 0)
        return NULL;
    int64_t unused = m.held > m.in_use ? m.held - m.in_use : 0;
    snprintf(b->s, sizeof b->s,
             "failed; the GPU's memory had no room for %.9s%s%.60s: tensors held %.9s of %.9s, "
             "and %.9s more lay free in pieces",
             text_bytes(&asked, m.asked), *m.where ? " " : "", m.where, text_bytes(&used, m.in_use),
             text_bytes(&total, m.total), text_bytes(&cached, unused));
    return b->s;
}
