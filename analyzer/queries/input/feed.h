/* How batches reach the thread that trains, of the loader that it waits for most, and what a step
 * would take with another number of workers: told by the records and facts of a framework's hook.
 *
 * All times are means over the steady steps, the long ones included: workers deliver in bursts, and
 * a loop over a short set starts them anew each time, so that the median step says little.
 * Cost: one pass over loader rows, one over host samples. */
#ifndef GPUPROF_QUERIES_INPUT_FEED_H
#define GPUPROF_QUERIES_INPUT_FEED_H

#include "analyzer/queries/query.h"

struct feed {
    int loader;              /* its number; 0 = there is but one, or none was told */
    size_t loaders;          /* that were waited for */
    uint32_t thread;         /* that waits: the training thread, or one that reads ahead for it */
    bool ahead;              /* the latter */
    double steps;            /* that the means are over */
    double step_ns;          /* a step: its mean */
    double wait_ns;          /* of it, waiting for data (or making it): start-up and end included */
    double rest_ns;          /* the rest ... */
    double line_ns;          /* ... of which the training thread is ready, without a core */
    int have;                /* workers; -1 = not known */
    bool persistent;         /* they outlive a loop */
    bool anew;               /* the loader is made anew for each loop */
    bool foreign;            /* a library's own class, which no setting reaches */
    bool iterable;           /* an IterableDataset ... */
    bool shards;             /* ... whose workers deliver a part each */
    double batches;          /* in a step; 0 = none was seen being made */
    double fetch_ns, cpu_ns; /* to make one: wall time, and CPU time (-1 = not known) */
    double sleep_low, sleep_hi; /* of the wall time, neither computing nor in line for a core */
    bool sleep_known;           /* these lie close together: the line was sampled */
    double queue_ns;            /* of the wall time, in line for a core ... */
    bool others;                /* ... that another program has: it stays so with fewer workers */
    double collate_ns;          /* of the wall time: putting samples together; -1 = not known */
    double hand_low, hand_hi;   /* the way from a worker to the loop, for one batch: in the loop */
    double send_low, send_hi;   /* ... and in the worker */
    bool hand_seen;             /* hand_* come from this recording */
    double loops;               /* begun in these steps */
    double startup_ns;          /* of workers, for each loop; -1 = not known */
    double train_ns;            /* CPU time of the training process, without making batches ... */
    bool train_known;           /* ... as sampled; else what is left of the step */
    double cores;               /* that the program may use, and other programs leave it; 0 = not
                                   known */
};

/* False: no step, or no record of a loader. */
bool query_feed(const struct facts *facts, struct arena *arena, struct feed *f);

/* What a step takes with n workers that outlive a loop (or, where the loader is made anew for each
 * loop, that do not). */
struct feed_step {
    double low_ns, mid_ns, high_ns;
};
struct feed_step query_feed_step(const struct feed *f, int n);
/* The most workers for which cores are left. */
int query_feed_most(const struct feed *f);
/* The number of workers that is worth most for certain; f->have where none is worth a change. */
int query_feed_best(const struct feed *f);

/* Fact torch.loader.NUMBER.WHAT of the loader, else torch.loader.WHAT; what NULL: the settings. */
const char *query_feed_fact(const struct facts *facts, struct arena *arena, const struct feed *f,
                            const char *what);
/* A saving of `ns` in a mean step, as the same share of the median step, which all findings are in.
 */
int64_t query_feed_share(const struct facts *facts, const struct feed *f, double ns);
/* Of a step's wait for data, what starting workers anew for each loop takes: more workers, or cores
 * for them, do not end that. */
int64_t query_feed_starting(const struct facts *facts, struct arena *arena);
#endif
