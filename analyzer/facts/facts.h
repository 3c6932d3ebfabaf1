/* The facts: everything that gpuprof measures on a timeline. No pass here gives advice.
 * Once facts_find has computed the facts they do not change: the what-if engine, the
 * rules and the exporters only read them. All `_ns` are int64 nanoseconds; "per step"
 * means divided by steps.used. Passes in order (find/): steps -> gaps -> totals -> hardware
 * -> ranks -> host -> health -> lines. */
#ifndef GPUPROF_FACTS_FACTS_H
#define GPUPROF_FACTS_FACTS_H

#include "analyzer/facts/parts.h"
#include "analyzer/facts/rank_facts.h"
#include "analyzer/facts/scope.h"
#include "analyzer/measure/peaks.h"
#include "analyzer/timeline/timeline.h"

/* Steps. */

enum step_source {
    STEPS_NONE, /* no step repeats: the whole recorded window stands for one
                   step, count = used = 1 */
    STEPS_NVTX,
    STEPS_FRAMEWORK /* ProfilerStep of PyTorch, or the hook's marks */,
    STEPS_DETECTED
};

struct step {
    int64_t start_ns, end_ns; /* on the host, from its mark to the next one */
    /* the time that the step's parts divide. With GPU work: from the end of the work launched
     * before the step to the end of the work that the step launched. Without: start_ns to end_ns.
     * The times of two steps do not overlap */
    int64_t from_ns, to_ns;
    int64_t length_ns;      /* how long the step takes; 0 = its beginning is not known */
    uint32_t first_op, ops; /* in launch order, so not a slice of timeline.ops: see steps.op_step */
    uint8_t used;           /* 1: the step counts; 0: warm-up, evaluation, outlier or cut off */
    uint8_t slow;  /* 1: it takes much longer for the same work; used only if such steps recur */
    uint8_t other; /* 1: it is longer and does other work than most steps: not used */
    uint8_t estimated; /* 1: where it begins on the GPU is estimated */
};

struct steps {
    enum step_source source;
    const char *source_text; /* for people: "NVTX range 'step'", "detected: 41 repeats of ..." */
    const char *doubt;       /* for people: why other steps may be the real ones;
                                NULL = no sign of that */
    struct step *at;
    size_t count, used;
    uint32_t *op_step;  /* per op: index of its step, TL_NONE outside all steps */
    int64_t *launch_ns; /* per op: when the host launched it; an estimate if the
                           launch was not recorded */
    int64_t median_ns, p95_ns, min_ns, max_ns, mean_ns; /* of the lengths of the used steps */
    int64_t pace_ns;       /* mean length of the used and the slow steps: the pace of the loop */
    size_t slow, profiled; /* how many are slow; how many are left out because the program's
                              own profiler ran in them */
    int64_t profiled_ns;   /* sum of that profiler's time in those steps */
    int64_t short_ns, long_ns; /* mean length of the steps that are not slow, and of the slow
                                  ones */
    bool recurs;    /* slow steps recur: they are used, and the reports show the mean step */
    bool alternate; /* two kinds of steps take turns: the reports show the mean step */
    int64_t drift_from_ns, drift_to_ns; /* lengths of the first and the last steps if the lengths
                                           drift in one direction; else 0 */
    double cv;         /* standard deviation / mean, over the used steps that are not slow */
    double confidence; /* 0..1; 1 for marked steps */
    int64_t detected_median_ns; /* median step found by repetition beside the given marks;
                                   0 = no repetition found */
    size_t detected_count;
    bool on_gpu;          /* lengths are measured on the GPU: from the end of a step's work
                             to the end of the next's */
    bool layers;          /* they may be the layers of one pass, and begin anywhere in a layer */
    bool batches;         /* the program marked no step: a step lasts from one batch to the next */
    uint32_t main_thread; /* index: the thread of the marks, else the thread that launches most */
    uint32_t process, device; /* indices: the process whose steps these are, and the
                                 device whose time is divided */
};

