/* Parts of the terminal's text: what to change, and what else was checked. export_term.c puts them
 * between the verdict and the health. */
#ifndef GPUPROF_REPORT_TERMINAL_TERM_PARTS_H
#define GPUPROF_REPORT_TERMINAL_TERM_PARTS_H

#include "report/export.h"
#include "report/terminal/terminal.h"

/* The ranked table; with DETAIL_ALL, with the evidence of each finding. */
void term_findings(const struct terminal *t, const struct advice *a,
                   const struct export_options *o);
/* The table's heading; and the number, title and saving of a row. */
void term_head(const struct terminal *t, const struct advice *a);
void term_title(const struct terminal *t, const struct advice *a, const struct outcome *x,
                size_t number);
/* The answer in at most 22 lines: DETAIL_BRIEF. 0, or -1 with *e set. */
int term_screen(const struct terminal *t, const struct advice *a, const struct export_options *o,
                struct err *e);
/* Time by line, at most `most` of each list; nothing if nothing was sampled. */
void term_lines(const struct terminal *t, const struct advice *a, size_t most);
/* Rules that were suppressed, cannot tell, or found no fault: in two lines, or with DETAIL_ALL rule
 * by rule. */
void term_others(const struct terminal *t, const struct advice *a, const struct export_options *o);

#endif
