/* A picture of levels, as the text of a data: address. Level 0 is transparent and 255 is the full
 * colour, so that the picture fits light and dark pages. */
#ifndef GPUPROF_REPORT_PAGE_RANKS_PNG_H
#define GPUPROF_REPORT_PAGE_RANKS_PNG_H

#include <stdio.h>

/* rgb: the colour; levels: row by row. -1: out of memory. */
int png_levels(FILE *f, unsigned rgb, const unsigned char *levels, size_t width, size_t height);

#endif
