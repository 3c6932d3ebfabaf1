/* Input data as the host sees it: when a thread waits for a batch or makes one. */
#ifndef GPUPROF_MEASURE_INPUT_H
#define GPUPROF_MEASURE_INPUT_H

#include "analyzer/measure/spans.h"

/* Fills *out with the times in which the thread waits for or makes input data, from ranges and
 * loader rows. With `loop` it also uses calls of the operating system; outside a loop these may
 * wait for anything, such as a compiler. Returns -1 without memory. */
int input_spans(struct spans *out, const struct timeline *t, uint32_t thread, bool loop);
bool input_name(const char *name);
/* Returns true if a range of this name makes a batch rather than waits for one. input_makers lists
 * the parts of such names and ends with NULL. */
bool input_makes(const char *name);
extern const char *const input_makers[];

#endif
