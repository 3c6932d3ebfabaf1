/* What is said where too little was recorded to say more. */
#include "analyzer/facts/passes.h"
#include "analyzer/advice/verdict.h"
#include "analyzer/queries/look.h"

#include <string.h>

void verdict_not_enough(struct analysis *a, const char *verdict, const char *why, const char *next)
{
    a->verdict_class = "not-enough-data";
    a->verdict = verdict;
    a->why = why;
    a->next = next;
}

bool analysis_thin(const struct analysis *a, size_t *ops)
{
    enum { FEW = 10 };
    size_t n = 0;
    if (a->steps.used > 2)
        return false;
    for (uint32_t i = 0; i < a->tl->op_count && n < FEW; i++)
        n += !look_used(a, i) ? 0 : a->tl->ops[i].in_graph ? FEW : 1;
    if (ops)
        *ops = n;
    return n < FEW && a->breakdown_ns[PART_COMPUTE] * 10 < a->steps.median_ns;
}

/* Why CUPTI gave nothing, in the agent's own words; NULL: it did not complain. */
static const char *cupti_complaint(const struct analysis *a)
{
    for (size_t i = 0; i < a->tl->health_count; i++) {
        const struct row_health *h = &a->tl->healths[i];
        if (h->severity >= 1 && strncmp(tl_text(a->tl, h->code), "cupti-", 6) == 0)
            return tl_text(a->tl, h->text);
    }
    return NULL;
}

/* Kernels were launched but not recorded, or nothing was launched at all: two different mistakes.
 */
void verdict_no_gpu_work(struct analysis *a)
{
    size_t launches = 0;
    for (size_t i = 0; i < a->tl->api_count; i++)
        launches += a->tl->apis[i].kind == API_LAUNCH || a->tl->apis[i].kind == API_GRAPH_LAUNCH;
    const char *source = timeline_meta(a->tl, "source");
    bool kineto = source && strcmp(source, "kineto") == 0;
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
            a->tl->range_count ? "Only work of the host was recorded: the run used no GPU, "
                                 "an accelerator that is not known here, or a profiler "
                                 "without GPU activity."
                               : "The profile holds no kernel, copy or memset.",
            kineto ? "Record with torch.profiler.profile(activities=[ProfilerActivity.CPU, "
                     "ProfilerActivity.CUDA]), or with gpuprof run CMD."
                   : "Record a run that uses a GPU: gpuprof run CMD; gpuprof doctor says "
                     "what works here.");
}

enum { LOST_TOO_MANY_PCT = 20 };

bool verdict_launches_lost(struct analysis *a)
{
    const struct health_facts *h = &a->health;
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

static bool has_health(const struct analysis *a, const char *code)
{
    for (size_t i = 0; i < a->tl->health_count; i++)
        if (strcmp(tl_text(a->tl, a->tl->healths[i].code), code) == 0)
            return true;
    return false;
}

const char *verdict_missing(struct analysis *a)
{
    enum { ALL_PCT = 99 };
    const struct health_facts *h = &a->health;
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
