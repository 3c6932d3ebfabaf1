/* The parts of the page that compare ranks. */
#ifndef GPUPROF_REPORT_PAGE_RANKS_PAGE_RANKS_H
#define GPUPROF_REPORT_PAGE_RANKS_PAGE_RANKS_H

#include "report/page/page.h"

void page_ranks(const struct page *p); /* the section; nothing of fewer than two */
int page_heat(const struct page *p);   /* within it: who is late when. -1: out of memory */

#endif
