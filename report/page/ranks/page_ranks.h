/* The parts of the page that compare ranks. */
#ifndef GPUPROF_REPORT_PAGE_RANKS_PAGE_RANKS_H
#define GPUPROF_REPORT_PAGE_RANKS_PAGE_RANKS_H

#include "report/page/page.h"

void page_ranks(const struct page *p); /* the section; nothing for fewer than two ranks */
int page_heat(const struct page *p);   /* within it: which rank is late when. -1: out of memory */

#endif
