/* Cuts steps at the kernel that the user names, which must be launched once in each. Cost: O(n log
 * n). */
#include "analyzer/detect/detect.h"
#include "analyzer/measure/launched.h"
#include "analyzer/measure/median.h"

#include <stdlib.h>
#include <string.h>

/* Returns the launch times of kernels whose name contains `part`, in order; NULL without memory.
 * The caller frees them. */
static int64_t *launches_of(const struct timeline *t, uint32_t process, const char *part, size_t *n)
{
    int64_t *launch = malloc((t->op_count + 1) * sizeof *launch);
    *n = 0;
    if (!launch || launched_find(t, launch) < 0) {
        free(launch);
        return NULL;
    }
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind == OP_KERNEL && t->streams[o->stream].process == process &&
            launch[i] != LAUNCHED_BEFORE && strstr(tl_text(t, o->full_name), part))
            launch[(*n)++] = launch[i];
    }
    sort_ns(launch, *n);
    return launch;
}

int detect_given(struct detected *d, const struct timeline *t, uint32_t process, const char *kernel,
                 struct arena *arena, struct err *e)
{
    size_t n;
    int64_t *at = launches_of(t, process, kernel, &n);
    if (!at)
        return err_no_memory(e);
    *d = (struct detected){.count = n ? n - 1 : 0, .confidence = 1};
    d->at = arena_array(arena, d->count + 1, sizeof *d->at);
    d->steady = arena_array(arena, d->count + 1, sizeof *d->steady);
    d->text = arena_printf(arena, "from one launch of '%s' to the next", kernel);
    for (size_t i = 0; d->at && d->steady && i < d->count; i++) {
        d->at[i] = (struct span){at[i], at[i + 1]};
        d->steady[i] = true;
    }
    free(at);
    if (!d->at || !d->steady || !d->text)
        return err_no_memory(e);
    return d->count ? 0
                    : err_set(e,
                              "--step-kernel: %zu recorded kernel%s a name with '%s'; steps need "
                              "two: name a kernel that runs once in each step",
                              n, n == 1 ? " has" : "s have", kernel);
}
