/* A change of the steps, as a rule describes it. */
#ifndef GPUPROF_WHATIF_EDITS_EDIT_H
#define GPUPROF_WHATIF_EDITS_EDIT_H

#include "analyzer/facts/facts.h"

/* EDIT_WORKERS: what loading in processes of their own costs beside making the batches. Of each
 * batch, at best and at worst; all 0 where workers are threads. */
struct hand_over {
    double get_low, get_high;   /* the training thread takes it out of the worker's memory */
    double send_low, send_high; /* the worker puts it there */
    double train_ns;            /* CPU time per step of all threads of the training process, batches
                                   aside; 0 = not known */
};

enum edit_kind { /* the change that a rule recommends */
                 EDIT_NONE,
                 EDIT_WORKERS,   /* make batches in `workers` workers */
                 EDIT_PIN,       /* pageable copies become pinned ones on a stream of their own */
                 EDIT_OVERLAP,   /* pinned copies move to a stream of their own */
                 EDIT_UNSYNC,    /* no waiting for all that is queued */
                 EDIT_LAYOUT,    /* no layout conversions */
                 EDIT_PRECISION, /* FP32 matrix kernels on tensor cores, the rest on half the bytes
                                  */
                 EDIT_FUSE,      /* the optimizer, or `ops`, in one kernel, of good .. bad times the
                                    bytes */
                 EDIT_GRAPH,     /* launches replaced by a graph's */
                 EDIT_ALGORITHM, /* other convolution algorithms */
                 EDIT_KEEP_GRADIENTS, /* no zeroing */
                 EDIT_REMOVE,         /* no `ops`, no `calls` */
                 EDIT_SCALE,          /* `ops` take good .. bad times as long */
                 EDIT_JOIN,           /* neighbours among `ops` become one kernel */
                 EDIT_BATCH,          /* `workers` times the batch */
                 EDIT_ACCUMULATE,     /* update and communicate once in `workers` steps */
                 EDIT_HIDE_COMM,      /* collectives beside backward, in buckets */
                 EDIT_BUCKET,         /* a few large collectives instead of many small ones */
                 EDIT_PUNCTUAL,       /* the late rank arrives with the last of the others */
                 EDIT_UNBLOCK,        /* launches return at once; no `ops`, no `calls` */
                 EDIT_SKIP,           /* the training thread takes no time for `ranges` */
                 EDIT_MORE_WORKERS,   /* batches that others make, unrecorded, come faster */
                 EDIT_READ_FREE, /* making a batch takes `good` of its time: no waiting for files */
                 EDIT_KINDS
};
const char *edit_name(enum edit_kind kind); /* "pin": for files, it never changes */

struct edit {
    enum edit_kind kind;
    int workers;                                        /* or times, or every how many */
    bool (*ops)(const struct facts *f, uint32_t op);    /* GPU work that it is about */
    bool (*calls)(const struct facts *f, uint32_t api); /* host calls, with their waits */
    const bool *op_marks, *call_marks; /* the same as arrays by index, instead: of the arena;
                                        * EDIT_GRAPH: what may stay outside; NULL: nothing */
    const bool *range_marks;           /* EDIT_SKIP: by range */
    int64_t pause_ns;                  /* EDIT_SKIP: only the host's pauses that are this long */
    const bool *keep_marks;            /* EDIT_UNSYNC: calls whose waits are not the program's */
    const bool *claimed_marks;         /* EDIT_UNSYNC: calls that another change removes */
    const uint32_t *op_calls; /* EDIT_LAYOUT, EDIT_PRECISION: query_op_calls(); EDIT_JOIN: the same
                               * where a compiler may change the layout; NULL: nothing to change */
    const bool *gone_marks;   /* EDIT_FUSE, EDIT_SCALE: of op_marks, work that others do on the way;
                               * EDIT_JOIN: work that a compiler may do on the way */
    bool within;              /* EDIT_FUSE: `ops` are steps of operators that stay */
    bool pauses;              /* EDIT_REMOVE: nor what the host does between two such calls */
    bool tf32;                /* EDIT_PRECISION: FP32 by tensor cores in TF32, not 16 bits */
    bool layout;      /* EDIT_PRECISION: in channels-last as well, so nothing converts layouts */
    double good, bad; /* EDIT_SCALE: the range of the factor; EDIT_FUSE: 0, 0 is not known;
                       * EDIT_LAYOUT: what may be left of a convolution, 0: as chosen */
    bool in_stream;   /* EDIT_OVERLAP: only the host's wait goes */
    double cores;     /* EDIT_WORKERS: that other programs left; 0: all that may be used */
    struct hand_over hand_over; /* EDIT_WORKERS */
    bool best_case; /* nobody knows how much of the change can be had: replayed as a bound */
};

#endif
