/* Verdicts for recordings that contain too little for advice. */
#include "analyzer/advice/passes.h"
#include "analyzer/advice/verdict.h"
#include "analyzer/facts/health_kinds.h"
#include "analyzer/facts/limits.h"
#include "analyzer/facts/memory.h"
#include "analyzer/queries/query.h"

#include <string.h>

bool advice_blind(const struct advice *a)
{
    return a->class == VERDICT_NOT_ENOUGH;
}

void verdict_not_enough(struct advice *a, const char *verdict, const char *why, const char *next)
{
    a->class = VERDICT_NOT_ENOUGH;
    a->verdict = verdict;
    a->why = why;
    a->next = next;
}

/* Returns a health row's text as a sentence. */
static const char *sentence(struct advice *a, const struct row_health *h)
{
    const struct timeline *t = a->facts->tl;
    const struct health_kind *k = health_kind(tl_text(t, h->code));
    const char *text = tl_text(t, h->text);
    size_t n = strlen(text);
    bool ends = n && text[n - 1] == '.';
    return k && k->meaning == HEALTH_LOST_SOME
               ? arena_printf(&a->arena, "Records are missing: %s (%lld)%s", text,
                              (long long)h->value, ends ? "" : ".")
               : arena_printf(&a->arena, "%s%s", text, ends ? "" : ".");
}

const char *advice_missing(const struct advice *a)
{
    const struct row_health *h = health_missing(a->facts);
    return h ? tl_text(a->facts->tl, h->text) : NULL;
}

bool verdict_records_missing(struct advice *a)
{
    const struct row_health *h = health_missing(a->facts);
    if (!h)
        return false;
    verdict_not_enough(a, "Not enough data: records of the run are missing.", sentence(a, h),
                       "Remove that obstacle and record again; gpuprof doctor shows what works on "
                       "this machine.");
    return true;
}

const char *verdict_with_records(struct advice *a, const char *why)
{
    const struct row_health *h = why ? health_missing(a->facts) : NULL;
    return h ? arena_printf(&a->arena, "%s %s", why, sentence(a, h)) : why;
}

static void trace_of_no_gpu(struct advice *a)
{
    bool exported = timeline_meta(a->facts->tl, "trace.exported") != NULL;
    verdict_not_enough(
        a, "Not enough data: the recording contains no GPU activity.",
        exported
            ? "The file is gpuprof's export of a profile without GPU work; an export leaves out "
              "when batches arrive."
            : "The profiler saw no GPU that it knows, and the recording has no training loop on "
              "the CPU: no backward pass on the thread that marks steps or updates the "
              "parameters.",
        exported ? "Analyze the profile that it was exported from."
                 : "Call prof.step() in each step of the loop and record several; or, on a machine "
                   "with a GPU, gpuprof run CMD.");
}

/* The profiler recorded only the host of a program that trains elsewhere. */
static void trace_of_unseen(struct advice *a)
{
    verdict_not_enough(
        a, "Not enough data: the recording contains no GPU activity.",
        "The program trains on a GPU or another device, because its backward pass runs on a thread "
        "of its own, but the profiler did not record the device's work.",
        "If it is a GPU of NVIDIA or AMD, record with torch.profiler.profile(activities="
        "[ProfilerActivity.CPU, ProfilerActivity.CUDA]), or with gpuprof run CMD.");
}

/* No way of recording shows gpuprof the work of this accelerator. */
static void trace_of_other(struct advice *a, const char *name)
{
    verdict_not_enough(
        a, "Not enough data: the recording contains no GPU activity.",
        arena_printf(&a->arena,
                     "The program runs on an accelerator (%s) whose records gpuprof does not read: "
                     "it knows GPUs of NVIDIA and AMD, and training on the CPU.",
                     name),
        arena_printf(&a->arena,
                     "Use the profiler of %s for the accelerator's time; gpuprof can compare the "
                     "same program on a GPU of NVIDIA or AMD.",
                     name));
}

/* Two different mistakes: the program launched kernels that were not recorded, or it launched
 * nothing. */
