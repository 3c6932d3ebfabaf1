/* Collectives as several rules see them. */
#ifndef GPUPROF_RULES_LOOK_COMM_H
#define GPUPROF_RULES_LOOK_COMM_H

#include "analyzer/rules/look.h"

enum { LOOK_MANY_COLLECTIVES = 50 }; /* a step: one for each parameter, not for each bucket */

/* Collectives of the analysed device. True when they are so many that launching them one by one
 * costs: the idle time before them, and before the copies that fill their buffers, is ops->idle_ns.
 */
bool look_collectives_scattered(const struct analysis *a, struct look_ops *ops);

/* The analysed device among the ranks, NULL when it is alone. */
const struct rank_facts *look_own_rank(const struct analysis *a);

#endif