/* A window of the run in which gpuprof recorded everything. */
struct recorded_window {
    int64_t start_ns, end_ns;
    int64_t known_ns;   /* from here on the recording shows when the GPU is idle */
    bool leads_in;      /* the program was already running when the window began */
    bool at_step;       /* the window ends where a step begins */
    int64_t first_step; /* as in row_recorded */
    int64_t number;     /* of the first step that begins in it; 0: not known */
};

#define GAP_LISTED_NS 2000

struct gap {
    int64_t start_ns, end_ns;
    uint32_t step;        /* index, or TL_NONE outside all steps */
    uint32_t before_op;   /* index of the op that ends the gap, or TL_NONE */
    uint32_t api;         /* index of the call that most of the gap is charged to, or TL_NONE */
    uint32_t range;       /* innermost NVTX range of the launching thread around the
                       longest piece, or TL_NONE */
    uint32_t first_share; /* index in gap_shares of its first part; one entry per part, in order
                             of enum part: use gap_ns */
    uint16_t parts;       /* bit 1 << part is set if some of the gap is charged to that part */
    uint8_t part;         /* enum part with the largest share */
};

/* Totals over the used steps. */

struct kernel_total { /* one per distinct (name, family): a template may yield kernels of several */
    uint32_t name;    /* string id */
    struct kernel_class class;
    int64_t count, total_ns, min_ns, max_ns;
    uint32_t longest; /* op index */
    int64_t sized_ns; /* time of those whose arithmetic is known (struct hardware_facts) */
    double peak_ns;   /* what that arithmetic takes at the GPU's peak */
};

struct copy_total { /* one per (kind, src, dst) */
    uint8_t kind, src_kind, dst_kind;
    int64_t count, bytes, total_ns;
    int64_t exposed_ns;      /* while no compute kernel runs */
    int64_t host_blocked_ns; /* time that the host spent in the copy calls */
    uint32_t longest;
};

struct api_total {
    uint32_t name;
    uint8_t kind;
    int64_t count, total_ns, max_ns;
    uint32_t longest; /* index in timeline.apis */
};

struct stream_total { /* operations of a stream run one after another, so its times sum up */
    int64_t count, total_ns;
    int64_t comm_ns, copy_ns; /* of it: collectives; copies and memsets */
};

struct totals {
    struct stream_total *streams; /* by index in timeline.streams */
    struct kernel_total *kernels;
    size_t kernel_count; /* sorted by total_ns, falling */
    struct copy_total *copies;
    size_t copy_count;
    struct api_total *apis;
    size_t api_count;
    int64_t family_ns[FAMILY_COUNT]; /* kernel time */
    int64_t family_count[FAMILY_COUNT];
    int64_t kernel_ns, kernel_count_all;
    int64_t tensor_ns, fp32_matrix_ns; /* matrix kernels on tensor cores; FP32 matrix
                                          kernels without tensor cores */
    int64_t matrix_ns, matrix_unknown_ns;
    int64_t called_ns;     /* time of kernels whose launching call was recorded */
    int64_t launches;      /* API calls that put work on the GPU */
    int64_t short_kernels; /* under 10 us */
};

/* How near the GPU comes to its peak, over the used steps. Products of matrices, convolutions and
 * attention are nearly all arithmetic of a training step. Their sizes come from library calls, or from
 * PyTorch's operators with recorded shapes; work whose sizes are not known is left out, so the shares
 * are the least that they can be. Work that runs twice (recomputation) counts twice. */
struct hardware_facts {
    const struct peak *peak;  /* NULL: the device is not in the table, or no size is known */
    double flops[PEAK_TYPES]; /* additions and multiplications, by the type that is computed in */
    double peak_ns;           /* what they take at the peak of each type */
    int64_t matrix_ns;        /* time of those kernels */
    int64_t known_ns;         /* of it: with known sizes */
};

/* The host. */

