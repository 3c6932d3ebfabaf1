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

/* "; since then the most by aten::addmm: 1.2 GB": who holds most of it at the peak, by the line where
 * that is recorded. */
static void put_most(char *out, size_t size, const struct facts *f)
{
    const struct holder *h = f->allocations->holder_count ? &f->allocations->holders[0] : NULL;
    char line[300];
    struct text most;
    const char *who = !h        ? NULL
                      : h->line ? timeline_line_text(f->tl, h->line, line, sizeof line)
                                : h->name;
    if (who)
        snprintf(out, size, "; %sthe most by %.60s: %.12s",
                 f->allocations->before_bytes > 0 ? "since then " : "", who,
                 text_bytes(&most, h->bytes));
}

const char *text_pieces(struct text *b, const struct facts *f)
{
    const struct allocations *a = f->allocations;
    struct text peak, held, before;
    char most[110] = "";
    if (!a)
        return NULL;
    put_most(most, sizeof most, f);
    snprintf(b->s, sizeof b->s, "%s%.12s in use at the peak", a->whole ? "" : "at least ",
             text_bytes(&peak, a->peak_bytes));
    size_t n = strlen(b->s);
    if (a->held_bytes >= 0)
        n += (size_t)snprintf(b->s + n, sizeof b->s - n, ", %.12s held by the allocator then",
                              text_bytes(&held, a->held_bytes));
    if (a->before_bytes > 0)
        n += (size_t)snprintf(b->s + n, sizeof b->s - n, "; %.12s from before the recording",
                              text_bytes(&before, a->before_bytes));
    snprintf(b->s + n, sizeof b->s - n, "%s", most);
    return b->s;
}

bool text_memory_has_kinds(const struct facts *f)
{
    struct memory_use m = facts_memory(f);
    return m.known && (!f->allocations || f->allocations->peak_bytes <= m.peak);
}

const char *text_memory(struct text *b, const struct advice *a)
{
    struct memory_use m = facts_memory(a->facts);
    struct text peak, total, parts[4];
    char largest[80] = "", most[110] = "";
    if (!text_memory_has_kinds(a->facts))
        return text_pieces(b, a->facts);
    put_largest(largest, sizeof largest, &m);
    if (a->facts->allocations)
        put_most(most, sizeof most, a->facts);
    snprintf(b->s, sizeof b->s,
             "%.12s of %.12s at the peak: weights %.12s, their gradients %.12s, optimizer %.12s, "
             "kept for backward %.12s%s%s",
             text_bytes(&peak, m.peak), text_bytes(&total, m.total),
             text_bytes(&parts[0], m.weights), text_bytes(&parts[1], m.gradients),
             text_bytes(&parts[2], m.optimizer), text_bytes(&parts[3], m.activations), most,
             largest);
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
