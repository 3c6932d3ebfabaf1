/* Ranges of the program. Open ranges are kept in the target's memory; a record is written when one
 * ends. A push and a pop together cost two clock reads and one 48-byte record. */
#ifndef GPUPROF_AGENT_CORE_RANGES_H
#define GPUPROF_AGENT_CORE_RANGES_H

#include "agent/core/spool.h"

void ranges_push(struct thread *t, const struct open_range *r);
/* ends the innermost open range of that domain */
void ranges_pop(struct thread *t, uint32_t domain);
/* Starts a range that any thread may end by its id. given: the id by which the program will end it;
 * 0: choose one. Returns the id; 0: the table is full, and the range is dropped. */
uint64_t ranges_start(struct thread *t, const struct open_range *r, uint64_t given);
void ranges_end(struct thread *t, uint64_t id); /* any thread may call it */
void ranges_mark(struct thread *t, struct open_range *r);

#endif
