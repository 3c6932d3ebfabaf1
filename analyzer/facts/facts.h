/* The facts: everything that was measured, worked out from a timeline. Nothing here advises
 * anybody. Once computed, the facts stay as they are: the what-if engine, the rules and the
 * exporters read them. All `_ns` are int64 nanoseconds; "per step" means divided by steps.used.
 * Passes in order (find/): steps -> gaps -> totals -> ranks -> host -> health -> lines. */
#ifndef GPUPROF_FACTS_FACTS_H
#define GPUPROF_FACTS_FACTS_H

#include "analyzer/facts/parts.h"
#include "analyzer/facts/rank_facts.h"
#include "analyzer/facts/scope.h"
#include "analyzer/timeline/timeline.h"

/* Steps. */

enum step_source {
    STEPS_NONE, /* none repeats: the window of the recording stands for one, count = used = 1 */
    STEPS_NVTX,
    STEPS_FRAMEWORK /* ProfilerStep, hook */,
    STEPS_DETECTED
};

struct step {
    int64_t start_ns, end_ns; /* on the host, anchor to anchor */
    int64_t from_ns, to_ns; /* the time of which its parts are: on the GPU from the end of what was
                               launched before it to the end of what it launched; without GPU work
                               start_ns, end_ns. These times do not overlap */
    int64_t length_ns;      /* what the step takes; 0 = not known where it begins */
    uint32_t first_op, ops; /* by launch order: not a slice of ops, see steps.op_step */
    uint8_t used;           /* 1: it counts; 0: warm-up, evaluation, outlier, cut off */
    uint8_t slow;           /* 1: takes much longer for the same work; used only where such recur */
    uint8_t other;          /* 1: longer, and with other work than the others: not used */
    uint8_t estimated;      /* 1: it is not known where it begins */
};

struct steps {
    enum step_source source;
    const char *source_text; /* for people: "NVTX range 'step'", "detected: 41 repeats of ..." */
    const char *doubt;       /* why others may be the steps, for people; NULL = nothing says so */
    struct step *at;
    size_t count, used;
    uint32_t *op_step;  /* per op: step index, TL_NONE outside of all */
    int64_t *launch_ns; /* per op: when it was launched, as far as that can be told */
    int64_t median_ns, p95_ns, min_ns, max_ns, mean_ns; /* of the used ones' lengths */
    int64_t pace_ns;       /* mean of the used and the slow ones: what the loop takes */
    size_t slow, profiled; /* how many are that; how many the program's own profiler takes out */
    int64_t profiled_ns;   /* what it takes in those, added up */
    int64_t short_ns, long_ns; /* mean of those that are not slow, and of the slow ones */
    bool recurs;               /* slow ones recur: they are used, and the mean is what counts */
    bool alternate;            /* two kinds in turn: the same */
    int64_t drift_from_ns, drift_to_ns; /* from first to last they become shorter or longer; or 0 */
    double cv;                  /* standard deviation / mean of the used ones that are not slow */
    double confidence;          /* 0..1; 1 for marked steps */
    int64_t detected_median_ns; /* what repetition says beside given marks; 0 = nothing repeats */
    size_t detected_count;
    bool on_gpu;          /* lengths are the GPU's: from the end of a step's work to the next's */
    bool batches;         /* no step was marked: one goes from one batch to the next */
    uint32_t main_thread; /* index: that of the marks, else the one that launches most */
    uint32_t process, device; /* indices: whose steps, and whose GPU time is broken down */
};

/* A window of the run that was recorded in full. */
struct recorded_window {
    int64_t start_ns, end_ns;
    int64_t known_ns;   /* from here on it is known when the GPU is idle */
    bool leads_in;      /* the program was at work before it began */
    bool at_step;       /* it ends where a step begins */
    int64_t first_step; /* as in row_recorded */
};

#define GAP_LISTED_NS 2000

