/* Ranges of the program: open ones are kept in the target, a record is written when one ends.
 * One push and pop cost two clock reads and one 48-byte record. */
#ifndef GPUPROF_AGENT_CORE_RANGES_H
#define GPUPROF_AGENT_CORE_RANGES_H

#include "agent/core/spool.h"

void ranges_push(struct thread *t, const struct open_range *r);
void ranges_pop(struct thread *t, uint32_t domain); /* the innermost open one of that domain */
/* 0: table full, dropped. `given`: the id that the program will end it by; 0 = one of ours. */
uint64_t ranges_start(struct thread *t, const struct open_range *r, uint64_t given);
void ranges_end(struct thread *t, uint64_t id); /* on any thread */
void ranges_mark(struct thread *t, struct open_range *r);

#endif
