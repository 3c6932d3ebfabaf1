/* Input data as the host sees it: when a thread waits for a batch or makes one. */
#ifndef GPUPROF_FACTS_INPUT_H
#define GPUPROF_FACTS_INPUT_H

#include "analyzer/facts/spans.h"

/* When the host thread waits for or makes input data: from ranges and loader rows. */
int input_spans(struct spans *out, const struct timeline *t, uint32_t thread);
bool input_name(const char *name);
bool input_makes(const char *name); /* of a batch, rather than waits for one */

#endif
