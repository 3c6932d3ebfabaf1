/* Which windows of the run are recorded in full. Open: everything is. Closed: step marks alone,
 * one record a step, so that a day of training costs little; CUPTI is turned off by the agent's
 * thread (cupti_flush.c), if its version outlives that (cupti.c). The window opens and closes by
 * itself, at step marks or where the program calls cudaProfilerStart and Stop ($GPUPROF_WINDOW),
 * and for as long as the collector says so. What was open when stands in the spool's header.
 *
 * Step marks are the outermost ranges named like steps (spool_step_mark) of one thread; the first
 * of them are counted, others on that thread or elsewhere are not. */
#ifndef GPUPROF_AGENT_CORE_WINDOW_H
#define GPUPROF_AGENT_CORE_WINDOW_H

#include "agent/core/spool.h"
#include "wire/step_mark.h"

extern _Atomic bool window_is_closed;

static inline bool window_closed(void)
{
    return AGENT_UNLIKELY(atomic_load_explicit(&window_is_closed, memory_order_relaxed));
}

void window_begin(void); /* a new spool */
/* The collector's word has changed, or the window is closed: may a record of this kind be written?
 */
bool window_lets(enum spool_rec_kind kind, uint32_t control);
void window_obey(uint32_t control); /* the collector's word, also where nothing is recorded */
/* Name of a range while the window is closed: 0 unless it may be a step mark; then without the
 * number behind it, because a million steps would fill the table. */
uint32_t window_name(const char *text);
/* A range begins, or (ended) is known only now that it is over. True: it is one of the steps. */
bool window_step(const struct thread *t, uint32_t name, unsigned depth, int64_t now_ns, bool ended);
bool window_is_step(const struct thread *t, uint32_t name, unsigned depth);
void window_profiler(bool start); /* cudaProfilerStart, cudaProfilerStop */
/* Whether CUPTI's kinds should be on: open, soon to be, or work of a closed window still runs. */
bool window_wants_cupti(int64_t now_ns);
/* Whether a record that CUPTI drops now is missing from what is to be recorded. */
bool window_counts(int64_t now_ns);
bool window_by_profiler(void); /* are cudaProfilerStart and Stop to be watched? */

#endif
