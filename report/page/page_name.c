/* Writes names of kernels, calls and ranges: they are long, and both ends matter. A name is one
 * text, so that a browser finds it; where it does not fit, the style sheet lays its end over it. */
#include "report/page/page.h"
#include "report/page/xml.h"

#include <string.h>

/* Where the last `tail` bytes begin, at a whole character. */
static size_t tail_start(const char *s, size_t n, size_t tail)
{
    size_t at = n - tail;
    while (at < n && ((unsigned char)s[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* What the host did during a gap: the call that fills half of it or more, else the range around it.
 * If the host was between calls, g->api is the next call, which fills none of the gap. */
const char *page_during(const struct page *p, const struct gap *g)
{
    const struct api *call = g->api != TL_NONE ? &p->t->apis[g->api] : NULL;
    if (call) {
        int64_t from = call->start_ns > g->start_ns ? call->start_ns : g->start_ns;
        int64_t to = call->end_ns < g->end_ns ? call->end_ns : g->end_ns;
        if (2 * (to - from) >= g->end_ns - g->start_ns)
            return tl_text(p->t, call->name);
    }
    return g->range != TL_NONE ? tl_text(p->t, p->t->ranges[g->range].name) : "";
}

void page_name(const struct page *p, const char *shown, const char *full)
{
    enum { SHORT = 24, TAIL = 12 };
    size_t n = strlen(shown);
    page_put(p, "<span class=\"mid\" title=\"%s\"", full ? full : shown);
    if (n > SHORT)
        page_put(p, " data-tail=\"%s\"", shown + tail_start(shown, n, TAIL));
    page_put(p, "><span>%s</span></span>", shown);
}
