/* The codes of health rows and what each means for the answer; see health_kinds.h. The order is the
 * order of weight: if several rows apply, the verdict names the first kind in this table. */
#include "analyzer/facts/health_kinds.h"

#include "analyzer/facts/limits.h"

#include <string.h>

const struct health_kind health_kinds[] = {
    /* the collector could not read or could not keep some records */
    {"no-spool", HEALTH_MISSING, 0},
    {"unread-spool", HEALTH_MISSING, 0},
    {"bad-spool", HEALTH_MISSING, 0},
    {"spool-cut", HEALTH_MISSING, 0},
    {"size-limit", HEALTH_NO_GPU, 0}, /* otherwise recorded_text says how much was recorded */
    /* the agent had no memory or disk space, or found no CUPTI */
    {"disk-full", HEALTH_MISSING, 0},
    {"cupti-missing", HEALTH_MISSING, 0},
    {"cupti-left-off", HEALTH_MISSING, 0},
    {"cupti-start", HEALTH_MISSING, 0},
    {"no-kernels", HEALTH_MISSING, 0},
    {"no-profiler-range", HEALTH_MISSING, 0},
    {"cupti-subscriber", HEALTH_NO_GPU, 0}, /* the other tool may have released CUPTI later */
    {"cupti-silent", HEALTH_NO_GPU, 0},     /* where GPU work was recorded, verdict_missing
                                               judges by the length of the silence */
    {"cupti-end", HEALTH_NO_GPU, 0},        /* as cupti-silent */
    {"cupti-kinds", HEALTH_NO_GPU, 0},      /* an old CUPTI lacks some kinds of records */
    {"cupti-diagnostic", HEALTH_NO_GPU, 0}, /* a message of Nsight Systems */
    {"buffers-lost", HEALTH_MISSING, 0},    /* its value counts buffers, not records */
    {"cut-buffers", HEALTH_MISSING, 0},     /* its value counts buffers, not records */
    {"cupti-dropped", HEALTH_LOST_SOME, HEALTH_DROPPED | HEALTH_OF_GPU},
    {"discarded", HEALTH_LOST_SOME, HEALTH_DROPPED | HEALTH_OF_GPU},
    {"ring-full", HEALTH_LOST_SOME, HEALTH_DROPPED},
    {"no-ring", HEALTH_LOST_SOME, HEALTH_DROPPED},
    {"too-deep", HEALTH_LOST_SOME, HEALTH_DROPPED},
    {"untimed", HEALTH_LOST_SOME, HEALTH_DROPPED},
    {"off-clock", HEALTH_LOST_SOME, HEALTH_DROPPED | HEALTH_OF_GPU},
    {"bad-records", HEALTH_LOST_SOME, 0},
    {"bad-events", HEALTH_LOST_SOME, 0},
    {"times-absurd", HEALTH_LOST_SOME, 0},
    /* marks and ranges may be among the lost names */
    {"strings-full", HEALTH_LOST_SOME, 0},
    /* the records are there, but lack a name or a number */
    {"names-full", HEALTH_NOTE, 0},
    {"names-missing", HEALTH_NOTE, 0},
    {"frames-out-of-order", HEALTH_NOTE, 0},
    {"cupti-ids", HEALTH_NOTE, 0},
    {"times-reversed", HEALTH_NOTE, 0},
    {"numbers-absurd", HEALTH_NOTE, 0},
    {"references-missing", HEALTH_NOTE, 0},
    {"ids-repeated", HEALTH_NOTE, 0},
    {"graphs-opaque", HEALTH_NOTE, 0},  /* each graph was recorded as one operation */
    {"buffer-starved", HEALTH_NOTE, 0}, /* records lost by this are counted in
                                           cupti-dropped or discarded */
    {"clock-set", HEALTH_NOTE, 0},      /* the windows leave out those moments */
    {"python-hook", HEALTH_NOTE, 0},    /* verdict_cpu_no_steps says so itself */
    {"ranks-missing", HEALTH_NOTE, 0},  /* the sentences about ranks say so */
    {"files-left-out", HEALTH_NOTE, 0}, /* the sentences about ranks say so */
    {"ranks-summarised", HEALTH_NOTE, 0},
    {"no-marks", HEALTH_NOTE, 0},
    {"unasked", HEALTH_NOTE, 0},
    {"in-flight", HEALTH_NOTE, 0},
    {"unknown-kinds", HEALTH_NOTE, 0},
    {"rings-left", HEALTH_NOTE, 0},
    {"agent-cpu", HEALTH_NOTE, 0},
    {"outlived", HEALTH_NOTE, 0}, /* the analysis does not cover what runs
                                     after the program's end */
    {"mlockall", HEALTH_NOTE, 0}, /* the program ran otherwise; the records are whole */
    {"stuck", HEALTH_NOTE, 0},
    {"no-gauges", HEALTH_NOTE, 0},
    {"no-stacks", HEALTH_NOTE, 0},
    {"no-samples", HEALTH_NOTE, 0},
    {"no-launch-lines", HEALTH_NOTE, 0},
    {"sampler-cpu", HEALTH_NOTE, 0},
    {"cupti-free", HEALTH_NOTE, 0},
    {"cupti-shared", HEALTH_NOTE, 0},
    {"cupti-runs-on", HEALTH_NOTE, 0},
    {"chain-injection", HEALTH_NOTE, 0}, /* it says what another tool records */
    {"chain-nvtx", HEALTH_NOTE, 0},      /* it says what another tool records */
};
const size_t health_kind_count = sizeof health_kinds / sizeof *health_kinds;