void verdict_no_gpu_work(struct advice *a)
{
    size_t launches = 0;
    for (size_t i = 0; i < a->facts->tl->api_count; i++)
        launches += a->facts->tl->apis[i].kind == API_LAUNCH ||
                    a->facts->tl->apis[i].kind == API_GRAPH_LAUNCH;
    const char *source = timeline_meta(a->facts->tl, "source");
    bool kineto = source && strcmp(source, "kineto") == 0;
    bool ours = source && strcmp(source, "run") == 0; /* gpuprof run recorded it */
    const char *devices = timeline_meta(a->facts->tl, "trace.devices");
    const char *other = query_other_accelerator(a->facts);
    const struct row_health *hidden = health_hides_gpu(a->facts->tl);
    const char *complaint = hidden ? tl_text(a->facts->tl, hidden->text) : NULL;
    if (complaint)
        verdict_not_enough(a, "Not enough data: the recording contains no GPU activity.", complaint,
                           "Remove that obstacle and record again; gpuprof doctor shows what works "
                           "on this machine.");
    else if (launches)
        verdict_not_enough(
            a,
            "Not enough data: the program launched GPU work, but the recording contains no GPU "
            "activity.",
            arena_printf(&a->arena,
                         "The recording contains %zu launch%s but no kernel, copy or memset: the "
                         "profiler could not read the GPU's own records.",
                         launches, launches == 1 ? "" : "es"),
            "Close other profilers (only one can use CUPTI at a time), check that this user may "
            "read GPU counters, and record again; gpuprof doctor shows what is wrong.");
    else if (other)
        trace_of_other(a, other);
    else if (a->facts->on_device && !timeline_meta(a->facts->tl, "trace.exported"))
        trace_of_unseen(a);
    else if (kineto && devices && strcmp(devices, "0") == 0)
        trace_of_no_gpu(a);
    else
        verdict_not_enough(
            a, "Not enough data: the recording contains no GPU activity.",
            a->facts->tl->range_count
                ? "The recording contains host work only: the run used no GPU, an accelerator that "
                  "gpuprof does not know, or a profiler without GPU activity."
                : "The profile contains no kernel, copy or memset.",
            kineto ? "Record with torch.profiler.profile(activities=[ProfilerActivity.CPU, "
                     "ProfilerActivity.CUDA]), or with gpuprof run CMD."
            : ours ? "Profile a program that uses a GPU, or that trains with PyTorch; gpuprof "
                     "doctor shows what works on this machine."
                   : "Record a run that uses a GPU: gpuprof run CMD; gpuprof doctor shows what "
                     "works on this machine.");
}

/* Texts for the fact virtual.unreached ("WORD PATH"): why the virtual GPU could not replace the
 * program's CUDA runtime. */
static const struct unreached {
    const char *word, *why, *next;
} unreached[] = {
    {"stripped",
     "%s has the CUDA runtime linked in and no symbols, so the virtual GPU cannot take its place.",
     "Link it with `nvcc -cudart shared`, or keep its symbols (no strip, no -s); then record "
     "again."},
    {"library", "%s could not be replaced: the system does not let a program change its own code.",
     "Link the program with `nvcc -cudart shared` and without an RPATH to NVIDIA's libraries; then "
     "record again."},
    {"driver", "The program calls the driver, %s, whose interface the virtual GPU does not model.",
     "Record it on a real GPU, or use the CUDA runtime (`nvcc -cudart shared`)."},
};

bool verdict_unreached(struct advice *a)
{
    const char *note = timeline_meta(a->facts->tl, "virtual.unreached");
    const char *missing = timeline_meta(a->facts->tl, "ended.missing_call");
    if (missing)
        verdict_not_enough(a,
                           "Not enough data: the program stopped before it gave the GPU any work.",
                           "", ""); /* verdict_write fills in the reason */
    for (size_t i = 0; !missing && note && i < sizeof unreached / sizeof *unreached; i++) {
        const struct unreached *u = &unreached[i];
        size_t n = strlen(u->word);
        if (strncmp(note, u->word, n) != 0 || note[n] != ' ')
            continue;
        const char *at = strstr(u->why, "%s");
        verdict_not_enough(
            a, "Not enough data: the virtual GPU saw no call of the program.",
            arena_printf(&a->arena, "%.*s%s%s", (int)(at - u->why), u->why, note + n + 1, at + 2),
            u->next);
        return true;
    }
    return missing != NULL;
}

/* Returns the number of a CUDA error (cudaError_t) with its meaning. */
static const char *error_words(struct advice *a, unsigned error)
{
    static const struct {
        unsigned error;
        const char *words;
    } known[] = {{1, "invalid argument"},
                 {2, "out of memory"},
                 {9, "invalid sizes of grid, block or shared memory"},
                 {98, "no such device function"},
                 {209, "no code for this GPU in the program"},
                 {700, "illegal address, in a kernel before"},
                 {701, "too many resources requested"},
                 {719, "a kernel before failed"},
                 {720, "too large for a cooperative launch"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].error == error)
            return arena_printf(&a->arena, "error %u, %s", error, known[i].words);
    return arena_printf(&a->arena, "error %u", error);
}

