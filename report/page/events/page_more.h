/* What the timeline shows of an event besides its name: the shape of a launch or of a library call,
 * or the bytes of a copy. */
#ifndef GPUPROF_REPORT_PAGE_EVENTS_PAGE_MORE_H
#define GPUPROF_REPORT_PAGE_EVENTS_PAGE_MORE_H

#include "report/trace/rows.h"
#include "report/words/text.h"

/* Fills `b`; "" if nothing more is known. */
const char *page_more(struct text *b, const struct timeline *t, const struct item *i);

#endif
