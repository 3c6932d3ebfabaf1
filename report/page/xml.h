/* Escapes for text inside markup. All write valid UTF-8, whatever the input. Characters that act
 * (report/chars.h) become U+FFFD, so that the reader sees their place. */
#ifndef GPUPROF_REPORT_PAGE_XML_H
#define GPUPROF_REPORT_PAGE_XML_H

#include <stdio.h>

/* For HTML and XML 1.0, text and attributes alike: escapes & < > " '. Line breaks and tabs become
 * references, which attributes keep. */
void xml_text(FILE *f, const char *s);
void xml_text_n(FILE *f, const char *s, size_t n); /* the first n bytes */
/* For a paragraph, a heading or a table cell in Markdown. Nothing in the text becomes markup, HTML,
 * a link, a mention, a reference to an issue or mathematics; it stays on one line. */
void markdown_text(FILE *f, const char *s);
/* A block of code in Markdown: nothing in the text ends it, and nothing acts on a terminal. */
void markdown_code(FILE *f, const char *language, const char *text);
/* printf for markup: the format is a literal, and each %s argument is escaped. Only %s and %% are
 * allowed; format numbers before. */
void xml_printf(FILE *f, const char *fmt, ...);
/* The same for Markdown. */
void markdown_printf(FILE *f, const char *fmt, ...);

#endif
