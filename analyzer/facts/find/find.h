/* From a timeline to its facts. */
#ifndef GPUPROF_FACTS_FIND_FIND_H
#define GPUPROF_FACTS_FIND_FIND_H

#include "analyzer/facts/facts.h"

/* Runs all passes. The timeline must outlive the result, which the caller frees with
 * facts_free. NULL with *e set. */
struct facts *facts_find(const struct timeline *t, struct err *e);

#endif
