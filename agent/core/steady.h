/* When enough of a loop is recorded, and when it is worth recording again: the plan
 * SPOOL_WINDOWS_STEADY (window.h). It knows only when each step began, and reads no clock.
 *
 * A loop is steady while the medians of blocks of STEADY_BLOCK steps stay within STEADY_PCT of each
 * other. The first window lasts until the plan's number of steady steps and its time are over;
 * windows of a few steps follow, further and further apart. Two things open one between these: the
 * pace changes lastingly, or steps that take much longer than the others, and a part of the time
 * that matters, recur and have not been recorded. Then the loop is recorded until enough is known
 * again.
 *
 * Recording makes steps longer. So a pace is compared only with paces that were measured in the
 * same way, recorded or not. */
#ifndef GPUPROF_AGENT_CORE_STEADY_H
#define GPUPROF_AGENT_CORE_STEADY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    STEADY_BLOCK = 16, /* steps */
    /* By hand: a quarter is more than what the hosts measured so far wander by from one block to
     * the next, and less than a change of the batch's size makes. */
    STEADY_PCT = 25,
    STEADY_OFF = 2,    /* so many blocks of another pace in turn are a change that lasts */
    STEADY_SETTLE = 2, /* blocks that do not count when recording has stopped: CUPTI is still on */
    /* Steps from the decision to a window's first one, while CUPTI is turned on: at least, at most. */
    STEADY_AHEAD = 4,
    STEADY_SOON = 1000,
    STEADY_LATEST = 256, /* a loop that is not steady by this step counts as steady */
    /* Steps half as long again as the pace are long. They matter if they take so many thousandths of
     * the time, and twice as much of it as is known; the rules about them want three
     * (RULES_PAUSES), and other programs on the machine make some, too. */
    STEADY_MATTERS = 10,
    STEADY_LONG = 6,
    STEADY_PATIENCE = 10, /* times `enough` steps: for rarer ones no window waits */
};
/* From the decision to a window's first step passes at least so much: see EARLY_MS in window.c. */
#define STEADY_EARLY_NS INT64_C(150000000)
/* Pauses no longer grow when they last so long. */
static const int64_t STEADY_REST_NS = INT64_C(3600) * 1000000000;

struct steady_plan {
    uint64_t enough;   /* so many steady steps ... */
    int64_t enough_ns; /* ... that take so long are enough */
    uint64_t window;   /* steps of a later window */
    uint64_t pause;    /* steps between two windows, at least, the first time */
    int64_t pause_ns;  /* ... and at least so long */
    uint64_t wake;     /* a change opens no window sooner behind the last one, in steps */
    bool light;        /* nothing is recorded before the loop is steady, and no window lasts until
                         * enough is known: the first one has `enough` steps */
};

struct steady {
    struct steady_plan plan;
    uint64_t first, end; /* the present or next window: steps, its end excluded */
    uint64_t apart;      /* length of the next pause, in steps */
    int64_t began_ns;    /* of the newest step; 0: none */
    uint64_t closed;     /* the step at which the last window ended; 0: none has */
    int64_t closed_ns;
    /* The present block, and how many blocks to leave out before the next one. */
    int64_t length_ns[STEADY_BLOCK];
    unsigned in_block, settle;
    /* The pace of the steady stretch: of recorded steps, and of others; 0: not known. */
    int64_t pace_ns[2];
    unsigned off;  /* blocks of another pace in turn */
    uint64_t from; /* first step of the steady stretch */
    int64_t from_ns;
    /* Long steps in it, or since the last window ended; several in a row are one. */
    uint64_t longs;
    int64_t longs_ns;
    bool was_long;
    bool changed; /* the pace has changed since the last window */
    bool decided; /* the next window is one that was decided for a reason */
    /* Shares of long steps, in thousandths: the one for which the window is there (0: none), and
     * the largest one that was recorded, or awaited in vain. */
    int64_t awaited, known;
};

void steady_begin(struct steady *x, const struct steady_plan *plan);
/* Step s, counted from 1, begins. Moves first and end where this decides it. */
void steady_step(struct steady *x, uint64_t s, int64_t now_ns);
/* The window has ended at step s: chooses the next one. thin: pauses are 2^thin times as long. */
void steady_next(struct steady *x, uint64_t s, int64_t now_ns, uint32_t thin);

#endif