struct host_facts {
    int usable_cores; /* the smaller of CPU affinity and cgroup quota (rounded up); 0 = not known */
    /* Those that the process began with, if it confined itself to fewer and no quota is smaller; else 0. */
    int given_cores;
    int loader_workers;   /* workers seen making batches; -1 = not known, 0 = the
                             training thread makes them */
    bool loader_parallel; /* the loader uses workers, even if their number is not known */
    int64_t fetch_cpu_ns; /* CPU time to make one batch, median; 0 = not known */
    int64_t fetch_ns;     /* wall time to make one batch, median */
    double fetches;       /* batches that the training thread itself makes, per used step */
    /* Per step, summed over the training thread and the other threads that launch (PyTorch's
     * backward thread), which take turns. -1 = unknown. */
    int64_t starved_ns; /* ready to run, but without a core */
    int64_t asleep_ns;  /* neither waiting for a core nor computing */
    int64_t wait_ns;    /* time in a step in which the training thread waits for a batch or makes
                           one: of the median step, or of the mean step if step_ns is the mean */
};

/* Self-checks. */
struct health_facts {
    int64_t dropped;        /* records lost, for all causes together */
    double unexplained_pct; /* share of the step's time in PART_UNEXPLAINED */
    double overhead_pct;    /* of the recorded time: what the profiler costs the
                                  program's threads; -1 = unknown */
    double cupti_pct;       /* the part of overhead_pct that CUPTI's records cost, computed
                                  from costs measured elsewhere (limits.def) */
    size_t warnings;        /* rows of the table health with severity >= 1 */
    double recorded_pct; /* of the process' run time; 100 unless the run was recorded in windows */
    int64_t run_steps;   /* steps of the whole run, including those between
                                  windows; 0 = not counted */
    int64_t run_mean_ns; /* mean length of the run_steps */
    const char *recorded_text;  /* one sentence on recorded_pct and run_steps; NULL: the
                                  whole run was recorded */
    const char *recorded_short; /* shorter, where gpuprof chose the windows; otherwise NULL */
    double unseen_pct; /* of the run's time: what long steps that were not recorded took more
                                   than others, if that is worth telling; unseen_text says it */
    const char *unseen_text;
    size_t launches, launches_lost;       /* launches in used steps; launches among them
                                       whose GPU record is missing */
    size_t launches_made, launches_unrun; /* in recordings of other profilers: launches in the
                                             whole recording; those behind the last whose GPU
                                             record is there */
    int64_t graph_holes_ns;  /* idle time inside CUDA graphs over the used steps: records of
                                their kernels are missing */
    size_t python_functions; /* calls of Python functions that PyTorch's profiler
                                recorded (with_stack=True) */
    size_t calls_to_launch, calls_failed; /* launching calls in the recording; those of them
                                             that returned an error */
    uint16_t first_error;                 /* error code of the first such call */
};

struct gpu_facts { /* over the window from first to last GPU activity of the chosen device */
    double busy_pct, compute_pct, comm_pct, comm_exposed_pct, copy_pct, copy_exposed_pct;
    int64_t window_ns;
};

