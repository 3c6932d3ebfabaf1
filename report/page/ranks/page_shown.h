/* Which ranks the page draws one by one. */
#ifndef GPUPROF_REPORT_PAGE_RANKS_PAGE_SHOWN_H
#define GPUPROF_REPORT_PAGE_RANKS_PAGE_SHOWN_H

#include "report/page/page.h"

enum { PAGE_RANKS = 16 };

/* By index among the ranks: why the rank is drawn, "" if all are; NULL: it is not. malloc'ed, NULL
 * without memory. */
const char **page_shown(const struct page *p);
/* True if the events of a process are drawn: its rank is drawn, or it has no rank. */
bool page_shows(const struct page *p, const char *const *why, uint32_t process);

#endif
