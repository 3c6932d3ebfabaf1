/* What is said where too little was recorded to say more. */
#include "analyzer/advice/passes.h"
#include "analyzer/advice/verdict.h"
#include "analyzer/queries/query.h"

#include <string.h>

void verdict_not_enough(struct advice *a, const char *verdict, const char *why, const char *next)
{
    a->verdict_class = "not-enough-data";
    a->verdict = verdict;
    a->why = why;
    a->next = next;
}

/* Why CUPTI gave nothing, in the agent's own words; NULL: it did not complain. */
static const char *cupti_complaint(const struct advice *a)
{
    for (size_t i = 0; i < a->facts->tl->health_count; i++) {
        const struct row_health *h = &a->facts->tl->healths[i];
        if (h->severity >= 1 && strncmp(tl_text(a->facts->tl, h->code), "cupti-", 6) == 0)
            return tl_text(a->facts->tl, h->text);
    }
    return NULL;
}

/* Kernels were launched but not recorded, or nothing was launched at all: two different mistakes.
 */
void verdict_no_gpu_work(struct advice *a)
{
    size_t launches = 0;
    for (size_t i = 0; i < a->facts->tl->api_count; i++)
        launches += a->facts->tl->apis[i].kind == API_LAUNCH ||
                    a->facts->tl->apis[i].kind == API_GRAPH_LAUNCH;
    const char *source = timeline_meta(a->facts->tl, "source");
    bool kineto = source && strcmp(source, "kineto") == 0;
    bool ours = source && strcmp(source, "run") == 0; /* it was gpuprof run */
    const char *complaint = cupti_complaint(a);
    if (complaint)
        verdict_not_enough(
            a, "Not enough data: no GPU activity was recorded.", complaint,
            "Record again without what stands in the way; gpuprof doctor says what works "
            "here.");
    else if (launches)
        verdict_not_enough(
            a, "Not enough data: no GPU activity was recorded, though work was launched.",
            arena_printf(&a->arena,
                         "%zu launches were recorded, but no kernel, copy or memset: the "
                         "profiler had no access to the GPU's own records.",
                         launches),
            "Close other profilers (only one can use CUPTI at a time), check that this user "
            "may read GPU counters, and record again; gpuprof doctor says what is wrong.");
    else
        verdict_not_enough(
            a, "Not enough data: no GPU activity was recorded.",
            a->facts->tl->range_count ? "Only work of the host was recorded: the run used no GPU, "
                                        "an accelerator that is not known here, or a profiler "
                                        "without GPU activity."
                                      : "The profile holds no kernel, copy or memset.",
            kineto ? "Record with torch.profiler.profile(activities=[ProfilerActivity.CPU, "
                     "ProfilerActivity.CUDA]), or with gpuprof run CMD."
            : ours
                ? "Profile a program that uses a GPU, or that trains with PyTorch; gpuprof doctor "
                  "says what works here."
                : "Record a run that uses a GPU: gpuprof run CMD; gpuprof doctor says "
                  "what works here.");
}

enum { LOST_TOO_MANY_PCT = 20 };

bool verdict_launches_lost(struct advice *a)
{
    const struct health_facts *h = &a->facts->health;
    if (h->launches_lost * 100 <= h->launches * LOST_TOO_MANY_PCT)
        return false;
    verdict_not_enough(
        a,
        arena_printf(&a->arena,
                     "Not enough data: of %zu of %zu launches in the steps the GPU's own record is "
                     "missing.",
                     h->launches_lost, h->launches),
        "Where records are missing the GPU seems idle, so nothing is said of what it waits for. "
        "Another profiler in the program may have turned kernels off, or records were lost.",
        "Record again without other profilers in the program; gpuprof doctor says what works "
        "here.");
    return true;
}

static bool has_health(const struct advice *a, const char *code)
{
    for (size_t i = 0; i < a->facts->tl->health_count; i++)
        if (strcmp(tl_text(a->facts->tl, a->facts->tl->healths[i].code), code) == 0)
            return true;
    return false;
}

const char *verdict_missing(struct advice *a)
{
    enum { ALL_PCT = 99 };
    const struct health_facts *h = &a->facts->health;
    const char *text = "";
    if (h->launches_lost * 100 > h->launches)
        text = arena_printf(&a->arena,
                            " Of %zu of %zu launches in the steps the GPU's own record is missing: "
                            "there it seems idle and may not be.",
                            h->launches_lost, h->launches);
    else if (h->recorded_pct < ALL_PCT && has_health(a, "cupti-end"))
        text = arena_printf(&a->arena,
                            " This holds for the first %.2g %% of the run alone: CUPTI reported "
                            "nothing of the rest.",
                            h->recorded_pct);
    else if (h->recorded_pct < ALL_PCT && has_health(a, "cupti-silent"))
        text = arena_printf(&a->arena,
                            " This holds for %.2g %% of the run alone: CUPTI reported nothing of "
                            "the rest.",
                            h->recorded_pct);
    return text ? text : "";
}