struct gap {
    int64_t start_ns, end_ns;
    uint32_t step;      /* index, TL_NONE */
    uint32_t before_op; /* the op that ends it, TL_NONE */
    uint32_t api;       /* the call charged most of it, TL_NONE */
    uint32_t range; /* innermost NVTX range of the launching thread around most of it, TL_NONE */
    uint32_t first_share; /* in gap_shares: one for each of its parts, rising; ask gap_ns */
    uint16_t parts;       /* bit 1 << part: it has some of it */
    uint8_t part;         /* enum part that has most of it */
};

/* Totals over the used steps. */

struct kernel_total { /* one per distinct (name, family): a template may yield kernels of several */
    uint32_t name;    /* string id */
    struct kernel_class class;
    int64_t count, total_ns, min_ns, max_ns;
    uint32_t longest; /* op index */
};

struct copy_total { /* one per (kind, src, dst) */
    uint8_t kind, src_kind, dst_kind;
    int64_t count, bytes, total_ns;
    int64_t exposed_ns;      /* while no compute kernel runs */
    int64_t host_blocked_ns; /* time the calls took on the host */
    uint32_t longest;
};

struct api_total {
    uint32_t name;
    uint8_t kind;
    int64_t count, total_ns, max_ns;
    uint32_t longest; /* api index */
};

struct totals {
    struct kernel_total *kernels;
    size_t kernel_count; /* by total_ns, falling */
    struct copy_total *copies;
    size_t copy_count;
    struct api_total *apis;
    size_t api_count;
    int64_t family_ns[FAMILY_COUNT]; /* kernel time */
    int64_t family_count[FAMILY_COUNT];
    int64_t kernel_ns, kernel_count_all;
    int64_t tensor_ns, fp32_matrix_ns; /* matrix kernels on tensor cores; FP32 ones without */
    int64_t matrix_ns, matrix_unknown_ns;
    int64_t launches;      /* API calls that put work on the GPU */
    int64_t short_kernels; /* under 10 us */
};

/* The host. */

struct host_facts {
    int usable_cores;     /* min of affinity and cgroup quota (rounded up), 0 = not known */
    int loader_workers;   /* seen making batches; -1 = not known, 0 = the training thread itself */
    bool loader_parallel; /* workers are in use, even where their number is not known */
    int64_t fetch_cpu_ns; /* CPU time to make one batch, median; 0 = not known */
    int64_t fetch_ns;     /* wall time to make one batch, median */
    double fetches;       /* made by the training thread itself, per used step */
    /* Per step, of the training thread and the others that launch (PyTorch's for the backward
     * pass), which take turns. -1 = unknown. */
    int64_t starved_ns; /* ready to run but without a core */
    int64_t asleep_ns;  /* neither that nor computing */
    int64_t wait_ns;    /* training thread waiting for (or making) data in a step: median, or
                           average as step_ns is */
};

/* Self-checks. */
struct health_facts {
    int64_t dropped;           /* records lost, all causes */
    double unexplained_pct;    /* of step time */
    double overhead_pct;       /* the profiler's cost to the program's threads, -1 unknown */
    double cupti_pct;          /* of that, CUPTI's records by what they cost on other machines */
    size_t warnings;           /* health rows of severity >= 1 */
    double recorded_pct;       /* of the process' time: 100 where it was not recorded in windows */
    int64_t run_steps;         /* steps of the run, also between the windows; 0 = not counted */
    int64_t run_mean_ns;       /* of one of those */
    const char *recorded_text; /* one sentence about it; NULL: all was recorded */
    size_t launches, launches_lost; /* in used steps; those without a record of the GPU's work */
    int64_t graph_holes_ns;  /* idle amid graphs, over the used steps: their kernels lack records */
    size_t python_functions; /* calls of them that PyTorch's profiler recorded (with_stack=True) */
    size_t calls_to_launch, calls_failed; /* in the recording; those that returned an error */
    uint16_t first_error;                 /* of these */
};

struct gpu_facts { /* over the window from first to last GPU activity of the chosen device */
    double busy_pct, compute_pct, comm_pct, comm_exposed_pct, copy_pct, copy_exposed_pct;
    int64_t window_ns;
};

