/* The codes of health rows; see health_kinds.h. The order is that of weight: of several rows the
 * verdict names the first kind. */
#include "analyzer/facts/health_kinds.h"

#include "analyzer/facts/limits.h"

#include <string.h>

const struct health_kind health_kinds[] = {
    /* the collector could not read, or keep, what there was */
    {"no-spool", HEALTH_MISSING, 0},
    {"unread-spool", HEALTH_MISSING, 0},
    {"bad-spool", HEALTH_MISSING, 0},
    {"spool-cut", HEALTH_MISSING, 0},
    {"size-limit", HEALTH_NO_GPU, 0}, /* else recorded_text says how much was recorded */
    /* the agent had no room, or no CUPTI */
    {"disk-full", HEALTH_MISSING, 0},
    {"cupti-missing", HEALTH_MISSING, 0},
    {"cupti-start", HEALTH_MISSING, 0},
    {"no-kernels", HEALTH_MISSING, 0},
    {"no-profiler-range", HEALTH_MISSING, 0},
    {"cupti-subscriber", HEALTH_NO_GPU, 0}, /* the other tool may have gone later */
    {"cupti-silent", HEALTH_NO_GPU, 0},     /* with GPU work: verdict_missing, by the time */
    {"cupti-end", HEALTH_NO_GPU, 0},        /* the same */
    {"cupti-kinds", HEALTH_NO_GPU, 0},      /* of an old CUPTI: some kinds are not there */
    {"cupti-diagnostic", HEALTH_NO_GPU, 0}, /* Nsight Systems' words */
    {"buffers-lost", HEALTH_MISSING, 0},    /* buffers, not records */
    {"cut-buffers", HEALTH_MISSING, 0},     /* the same */
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
    /* marks and ranges may be among the names */
    {"strings-full", HEALTH_LOST_SOME, 0},
    /* records are there, and lack a name or a number */
    {"names-full", HEALTH_NOTE, 0},
    {"names-missing", HEALTH_NOTE, 0},
    {"frames-out-of-order", HEALTH_NOTE, 0},
    {"cupti-ids", HEALTH_NOTE, 0},
    {"times-reversed", HEALTH_NOTE, 0},
    {"numbers-absurd", HEALTH_NOTE, 0},
    {"references-missing", HEALTH_NOTE, 0},
    {"ids-repeated", HEALTH_NOTE, 0},
    {"graphs-opaque", HEALTH_NOTE, 0},  /* each graph is there as a whole */
    {"buffer-starved", HEALTH_NOTE, 0}, /* what that lost is in cupti-dropped or discarded */
    {"clock-set", HEALTH_NOTE, 0},      /* windows leave those moments out */
    {"python-hook", HEALTH_NOTE, 0},    /* verdict_cpu_no_steps says so itself */
    {"ranks-missing", HEALTH_NOTE, 0},  /* the sentences on ranks say so */
    {"files-left-out", HEALTH_NOTE, 0}, /* the same */
    {"ranks-summarised", HEALTH_NOTE, 0},
    {"no-marks", HEALTH_NOTE, 0},
    {"unasked", HEALTH_NOTE, 0},
    {"in-flight", HEALTH_NOTE, 0},
    {"unknown-kinds", HEALTH_NOTE, 0},
    {"rings-left", HEALTH_NOTE, 0},
    {"agent-cpu", HEALTH_NOTE, 0},
    {"outlived", HEALTH_NOTE, 0}, /* what follows the end of the program is not asked for */
    {"stuck", HEALTH_NOTE, 0},
    {"no-gauges", HEALTH_NOTE, 0},
    {"no-stacks", HEALTH_NOTE, 0},
    {"no-samples", HEALTH_NOTE, 0},
    {"no-launch-lines", HEALTH_NOTE, 0},
    {"sampler-cpu", HEALTH_NOTE, 0},
    {"cupti-free", HEALTH_NOTE, 0},
    {"cupti-shared", HEALTH_NOTE, 0},
    {"cupti-runs-on", HEALTH_NOTE, 0},
    {"chain-injection", HEALTH_NOTE, 0}, /* what another tool records */
    {"chain-nvtx", HEALTH_NOTE, 0},      /* the same */
};
const size_t health_kind_count = sizeof health_kinds / sizeof *health_kinds;

const struct health_kind *health_kind(const char *code)
{
    for (size_t i = 0; i < health_kind_count; i++)
        if (strcmp(code, health_kinds[i].code) == 0)
            return &health_kinds[i];
    return NULL;
}

/* The first row of that kind; *sum: of the values of all. */
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

/* One in a hundred, as verdict_missing asks of launches: fewer are told by their sum alone. */
static bool many(const struct timeline *t, int64_t lost)
{
    int64_t there = (int64_t)(t->op_count + t->api_count + t->range_count + t->call_count);
    return lost > 0 && lost >= (there + lost) / 100 * FACTS_LOST_PCT;
}

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
    /* what windows leave out is told apart */
    return find(f->tl, f->tl->op_count == 0 || f->health.recorded_pct < FACTS_RECORDED_PCT);
}
