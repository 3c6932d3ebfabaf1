/* Small plots as SVG text. The drawing stretches to the page's width, so words stand outside of it,
 * in HTML. For up to about 2,000 marks a plot; above that use a canvas. */
#ifndef GPUPROF_REPORT_PAGE_SVG_H
#define GPUPROF_REPORT_PAGE_SVG_H

#include <stdio.h>

/* label: a description for screen readers. */
void svg_open(FILE *f, double width, double height, const char *class, const char *label);
void svg_rect(FILE *f, const char *class, double x, double y, double width, double height);
void svg_line(FILE *f, const char *class, double x1, double y1, double x2, double y2);
/* Many bars of one class in one path: begin, bars, end. */
void svg_bars_begin(FILE *f, const char *class);
void svg_bar(FILE *f, double x, double y, double width, double height);
void svg_bars_end(FILE *f);
void svg_close(FILE *f);

/* The smallest 1, 2 or 5 times a power of ten that is at least v. */
double svg_nice(double v);

#endif
