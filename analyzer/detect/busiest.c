/* Which of a process' devices works longest. */
#include "analyzer/detect/busiest.h"

#include <stdlib.h>

/* Returns how long each device of the process works, in ns; NULL without memory. The caller frees
 * it. */
static int64_t *work_by_device(const struct timeline *t, uint32_t process)
{
    int64_t *ns = calloc((size_t)t->device_count + 1, sizeof *ns);
    for (uint32_t i = 0; ns && i < t->op_count; i++) {
        const struct stream *s = &t->streams[t->ops[i].stream];
        if (s->process == process && s->device < t->device_count)
            ns[s->device] += t->ops[i].end_ns - t->ops[i].start_ns;
    }
    return ns;
}

int busiest_of_several(struct busiest *b, const struct timeline *t, uint32_t process)
{
    *b = (struct busiest){.device = TL_NONE};
    if (t->device_count < 2)
        return 0;
    int64_t *work = work_by_device(t, process), most = 0, next = 0;
    if (!work)
        return -1;
    for (uint32_t d = 0; d < t->device_count; d++) {
        int64_t ns = work[d];
        next = ns > most ? most : ns > next ? ns : next;
        b->device = ns > most ? d : b->device;
        most = ns > most ? ns : most;
    }
    free(work);
    b->even = next > 0 && next * 2 >= most;
    if (next <= 0)
        b->device = TL_NONE;
    return 0;
}
