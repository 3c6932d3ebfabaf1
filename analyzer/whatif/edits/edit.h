/* An edit: a change of the recorded steps, as a value. A rule fills it, the engine replays it.
 *
 * An edit's kind says what it does and all its properties: one constant for each file edit_NAME.c.
 * No other code compares kinds; code that treats some edits differently reads a property of the
 * kind. kinds.h, which CMake writes from the folder, declares all kinds. */
#ifndef GPUPROF_WHATIF_EDITS_EDIT_H
#define GPUPROF_WHATIF_EDITS_EDIT_H

#include "analyzer/facts/facts.h"

struct draw;
struct edit;
struct graph;
struct plan;

/* The group of changes by which predictions are compared with real cards (docs/ledger.tsv). Each
 * group has its own typical error. */
enum ledger_kind { LEDGER_STRUCTURAL, LEDGER_KERNEL, LEDGER_HOST, LEDGER_ONE_STEP, LEDGER_KINDS };

struct edit_kind {
    const char *name; /* e.g. "pin". Files of past trials contain it (past.h), so it never
                         changes. */
    /* Marks tasks and sets durations in the plan. Parameters that cannot be known are drawn from
     * the ranges in limits.def. */
    void (*apply)(const struct edit *x, const struct graph *g, struct plan *p,
                  const struct draw *d);
    /* True for the tasks that apply() looks at, whatever it draws: edit_next() gives it these. NULL: it
     * looks at all. */
    bool (*touches)(const struct edit *x, const struct graph *g, uint32_t task);

    /* ---- properties that the engine reads ---- */
    bool certain; /* draws no parameters: one replay is enough */
    bool of_host; /* leaves the GPU work of every stream unchanged */
    /* Changes only launches, so making a batch takes as long as before: a step keeps the time in
     * which the GPU waits for input. */
    bool keeps_input;
    /* Returns the least that a step takes with this change, whatever other changes are made, in ns
     * per reported step. NULL: only the replay tells. */
    int64_t (*least_ns)(const struct facts *f);

    /* ---- properties that predictions read ---- */
    /* Saves by moving work beside other work. If the recording does not show which stream waits for
     * which event, its saving stays an upper bound. */
    bool needs_events;
    bool within_measured; /* saves no more than the finding measured */
    /* May always save what the finding measured, even if the replay says less. The finding's own
     * evidence explains a higher bound. */
    bool bounded_by_cause;
    /* The finding measured how long other ranks waited. If the host's waits were not recorded, all
     * of that may go although the replay says less. */
    bool measured_from_peer;
    /* If the recording has only one step, LEDGER_ONE_STEP counts instead (past_kind). */
    enum ledger_kind change;
    /* Bits of enum part: the low end is at most the idle time of these parts, because only that is
     * sure to go; the replay infers the rest. 0: the replay's low end holds. */
    unsigned sure_parts;
    /* Removes waits. Removing one of them alone may save nothing, so predictions look for the best
     * single wait. */
    bool wait_by_wait;
    /* A wait inside a call that this change removes belongs to this change and not to a
     * wait_by_wait change. */
    bool owns_calls;
    /* Of several changes it is made last, because later ones would undo it; and it holds no call
     * that stops a capture (edit_takes_stops). */
    bool comes_last;
    /* Fills *part with a part of the change that is less work for the user. Returns false if this
     * device has no such part. NULL: the kind has no such part. */

    bool (*lesser)(const struct edit *x, const struct facts *f, struct edit *part);
};

#include "analyzer/whatif/edits/kinds.h"

/* What an edit applies to. Each kind reads only the members that its file names. Arrays are by
 * index and belong to the rule's arena. If both a function and its array are given, the array
 * counts. */
struct aim {
    bool (*ops)(const struct facts *f, uint32_t op); /* GPU work; or as an array: */
    const bool *op_marks;
    bool (*calls)(const struct facts *f, uint32_t api); /* host calls with their waits; or as an
                                                           array: */
    const bool *call_marks;
    /* By GPU work: it disappears because another kernel does it on the way. */
    const bool *gone_marks;
    const uint32_t *op_calls; /* by GPU work: the library call that launched it, from
                                 query_op_calls() */
};

/* What it costs to load a batch in another process, in ns per batch, at best (low) and at worst
 * (high). All 0 if workers are threads. */
struct hand_over {
    double get_low, get_high;   /* the training thread copies the batch out of shared memory */
    double send_low, send_high; /* the worker puts it there */
    /* CPU time per step of all threads of the training process, in ns, without making batches; 0 =
     * not known. */
    double train_ns;
};

struct edit {
    const struct edit_kind *kind; /* NULL: nothing to replay */
    struct aim at;
    /* The tasks that the kind touches, in order, from edit_find(). NULL: not looked up yet. */
    const uint32_t *tasks;
    size_t task_count;
    const bool *spared; /* by call, for wait_by_wait: waits to keep; NULL: none */
    /* It is not known how much of the change is possible: the replay makes all of it and gives an
     * upper bound. */
    bool best_case;
    union { /* parameters of one kind; each member has the kind's name */
        struct {
            int count;
            double cores; /* cores that other programs leave; 0: all usable cores */
            struct hand_over hand_over;
        } workers;
        struct {
            int times;
            bool same_update; /* of several batches before one update, so many at a time */
        } batch;
        struct {
            double good, bad; /* the GPU work takes between these shares of its time */
        } scale;
        struct {
            /* The fused kernel moves between these shares of the bytes; 0, 0: not known. */
            double good, bad;
            bool within; /* the fused work consists of steps inside operators that stay */
            bool loop;   /* a loop of the program launches it, which goes with its pauses */
        } fuse;
        struct {
            /* A convolution may take this share of its time with a better algorithm; 0: the library
             * chose the best already. */
            double best;
        } layout;
        struct {
            double left; /* making a batch takes this share of its time */
        } read_free;
        struct {
            bool pauses; /* also remove the host's time between two removed calls */
        } remove;
        struct {
            bool tf32;   /* FP32 on tensor cores in TF32, not 16-bit numbers */
            bool layout; /* also in channels-last, so no kernel converts layouts */
        } precision;
        struct {
            bool in_stream; /* copies stay in their stream; only the host's wait goes */
        } overlap;
        struct {
            const bool *range_marks; /* by range */
            int64_t pause_ns;        /* only host pauses at least this long */
        } skip;
    };
};

/* Returns true if the change takes calls out of the steps that stop a capture: waits of the host,
 * allocations. */
bool edit_takes_stops(const struct edit *x, const struct facts *f);

/* Returns the kind's name, e.g. "pin", or "none" if there is nothing to replay. */
static inline const char *edit_name(const struct edit *x)
{
    return x->kind ? x->kind->name : "none";
}

#endif
