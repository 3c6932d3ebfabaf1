/* What the host does while the GPU waits for it, in words of the verdict. */
#include "analyzer/advice/passes.h"
#include "analyzer/advice/verdict.h"
#include "analyzer/queries/warm.h"

#include <stdio.h>

/* True for a window in which one call creates the CUDA context. Such a call is classified by its
 * name, as an allocation. */
static bool creates_context(const struct advice *a, uint32_t parts)
{
    int64_t all = verdict_parts_ns(a, parts);
    return analysis_of_window(a->facts) && 2 * a->facts->breakdown_ns[PART_IDLE_ALLOC] > all &&
           2 * query_warm_up(a->facts).context_ns > all;
}

static bool is_all(int64_t part_ns, int64_t all_ns)
{
    return part_ns * 100 > all_ns * ADVICE_ALL_PCT;
}

const char *verdict_host_clause(const struct advice *a, uint32_t parts)
{
    const int64_t *part = a->facts->breakdown_ns;
    int64_t all = verdict_parts_ns(a, parts);
    if (!(parts >> PART_IDLE_HOST & 1))
        return NULL;
    if (is_all(part[PART_IDLE_HOST], all))
        return "the GPU waits while the host does other work during";
    if (creates_context(a, parts))
        return "the GPU waits while the host creates the CUDA context, in its first call, and for "
               "other host work during";
    if (is_all(part[PART_IDLE_ALLOC], all))
        return "the GPU waits while the host allocates or frees memory during";
    if (is_all(part[PART_IDLE_LAUNCH], all))
        return "the GPU waits for the host to launch work during";
    return NULL;
}

const char *verdict_host_parts(struct advice *a, uint32_t parts)
{
    static const struct {
        enum part part;
        const char *words;
    } known[] = {{PART_IDLE_LAUNCH, "launches"},
                 {PART_IDLE_HOST, "other work"},
                 {PART_IDLE_ALLOC, "allocating"}};
    char text[96] = "";
    size_t n = 0;
    bool told[3] = {false};
    int64_t all = verdict_parts_ns(a, parts);
    bool window = analysis_of_window(a->facts); /* whose words already contain brackets */
    if (!(parts >> PART_IDLE_HOST & 1) || creates_context(a, parts))
        return "";
    for (size_t turn = 0; turn < 3; turn++) {
        int64_t most = -1;
        size_t best = 0;
        for (size_t i = 0; i < 3; i++) {
            int64_t ns = a->facts->breakdown_ns[known[i].part];
            if (!told[i] && ns > most)
                most = ns, best = i;
        }
        if (verdict_share(a, most) < ADVICE_PRINTED_PCT || (turn == 0 && is_all(most, all)))
            break;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %.0f %%", turn ? ", " : "",
                              known[best].words, verdict_share(a, most));
        told[best] = true;
    }
    return n ? arena_printf(&a->arena, window ? ": %s" : " (%s)", text) : "";
}
