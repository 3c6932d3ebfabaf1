/* How batches reach the training thread, for the loader that it waits for most, and how long a step
 * would take with another number of workers. Based on records and facts from a framework's hook.
 *
 * All times are means over the used steps, long ones included: workers deliver in bursts, and a
 * loop over a short data set restarts them each time, so the median step says little. Cost: one
 * pass over loader rows, one over host samples. */
#ifndef GPUPROF_QUERIES_INPUT_FEED_H
#define GPUPROF_QUERIES_INPUT_FEED_H

#include "analyzer/queries/query.h"

struct feed {
    int loader;      /* its number; 0 = there is only one, or numbers were not recorded */
    size_t loaders;  /* number of loaders that were waited for */
    uint32_t thread; /* the waiting thread: the training thread, or one that reads ahead for it */
    bool ahead;      /* it is a thread that reads ahead */
    double steps;    /* number of steps in the means */
    double step_ns;  /* mean step */
    double wait_ns;  /* part of it spent waiting for data (or making it), start
                        and end of loops included */
    double rest_ns;  /* the rest of the step ... */
    double line_ns;  /* ... and the part of the rest in which the training thread
                        is ready but has no core */
    int have;        /* number of workers; 0 = none, -1 = not known */
    bool persistent; /* the workers outlive a loop */
    bool anew;       /* the program makes a new loader for each loop */
    bool foreign;    /* a library's own loader class, which no setting of PyTorch reaches */
    bool iterable;   /* its data set is an IterableDataset ... */
    bool shards;     /* ... of which each worker delivers a part */
    double batches;  /* batches per step; 0 = none was recorded */
    double fetch_ns, cpu_ns;    /* to make one batch: wall time, and CPU time (-1 = not known);
                                   of an IterableDataset one that is not a loop's first */
    double sleep_low, sleep_hi; /* part of the wall time that is neither computing nor
                                   waiting for a core: bounds */
    bool sleep_known; /* the bounds are close: waiting for cores was sampled, or hardly matters */
    double queue_ns;  /* part of the wall time spent waiting for a core ... */
    bool others; /* ... because another program uses it, so fewer workers do not shorten that */
    double collate_ns;        /* part of the wall time for collating samples; -1 = not known */
    double hand_low, hand_hi; /* hand-over of one batch from a worker to the loop:
                                 cost in the loop, bounds */
    double send_low, send_hi; /* ... and cost in the worker */
    bool hand_seen;           /* hand_* were observed in this recording */
    double loops;             /* loops begun in these steps */
    double startup_ns;        /* start of the workers, per loop; -1 = not known */
    double opening_ns;        /* of an IterableDataset: by how much the first batch of a loop takes
                                 longer to make than later ones. 0: not, or not known */
    double train_ns;  /* CPU time of the training process per step, without making batches ... */
    bool train_known; /* ... is sampled; otherwise it is the rest of the step */
    double cores; /* cores that the program may use and other programs leave to it; 0 = not known */
};

/* Fills *f. False: no steps, no waits for a loader recorded, or out of memory. */
bool query_feed(const struct facts *facts, struct arena *arena, struct feed *f);

/* How long a step takes with n workers that outlive a loop (if the loader is made anew for each
 * loop: with n workers that do not). */
struct feed_step {
    double low_ns, mid_ns, high_ns;
};
struct feed_step query_feed_step(const struct feed *f, int n);
/* The most workers for which there are enough cores; 0 = not known. */
int query_feed_most(const struct feed *f);
/* The number of workers that saves most even in the worst case; f->have if
 * no change is worth it. */
int query_feed_best(const struct feed *f);

/* The fact torch.loader.NUMBER.WHAT of this loader, otherwise torch.loader.WHAT. what NULL: the
 * loader's settings. NULL: not recorded. */
const char *query_feed_fact(const struct facts *facts, struct arena *arena, const struct feed *f,
                            const char *what);
/* Converts a saving of `ns` in the mean step to the same share of step_ns, which
 * all findings refer to. */
int64_t query_feed_share(const struct facts *facts, const struct feed *f, double ns);
/* The part of a step's wait for data that restarting workers for each loop takes. More workers, or
 * more cores for them, do not remove it. */
int64_t query_feed_starting(const struct facts *facts, struct arena *arena);
/* The part that what an IterableDataset does before the first batch of each loop takes. */
int64_t query_feed_opening(const struct facts *facts, struct arena *arena);
#endif