const struct health_kind *health_kind(const char *code)
{
    for (size_t i = 0; i < health_kind_count; i++)
        if (strcmp(code, health_kinds[i].code) == 0)
            return &health_kinds[i];
    return NULL;
}

/* The first health row with that code, or NULL; *sum: the sum of the values of all such rows. */
static const struct row_health *rows_of(const struct timeline *t, const char *code, int64_t *sum)
{
    const struct row_health *first = NULL;
    *sum = 0;
    for (size_t i = 0; i < t->health_count; i++) {
        const struct row_health *h = &t->healths[i];
        if (strcmp(tl_text(t, h->code), code) != 0)
            continue;
        first = first ? first : h;
        *sum += h->value > 0 && *sum < INT64_MAX / 2 ? h->value : 0;
    }
    return first;
}

/* True if at least FACTS_LOST_PCT per cent of the records were lost. Smaller losses appear only as
 * a number. verdict_missing applies the same share to launches. */
static bool many(const struct timeline *t, int64_t lost)
{
    int64_t there = (int64_t)(t->op_count + t->api_count + t->range_count + t->call_count);
    return lost > 0 && lost >= (there + lost) / 100 * FACTS_LOST_PCT;
}

/* The first row, in order of weight, that makes the recording incomplete; NULL: none. no_gpu: no
 * GPU work was recorded, so reasons for that count too. */
static const struct row_health *find(const struct timeline *t, bool no_gpu)
{
    enum health_meaning least = no_gpu ? HEALTH_NO_GPU : HEALTH_MISSING;
    for (size_t i = 0; t->health_count && i < health_kind_count; i++) {
        const struct health_kind *k = &health_kinds[i];
        int64_t sum;
        const struct row_health *h = k->meaning >= least ? rows_of(t, k->code, &sum) : NULL;
        bool counts = k->meaning != HEALTH_LOST_SOME || many(t, sum) ||
                      (no_gpu && k->how & HEALTH_OF_GPU && sum > 0);
        if (h && counts)
            return h;
    }
    return NULL;
}

const struct row_health *health_hides_gpu(const struct timeline *t)
{
    return find(t, true);
}

const struct row_health *health_missing(const struct facts *f)
{
    /* if windows left parts out, recorded_text says so */
    return find(f->tl, f->tl->op_count == 0 || f->health.recorded_pct < FACTS_RECORDED_PCT);
}
