/* Escapes for text inside markup. All write valid UTF-8 whatever comes in; characters that act
 * (report/chars.h) become U+FFFD, so that it is seen that something stood there. */
#ifndef GPUPROF_REPORT_PAGE_XML_H
#define GPUPROF_REPORT_PAGE_XML_H

#include <stdio.h>

/* For HTML and XML 1.0, text and attributes alike: & < > " ' escaped, line breaks and tabs as
 * references, which attributes keep. */
void xml_text(FILE *f, const char *s);
void xml_text_n(FILE *f, const char *s, size_t n); /* its first n bytes */
/* For a paragraph, a heading or a cell of a table in Markdown: nothing in it is markup, HTML, a
 * link, a mention, a reference to an issue or mathematics, and it stays on its line. */
void markdown_text(FILE *f, const char *s);
/* printf for markup: the format is ours and literal, each %s argument is escaped. Only %s and %%
 * are understood; numbers are formatted before. */
void xml_printf(FILE *f, const char *fmt, ...);
/* The same for Markdown. */
void markdown_printf(FILE *f, const char *fmt, ...);

#endif
