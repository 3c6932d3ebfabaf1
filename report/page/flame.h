/* A flame graph: nested names as boxes, each as wide as its share, the outermost on top. Boxes
 * below a two-thousandth are left out, and the smallest ones if there are too many for the page.
 * The script (flame.js) adds zoom and search. */
#ifndef GPUPROF_REPORT_PAGE_FLAME_H
#define GPUPROF_REPORT_PAGE_FLAME_H

#include "report/page/page.h"
#include "report/page/work_tree.h"

/* label: a description for screen readers. per: the unit that the times are per; NULL: they are
 * sums over the used steps. Boxes of lines know the findings that name their line. */
void flame_write(const struct page *p, const struct work_tree *w, const char *label,
                 const char *per);

#endif
