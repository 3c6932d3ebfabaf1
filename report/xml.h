/* Escapes for text inside markup. Both write valid UTF-8 whatever comes in. */
#ifndef GPUPROF_REPORT_XML_H
#define GPUPROF_REPORT_XML_H

#include <stdio.h>

/* & < > " ' escaped, control characters dropped: for HTML and XML, text and attributes alike. */
void xml_text(FILE *f, const char *s);
/* For a cell of a Markdown table: | escaped, line breaks become spaces, < and & escaped. */
void markdown_text(FILE *f, const char *s);
/* printf for markup: the format is ours and literal, each %s argument is escaped. Only %s and %%
 * are understood; numbers are formatted before. */
void xml_printf(FILE *f, const char *fmt, ...);

#endif
