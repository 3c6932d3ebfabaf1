/* What is said of a recorded run: lost records, how the program ended, the setting to try. */
#include "report/words/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static bool imported(const struct advice *a)
{
    const char *source = timeline_meta(a->facts->tl, "source");
    return source && (strcmp(source, "kineto") == 0 || strcmp(source, "nsys") == 0);
}

const char *text_lost(struct text *b, const struct advice *a)
{
    struct text n;
    if (a->facts->health.dropped == 0 && imported(a))
        snprintf(b->s, sizeof b->s, "lost records: unknown for this trace format");
    else
        snprintf(b->s, sizeof b->s, "%s records lost", text_count(&n, a->facts->health.dropped));
    return b->s;
}

/* What may have ended the program, if it uses what kernels compute; "" if they compute. */
static const char *no_results(const struct facts *f, int signal)
{
    bool by_itself = signal == 0 || signal == SIGABRT || signal == SIGSEGV || signal == SIGBUS ||
                     signal == SIGFPE;
    if (!by_itself || !facts_virtual(f) || f->totals.kernel_count_all == 0)
        return "";
    return "; kernels compute no results on the virtual GPU";
}

const char *text_ended(struct text *b, const struct advice *a)
{
    const char *code = timeline_meta(a->facts->tl, "ended.status");
    const char *signal = timeline_meta(a->facts->tl, "ended.signal");
    const char *missing = timeline_meta(a->facts->tl, "ended.missing_call");
    if (!code && !signal)
        return NULL;
    int number = atoi(signal ? signal : code);
    if (number == 0 && !missing)
        return NULL;
    if (missing)
        snprintf(b->s, sizeof b->s, "%s stopped: it called %.60s, which the virtual GPU lacks",
                 number ? "the program" : "a process of the program", missing);
    else if (signal)
        snprintf(b->s, sizeof b->s, "signal %d (%s) killed the program%s", number,
                 strsignal(number), no_results(a->facts, number));
    else
        snprintf(b->s, sizeof b->s, "the program failed with exit status %d%s", number,
                 no_results(a->facts, 0));
    return b->s;
}

const char *text_setting(struct text *b, const struct advice *a, const struct outcome *x)
{
    if (!x->setting || imported(a))
        return NULL;
    snprintf(b->s, sizeof b->s, "gpuprof try --apply %s CMD", x->setting);
    for (char *p = b->s; (p = strchr(p, ';'));)
        *p = ','; /* which a shell would take for an end */
    return b->s;
}
