#include "analyzer/advice/advice.h"

#include "analyzer/advice/passes.h"
#include "analyzer/facts/find/find.h"

#include <stdlib.h>

struct advice *advise(const struct timeline *t, struct err *e)
{
    struct advice *a = calloc(1, sizeof *a);
    if (!a) {
        err_no_memory(e);
        return NULL;
    }
    a->facts = a->own = facts_find(t, e);
    if (!a->facts || rules_run(a, e) < 0) {
        advice_free(a);
        return NULL;
    }
    advice_speak(a);
    verdict_write(a);
    return a;
}

void advice_free(struct advice *a)
{
    if (!a)
        return;
    facts_free(a->own);
    arena_release(&a->arena);
    free(a);
}
