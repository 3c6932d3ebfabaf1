/* Which windows of the run are recorded in full. While a window is open, everything is recorded.
 * Between windows only step marks are, one record a step, so that a day of training costs little;
 * the agent's thread turns CUPTI off (cupti_flush.c) if its version can be turned on again
 * (cupti.c). $GPUPROF_WINDOW says when windows open and close: at certain steps, as the pace of the
 * steps tells (steady.h), or where the program calls cudaProfilerStart and cudaProfilerStop. The collector may pause recording as well.
 * The spool's header tells which windows were open when.
 *
 * Step marks are the outermost ranges of one thread that are named like steps (spool_step_mark).
 * The first such ranges count; others, on that thread or elsewhere, do not. */
#ifndef GPUPROF_AGENT_CORE_WINDOW_H
#define GPUPROF_AGENT_CORE_WINDOW_H

#include "agent/core/spool.h"
#include "wire/step_mark.h"

extern _Atomic bool window_is_closed;

static inline bool window_closed(void)
{
    return AGENT_UNLIKELY(atomic_load_explicit(&window_is_closed, memory_order_relaxed));
}

void window_begin(void); /* for a new spool */
/* May a record of this kind be written? control: what the collector asks for. Called only after
 * that has changed, or while the window is closed. */
bool window_allows(enum spool_rec_kind kind, uint32_t control);
/* does what the collector asks for, also where nothing is recorded */
void window_apply_control(uint32_t control);
/* Id of a range's name while the window is closed: 0 unless the range may be a step mark. Its
 * number is cut off, because the names of a million steps would fill the table. */
uint32_t window_name(const char *text);
/* A range begins, or (ended) has just ended without having been seen to begin. True: it is a
 * step. */
bool window_step(const struct thread *t, uint32_t name, unsigned depth, int64_t now_ns, bool ended);
bool window_is_step(const struct thread *t, uint32_t name, unsigned depth);
void window_profiler(bool start); /* cudaProfilerStart (start) or cudaProfilerStop was called */
/* Should CUPTI's record kinds be on? They should in a window, shortly before one, and while work of
 * a closed window still runs. */
bool window_wants_cupti(int64_t now_ns);
/* Would a record that CUPTI drops now be missing from the recorded windows? */
bool window_counts(int64_t now_ns);
bool window_light(void); /* is little recorded from the start, so that it costs next to nothing? */
/* From now on no window opens: CUPTI could not be turned off behind it. */
void window_give_up(void);
bool window_by_profiler(void); /* does the plan watch cudaProfilerStart and cudaProfilerStop? */

#endif