struct facts {
    const struct timeline *tl;
    struct arena arena; /* owns everything below */
    struct steps steps;
    struct recorded_window
        *windows; /* of the process of the steps, by time; none: all was recorded */
    size_t window_count;
    struct gap *gaps;
    size_t gap_count;         /* those of GAP_LISTED_NS and more, by start */
    int64_t *gap_shares;      /* nanoseconds; this and gaps are not in the arena */
    int64_t gaps_unlisted_ns; /* idle time in shorter ones: in step_parts, not in gaps */
    bool on_cpu;              /* no GPU was at work, and nothing says that one should have been */
    int64_t step_ns; /* the step that all numbers are about: the median one, where long ones recur
                        the mean */
    int64_t used_ns; /* what the used steps take together: all sums over them are of that */
    int64_t breakdown_ns[PART_COUNT];  /* parts of that step; sum = step_ns exactly */
    int64_t (*step_parts)[PART_COUNT]; /* per step, sums to its length */
    struct gpu_facts gpu;
    struct totals totals;
    struct host_facts host;
    struct ranks ranks;
    struct cpu_ranks cpu_ranks;
    struct health_facts health;
    const char *long_text; /* long steps, and what they have that the others lack; NULL: not told */
    int long_part;         /* enum part of that */
    const char *long_in;   /* the range that most of it lies in; NULL: none */
    int64_t long_extra_ns; /* a long step has so much more of it */
    const char *other_text; /* long steps with other work, which do not count; NULL: not told */
    size_t other_steps;
    int64_t other_ns;          /* their mean */
    const char *contradiction; /* what is wrong with these numbers, one clause; NULL: they agree */
    const struct row_device *device; /* NULL = not known */
    struct line_facts *lines;        /* lines.h; NULL = not measured */
};

void facts_free(struct facts *f);

/* What of the gap is charged to that part; the parts sum to its length. */
static inline int64_t gap_ns(const struct facts *f, const struct gap *g, enum part part)
{
    unsigned bit = 1u << part;
    return g->parts & bit
               ? f->gap_shares[g->first_share + (size_t)__builtin_popcount(g->parts & (bit - 1))]
               : 0;
}

/* Index of the step in whose host time `ns` falls, used or not; TL_NONE. */
uint32_t facts_step_at(const struct facts *f, int64_t ns);
/* Number of a step in the run, from 1: not its place among the steps where there are pauses between
 * what was recorded. */
int64_t facts_step_number(const struct facts *f, size_t step);

/* True when step_ns is the mean of all steps, not that of the median one. */
static inline bool analysis_by_mean(const struct facts *f)
{
    return f->steps.recurs;
}

/* True when no step repeats: the numbers are of all that was recorded, "the window". */
static inline bool analysis_of_window(const struct facts *f)
{
    return f->steps.source == STEPS_NONE && f->steps.count > 0;
}

/* "median", "average": which step step_ns is. */
static inline const char *analysis_step_kind(const struct facts *f)
{
    return analysis_by_mean(f) ? "average" : "median";
}

/* Of a sum of times over the used steps, a step's part: on the scale of step_ns. */
static inline int64_t facts_per_step(const struct facts *f, int64_t total_ns)
{
    if (f->used_ns > 0)
        return (int64_t)((double)total_ns / (double)f->used_ns * (double)f->step_ns);
    return total_ns / (int64_t)(f->steps.used ? f->steps.used : 1);
}

/* Used steps, and slow ones beside them. */
static inline size_t steps_like(const struct steps *s)
{
    return s->used + (s->recurs ? 0 : s->slow);
}

/* The title of a part, in the words for what was seen of this program: without a backward pass
 * "forward" is all that is done with a batch. */
const char *analysis_part_title(const struct facts *f, int part);
/* The training thread; one that did nothing where the recording names no thread. */
static inline const struct thread *facts_main_thread(const struct facts *f)
{
    static const struct thread none;
    return f->tl->thread_count ? &f->tl->threads[f->steps.main_thread] : &none;
}

/* True when the program ran on the virtual GPU: every output must say so. */
static inline bool facts_virtual(const struct facts *f)
{
    return f->device && f->device->is_virtual == 1;
}

#endif
