/* Input data as the host sees it: when a thread waits for a batch or makes one. */
#ifndef GPUPROF_MEASURE_INPUT_H
#define GPUPROF_MEASURE_INPUT_H

#include "analyzer/measure/spans.h"

/* When the host thread waits for or makes input data: from ranges and loader rows; and in a loop
 * from calls of the operating system: elsewhere they may wait for anything, such as a compiler. */
int input_spans(struct spans *out, const struct timeline *t, uint32_t thread, bool loop);
bool input_name(const char *name);
/* Does a range of this name make a batch, rather than wait for one? Parts of the names of those,
 * NULL at the end. */
bool input_makes(const char *name);
extern const char *const input_makers[];

#endif