struct facts {
    const struct timeline *tl;
    struct arena arena; /* owns all memory below, except gaps and gap_shares */
    struct steps steps;
    struct recorded_window
        *windows; /* windows of the steps' process, by time; none: the whole run was recorded */
    size_t window_count;
    struct gap *gaps;
    size_t gap_count;         /* gaps of GAP_LISTED_NS and longer, sorted by start */
    int64_t *gap_shares;      /* nanoseconds; facts_free frees gaps and gap_shares */
    int64_t gaps_unlisted_ns; /* idle time in shorter gaps: counted in
                                 step_parts, not listed in gaps */
    bool on_cpu;              /* no GPU worked in this run, and no sign says that one should have */
    bool on_device;           /* it trains on a device whose work was not recorded */
    int64_t step_ns; /* length of the step that all numbers refer to: the median step, or the
                        mean if long steps recur */
    int64_t used_ns; /* time of all used steps together: sums over used steps refer to this time */
    int64_t breakdown_ns[PART_COUNT];  /* the parts of that step; they sum to step_ns exactly */
    int64_t (*step_parts)[PART_COUNT]; /* for each step; the parts sum to that step's time */
    struct gpu_facts gpu;
    struct totals totals;
    struct hardware_facts hardware;
    struct host_facts host;
    struct ranks ranks;
    struct cpu_ranks cpu_ranks;
    struct health_facts health;
    const char *long_text;  /* for people: what the long steps have that the others lack; NULL:
                              no long steps to explain */
    int long_part;          /* enum part of which the long steps have more */
    const char *long_in;    /* the NVTX range that contains most of it; NULL: none */
    int64_t long_extra_ns;  /* how much more of it a long step has than a short one */
    const char *other_text; /* for people: long steps with other work, which are left out;
                               NULL: none worth telling */
    size_t other_steps;
    int64_t other_ns; /* mean length of the other_steps */
    int64_t run_ns;   /* mean of all steps, the other_steps included; without those: step_ns */
    const char *contradiction;             /* how these numbers contradict each other, as one
                                  clause; NULL: they agree */
    const struct row_device *device;       /* NULL = not known */
    struct line_facts *lines;              /* see lines.h; NULL = not measured */
    const struct allocations *allocations; /* see allocations.h; NULL = not recorded */
};

void facts_free(struct facts *f);

/* Time of the gap that is charged to `part`. Over all parts it sums to the gap's length. */
static inline int64_t gap_ns(const struct facts *f, const struct gap *g, enum part part)
{
    unsigned bit = 1u << part;
    return g->parts & bit
               ? f->gap_shares[g->first_share + (size_t)__builtin_popcount(g->parts & (bit - 1))]
               : 0;
}

/* Index of the step whose host time contains `ns`, used or not; else TL_NONE. */
uint32_t facts_step_at(const struct facts *f, int64_t ns);
/* The step's number in the run, from 1. It differs from index + 1 if parts of the
 * run were not recorded. */
int64_t facts_step_number(const struct facts *f, size_t step);

/* True if step_ns is the mean of all used steps; otherwise it is the median step's length. */
static inline bool analysis_by_mean(const struct facts *f)
{
    return f->steps.recurs;
}

/* True if no step repeats: the numbers describe the whole recorded window. */
static inline bool analysis_of_window(const struct facts *f)
{
    return f->steps.source == STEPS_NONE && f->steps.count > 0;
}

/* "median" or "average": the kind of step that step_ns describes. */
static inline const char *analysis_step_kind(const struct facts *f)
{
    return analysis_by_mean(f) ? "average" : "median";
}

/* Converts a sum over the used steps into the share of one step, on the scale of step_ns. */
static inline int64_t facts_per_step(const struct facts *f, int64_t total_ns)
{
    if (f->used_ns > 0)
        return (int64_t)((double)total_ns / (double)f->used_ns * (double)f->step_ns);
    return total_ns / (int64_t)(f->steps.used ? f->steps.used : 1);
}

/* Number of used steps, plus the slow ones if these are not among them. */
static inline size_t steps_like(const struct steps *s)
{
    return s->used + (s->recurs ? 0 : s->slow);
}

/* Title of a part in words that fit what was recorded: without a backward pass, for example,
 * "forward" stands for all work done with a batch. Static text. */
const char *analysis_part_title(const struct facts *f, int part);
/* The training thread; an empty thread (no calls, no ranges) if the recording names no thread. */
static inline const struct thread *facts_main_thread(const struct facts *f)
{
    static const struct thread none;
    return f->tl->thread_count ? &f->tl->threads[f->steps.main_thread] : &none;
}

/* True if all numbers that name no rank are of this one. */
static inline bool facts_of_rank(const struct facts *f, const struct rank_facts *r)
{
    return r->process == f->steps.process && r->device == f->steps.device;
}

/* True if the program ran on the virtual GPU: every output must say so. */
static inline bool facts_virtual(const struct facts *f)
{
    return f->device && f->device->is_virtual == 1;
}

#endif
