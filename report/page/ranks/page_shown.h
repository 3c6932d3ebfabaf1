/* Which ranks the page draws one by one. */
#ifndef GPUPROF_REPORT_PAGE_RANKS_PAGE_SHOWN_H
#define GPUPROF_REPORT_PAGE_RANKS_PAGE_SHOWN_H

#include "report/page/page.h"

enum { PAGE_RANKS = 16 };

/* By place among the ranks: why it is drawn, "" where all are; NULL: it is not. malloc'ed, NULL
 * without memory. */
const char **page_shown(const struct page *p);
/* Whether the events of a process are drawn: it is of a rank that is, or of none. */
bool page_shows(const struct page *p, const char *const *why, uint32_t process);

#endif
