/* A flame graph: nested names as boxes, each as wide as its share, the outermost on top. What is
 * below a two-thousandth is left out, and more than the page has room for. The script (flame.js)
 * adds zoom and search. */
#ifndef GPUPROF_REPORT_PAGE_FLAME_H
#define GPUPROF_REPORT_PAGE_FLAME_H

#include "report/page/page.h"
#include "report/page/work_tree.h"

/* label: what it shows, for those who do not see it. per: what its times are per; NULL: they are
 * sums over the used steps. Boxes of lines know the findings that name their line. */
void flame_write(const struct page *p, const struct work_tree *w, const char *label,
                 const char *per);

#endif
