/* Runs the stages from a timeline to the advice (docs/architecture.md draws them). */
#include "analyzer/advice/advice.h"

#include "analyzer/advice/passes.h"
#include "analyzer/facts/find/find.h"

#include <stdlib.h>

static const char *id_of(enum verdict_class class)
{
    static const char *const ids[] = {
        NULL,
#define X(name, id) id,
        VERDICT_CLASSES(X)
#undef X
    };
    return ids[class];
}

/* Runs each stage once, in this order. Without an engine (`x` is NULL) it skips the two stages that
 * replay. */
static int walk(struct advice *a, struct engine *x, const struct past_trials *past, struct err *e)
{
    if (rules_ask(a, e) < 0) /* one outcome per rule; findings have bounds */
        return -1;
    /* Bounds become predictions; findings that save nothing are suppressed. */
    if (x && predict_each(a, x, past, e) < 0)
        return -1;
    findings_rank(a); /* best first */
    if (x)
        predict_together(a, x); /* the order in which to make the changes, and what each adds */
    advice_speak(a);            /* words come last */
    verdict_write(a);
    a->verdict_class = id_of(a->class);
    return 0;
}

static struct advice *make(const struct timeline *t, bool replays, const struct past_trials *past,
                           struct err *e)
{
    struct engine x = {0};
    struct advice *a = calloc(1, sizeof *a);
    if (!a) {
        err_no_memory(e);
        return NULL;
    }
    a->facts = a->own = facts_find(t, e);
    int rc = a->facts ? 0 : -1;
    if (rc == 0) /* predict nothing from numbers that contradict each other */
        rc = walk(a, replays && !a->facts->contradiction ? &x : NULL, past, e);
    engine_close(&x);
    if (rc == 0)
        return a;
    advice_free(a);
    return NULL;
}

struct advice *advise(const struct timeline *t, struct err *e)
{
    return make(t, false, NULL, e);
}

struct advice *advise_predicted(const struct timeline *t, const struct past_trials *past,
                                struct err *e)
{
    return make(t, true, past, e);
}

void advice_free(struct advice *a)
{
    if (!a)
        return;
    facts_free(a->own);
    arena_release(&a->arena);
    free(a);
}
