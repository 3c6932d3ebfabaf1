/* waits_gone PROFILE [CALL]...: prints the length of the step, in ms, that the replay predicts if
 * the waits of these calls are removed; without a CALL, the recorded length. For two_waits.py. */
#include "analyzer/advice/advice.h"
#include "analyzer/import/import.h"
#include "analyzer/replay/replay.h"

#include <stdio.h>
#include <string.h>

static bool named(const char *call, char **names)
{
    for (; *names; names++)
        if (strcmp(*names, call) == 0)
            return true;
    return false;
}

static int predict(const struct advice *a, char **calls, struct err *e)
{
    struct graph *g = graph_build(a->facts, e);
    struct plan plan = {0};
    struct replay r = {0};
    size_t gone = 0;
    int rc = -1;
    if (g && g->count && plan_init(&plan, g) == 0 && replay_init(&r, g) == 0) {
        for (uint32_t i = 0; i < g->count; i++)
            if (g->tasks[i].kind == TASK_WAIT &&
                named(tl_text(a->facts->tl, a->facts->tl->apis[g->tasks[i].source].name), calls)) {
                plan.mark[i] |= PLAN_DROP;
                gone++;
            }
        replay_run(&r, g, &plan);
        printf("%.6f %zu\n", (double)r.pace_ns / 1e6, gone);
        rc = 0;
    }
    plan_release(&plan);
    replay_release(&r);
    graph_free(g);
    return rc;
}

int main(int argc, char **argv)
{
    struct err e = ERR_INIT;
    const char *path = argc > 1 ? argv[1] : "";
    struct timeline *t = timeline_new(&e);
    struct advice *a = NULL;
    if (t) {
        struct sink sink = timeline_sink(t);
        if (import_paths(&path, 1, &sink, &e) == 0 && timeline_finish(t, &e) == 0)
            a = advise(t, &e);
    }
    int rc = a ? predict(a, argv + 2, &e) : -1;
    if (rc < 0)
        fprintf(stderr, "waits_gone: %s\n", e.text[0] ? e.text : "too few steps to replay");
    advice_free(a);
    timeline_free(t);
    return rc < 0;
}
