/* Gives each slice of a row the first lane in which it fits (lanes.h). */
#include "report/trace/lanes.h"

static bool fits(struct open_ends *open, bool nest, int64_t start_ns, int64_t end_ns)
{
    while (open->n && open->at[open->n - 1] <= start_ns)
        open->n--;
    return open->n == 0 || (nest && end_ns <= open->at[open->n - 1]);
}

int lanes_place(struct lanes *l, int64_t start_ns, int64_t end_ns)
{
    size_t k = 0;
    while (k < l->lane.n && !fits(&l->lane.at[k], l->nest, start_ns, end_ns))
        k++;
    if (l->most && k == l->most)
        return (int)k;
    if (k == l->lane.n && !vec_push(&l->lane))
        return -1;
    int64_t *end = vec_push(&l->lane.at[k]);
    if (!end)
        return -1;
    *end = end_ns;
    return (int)k;
}

void lanes_release(struct lanes *l)
{
    for (size_t i = 0; i < l->lane.n; i++)
        vec_release(&l->lane.at[i]);
    vec_release(&l->lane);
}