static const char *failed_words(struct advice *a)
{
    const struct health_facts *h = &a->facts->health;
    return arena_printf(&a->arena, "%zu of %zu kernel launches failed (%s)", h->calls_failed,
                        h->calls_to_launch, error_words(a, h->first_error));
}

bool verdict_launches_failed(struct advice *a)
{
    const struct health_facts *h = &a->facts->health;
    if (h->calls_failed * 100 <= h->calls_to_launch * ADVICE_LOST_RECORDS_PCT)
        return false;
    verdict_not_enough(
        a, arena_printf(&a->arena, "Not enough data: %s.", failed_words(a)),
        "The GPU does nothing of what these launches ask for, and times that the program prints of "
        "them are not times of kernels.",
        "Let the program look at cudaGetLastError() after its launches, and record again when they "
        "succeed.");
    return true;
}

bool verdict_launches_lost(struct advice *a)
{
    const struct health_facts *h = &a->facts->health;
    bool failed = facts_failed(a->facts);
    if (h->launches_lost * 100 <= h->launches * ADVICE_LOST_RECORDS_PCT)
        return false;
    verdict_not_enough(
        a,
        arena_printf(
            &a->arena,
            "Not enough data: the GPU records of %zu of %zu launches in the steps are missing.",
            h->launches_lost, h->launches),
        failed ? "Where GPU records are missing, the GPU only appears idle, so gpuprof names no "
                 "cause. The program failed, and the GPU may not have done all that was launched."
               : "Where GPU records are missing, the GPU only appears idle, so gpuprof names no "
                 "cause. Another profiler in the program may have turned kernel records off, or "
                 "records were lost.",
        failed ? "Record again when the program ends well."
               : "Record again without other profilers in the program; gpuprof doctor shows what "
                 "works on this machine.");
    return true;
}

static const char *graph_holes(struct advice *a)
{
    const struct facts *f = a->facts;
    int64_t ns = facts_per_step(f, f->health.graph_holes_ns);
    return arena_printf(&a->arena,
                        "For %s %s the GPU seems to idle amid CUDA graphs that were launched, for "
                        "milliseconds at a time: most likely records of their kernels are missing, "
                        "and the GPU is at work.",
                        time_text(&a->arena, ns), scope_words(f)->per);
}

bool verdict_graphs_lost(struct advice *a)
{
    const struct facts *f = a->facts;
    int64_t holes = facts_per_step(f, f->health.graph_holes_ns);
    if (holes * 2 <= f->breakdown_ns[PART_IDLE_QUEUED] ||
        holes * 100 <= f->step_ns * ADVICE_LOST_RECORDS_PCT)
        return false;
    verdict_not_enough(
        a,
        arena_printf(&a->arena,
                     "Not enough data: records of kernels in CUDA graphs seem to be missing for "
                     "%.0f %% %s.",
                     100.0 * (double)holes / (double)f->step_ns, scope_words(f)->of),
        graph_holes(a),
        "Record again with newer CUPTI and driver, or without graphs, to see what the kernels "
        "take.");
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
    const struct health_facts *h = &a->facts->health;
    const char *text = "";
    if (h->calls_failed)
        return arena_printf(&a->arena, " %s: the GPU does nothing of what these ask for.",
                            failed_words(a));
    if (facts_per_step(a->facts, h->graph_holes_ns) * QUERY_WORTH > a->facts->step_ns)
        text = arena_printf(&a->arena, " %s", graph_holes(a));
    else if (h->launches_lost * 100 > h->launches * FACTS_LOST_PCT)
        text = arena_printf(&a->arena,
                            " The GPU records of %zu of %zu launches in the steps are missing: the "
                            "GPU may be busy where it appears idle.",
                            h->launches_lost, h->launches);
    else if (h->launches_unrun * 100 > h->launches_made * FACTS_LOST_PCT)
        text = arena_printf(&a->arena,
                            " The profiler stopped before the GPU had run the last %zu of %zu "
                            "launches: call torch.cuda.synchronize() (cudaDeviceSynchronize()) "
                            "before it stops to record their kernels as well.",
                            h->launches_unrun, h->launches_made);
    else if (h->recorded_pct < FACTS_RECORDED_PCT && has_health(a, "cupti-end"))
        text = arena_printf(
            &a->arena,
            " This covers only the first %.2g %% of the run: CUPTI reported nothing after that.",
            h->recorded_pct);
    else if (h->recorded_pct < FACTS_RECORDED_PCT && has_health(a, "cupti-silent"))
        text = arena_printf(
            &a->arena, " This covers only %.2g %% of the run: CUPTI reported nothing for the rest.",
            h->recorded_pct);
    return text && *text ? text : verdict_with_records(a, "");
}
