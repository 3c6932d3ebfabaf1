/* A change of the recorded steps, as a value: a rule fills it, the engine replays it.
 *
 * What a change does, and all that others have to know of it, stands in its kind: one constant per
 * file edit_NAME.c. Nobody else asks which kind an edit is of; whoever treats some edits
 * differently asks for a property of the kind. kinds.h, which CMake writes from the folder,
 * declares them all. */
#ifndef GPUPROF_WHATIF_EDITS_EDIT_H
#define GPUPROF_WHATIF_EDITS_EDIT_H

#include "analyzer/facts/facts.h"

struct draw;
struct edit;
struct graph;
struct plan;

/* What limits how much such a change saves on a real card, and so by what its predictions miss. */
enum ledger_kind { LEDGER_STRUCTURAL, LEDGER_KERNEL, LEDGER_HOST, LEDGER_ONE_STEP, LEDGER_KINDS };

struct edit_kind {
    const char *name; /* "pin": stands in files of past trials (past.h), so it never changes */
    /* Marks tasks and sets durations. Draws what nobody knows from a range, which stands in
     * limits.def. */
    void (*apply)(const struct edit *x, const struct graph *g, struct plan *p,
                  const struct draw *d);

    /* What the engine has to know. */
    bool certain;     /* draws nothing: one replay is enough */
    bool of_host;     /* leaves the work of every stream as it is */
    bool keeps_input; /* changes launches alone, so making batches takes what it took: a step keeps
                         the time in which the GPU waits for input */
    /* What a step takes at least with this change, whatever others are made: ns as reported.
     * NULL: nothing is known of it beside the replay. */
    int64_t (*least_ns)(const struct facts *f);

    /* What predictions have to know. */
    bool needs_events;       /* saves by moving work beside other work: where nobody recorded which
                                stream waits for which, its saving stays a bound */
    bool within_measured;    /* saves no more than the finding measured */
    bool bounded_by_cause;   /* may always save what the finding measured; what a higher bound comes
                                from is part of its evidence */
    bool measured_from_peer; /* the finding measured how long others waited: where the host's waits
                                were not recorded, that much may go though the replay says less */
    enum ledger_kind change; /* of whole steps; of one step alone: LEDGER_ONE_STEP */
    unsigned sure_parts;     /* bits of enum part: only so much idle time surely goes; the replay
                                infers the rest. 0: the replay's lower end holds */
    bool wait_by_wait;       /* removes waits, and taking one of them alone may save nothing: the
                                best single one is looked for */
    bool owns_calls;         /* a wait in a call that it removes is its own, and no wait_by_wait
                                change's */
    bool comes_last;         /* of several changes it is made last: the others would undo it */
    /* A part of the change that is less work for the user, as an edit of its own; false: it has
     * none on this device. NULL: it has none. */
    bool (*lesser)(const struct edit *x, const struct facts *f, struct edit *part);
};

#include "analyzer/whatif/edits/kinds.h"

/* What an edit is about. A kind reads what its file says that it reads. Arrays are by index and
 * belong to the rule's arena; where a function has an array beside it, the array comes first. */
struct aim {
    bool (*ops)(const struct facts *f, uint32_t op); /* GPU work; or: */
    const bool *op_marks;
    bool (*calls)(const struct facts *f, uint32_t api); /* host calls, with their waits; or: */
    const bool *call_marks;
    const bool *gone_marks;   /* of the GPU work: what others do on the way, so that it vanishes */
    const uint32_t *op_calls; /* by GPU work: the library call behind it, query_op_calls() */
};

/* What loading in processes of their own costs beside making the batches, in ns. Of each batch, at
 * best and at worst; all 0 where workers are threads. */
struct hand_over {
    double get_low, get_high;   /* the training thread takes it out of the worker's memory */
    double send_low, send_high; /* the worker puts it there */
    double train_ns;            /* CPU time per step of all threads of the training process, batches
                                   aside; 0 = not known */
};

struct edit {
    const struct edit_kind *kind; /* NULL: there is nothing to replay */
    struct aim at;
    const bool *spared; /* by call, wait_by_wait: waits that stay; NULL: none */
    bool best_case;     /* nobody knows how much of the change can be had: replayed as a bound */
    union {             /* what else a kind has to know: the member has the kind's name */
        struct {
            int count;
            double cores; /* that other programs left; 0: all that may be used */
            struct hand_over hand_over;
        } workers;
        struct {
            int times;
        } batch;
        struct {
            int every; /* so many steps one updates */
        } accumulate;
        struct {
            double good, bad; /* of its time, GPU work takes between these shares */
        } scale;
        struct {
            double good,
                bad;     /* of the bytes, the one kernel moves between these; 0, 0: not known */
            bool within; /* what it fuses are steps of operators that stay */
        } fuse;
        struct {
            double best; /* of its time, a convolution may take so much; 0: as chosen */
        } layout;
        struct {
            double left; /* making a batch takes this share of its time */
        } read_free;
        struct {
            bool pauses; /* nor what the host does between two such calls */
        } remove;
        struct {
            bool tf32;   /* FP32 by tensor cores in TF32, not 16 bits */
            bool layout; /* in channels-last as well, so nothing converts layouts */
        } precision;
        struct {
            bool in_stream; /* only the host's wait goes */
        } overlap;
        struct {
            const bool *range_marks; /* by range */
            int64_t pause_ns;        /* only the host's pauses that are this long */
        } skip;
    };
};

/* "pin"; "none" where there is nothing to replay. */
static inline const char *edit_name(const struct edit *x)
{
    return x->kind ? x->kind->name : "none";
}

#endif
