/* Runs the agent in the test's own process and reads its spool. */
#ifndef GPUPROF_TESTS_SPOOL_AGENT_H
#define GPUPROF_TESTS_SPOOL_AGENT_H

#include "tests/unit/spool_view.h"

#include <pthread.h>

static char dir[64], path[4096];
static void (*range_begin)(const char *);
static void (*range_end)(void);

static inline void load(void)
{
    view_dir(dir, sizeof dir);
    void *agent = dlopen(AGENT_LIBRARY, RTLD_NOW);
    ck_assert_msg(agent != NULL, "%s", dlerror());
    *(void **)&range_begin = dlsym(agent, "gpuprof_agent_range_begin");
    *(void **)&range_end = dlsym(agent, "gpuprof_agent_range_end");
    ck_assert_ptr_nonnull(range_begin);
    ck_assert_ptr_nonnull(range_end);
}

static inline void done(void)
{
    view_remove(dir);
}

static inline void ranges(const char *name, int n)
{
    for (int i = 0; i < n; i++) {
        range_begin(name);
        range_end();
    }
}

struct nest {
    int n;
    char name[4][16];
    unsigned depth[4];
    int64_t start[4], end[4];
};

static inline void see_nest(const struct spool_view *v, const struct spool_rec *rec, void *arg)
{
    const struct spool_rec_range *r = (const void *)rec;
    struct nest *x = arg;
    snprintf(x->name[x->n], sizeof x->name[0], "%s", view_string(v, r->name));
    x->depth[x->n] = r->depth;
    x->start[x->n] = rec->start_ns;
    x->end[x->n++] = rec->end_ns;
}

static inline void *one_range(void *arg)
{
    ranges("short", 1);
    return arg;
}

#endif
